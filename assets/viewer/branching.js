/**
 * Branches of the run on the screen: what may be asked, the requests for it, the strip and the comparison.
 *
 * Glue between the viewer, `BranchBook` and its two panels. Must not know the server: requests are handed to the page,
 * and a branch comes back as a run that names its parent.
 */

import { BranchBook, MOST_BRANCHES } from "../run/branch_book.js";
import { diffTokens, traceKey } from "../run/branch_diff.js";
import { BranchStrip, ComparePanel } from "./branch_strip.js";
import { seriesOf } from "../run/series.js";
import { asRecorded } from "../run/decision.js";
import { dialsOf } from "../run/dials.js";

/** @type {Askable} */
const NOTHING_MORE = { goOn: false, flip: false, probe: false, next: false, whyNot: "" };

export class Branching {
  /** @param {Viewer} viewer @param {import("./viewer.js").ViewerOptions} options */
  constructor(viewer, options) {
    this.viewer = viewer;
    this.options = options;
    this.book = new BranchBook();
    /** @type {string|null} */
    this.drawn = null;
    /** @type {Map<Trace, Totals>} */
    this.totals = new Map();
    this.compare = new ComparePanel(() => this.#compareNone());
    this.strip = new BranchStrip({
      onShow: (id) => this.show(id),
      onRename: (id, name) => {
        this.book.rename(id, name);
        this.#redraw();
      },
      onDelete: (id) => this.#remove(id),
      onCompare: (ids) => {
        if (ids) this.compare.show(this.book, ids, (trace) => this.#totalsOf(trace));
        else this.compare.hide();
        this.#redraw();
      },
    });
  }

  /**
   * A run that is no branch of what is here.
   * @param {Trace} trace
   * @param {ProbedToken[]|null} [probe]
   */
  reset(trace, probe = null) {
    this.book.reset(trace);
    if (this.book.shown) this.book.shown.probe = probe;
    this.#compareNone();
    this.totals.clear();
  }

  /**
   * The run on the screen is one of these.
   * @param {{name: string, parent: number|null, fork: number}[]} rows
   * @param {Trace[]} traces
   * @param {number} shown
   */
  restore(rows, traces, shown) {
    this.book.restore(rows, traces, shown);
    this.totals.clear();
    this.#compareNone();
    this.mark(this.viewer.view);
    this.viewer.schedule("all");
  }

  /** A streamed run is over: a branch joins its parent, any other run starts over. @param {RunView} view */
  ended(view) {
    const trace = view.trace();
    if (!trace) return;
    const parent = this.book.parentOf(trace);
    if (parent) this.book.add(trace, parent);
    else this.reset(trace);
    this.mark(view);
  }

  /**
   * Tells the view what is known of the shown run: what it changes against its parent, its probe and its labels.
   * @param {RunView} view
   */
  mark(view) {
    const entry = this.book.shown;
    if (view.origin) {
      const [ours, theirs] = [view.events, view.origin.events].map((events) => events.map((event) => event.token_id));
      view.changed = diffTokens(ours, theirs).ours;
      return;
    }
    view.changed = entry ? this.book.changes(entry) : null;
    view.setProbe(entry?.probe ?? null, entry?.truth ?? null);
  }

  /** What may be asked of the server about this run. @param {RunView} view */
  can(view) {
    const { onBranch, onProbe, onNext, canProbe } = this.options;
    if (!view.head || view.live || view.n === 0 || view.finishReason === null) return NOTHING_MORE;
    const probe = Boolean(onProbe) && !view.probe && (!canProbe || canProbe());
    const asks = { ...NOTHING_MORE, probe, next: Boolean(onNext) };
    if (!onBranch) return asks;
    if (this.book.isFull)
      return { ...asks, whyNot: `There are ${MOST_BRANCHES} branches: delete one to make another.` };
    const { firstFlip } = view.decisions;
    const isAsMade = firstFlip < 0 || view.pinned === null || view.pinned <= firstFlip;
    return {
      ...asks,
      goOn: true,
      flip: isAsMade,
      whyNot: isAsMade
        ? ""
        : `At this τ token ${firstFlip + 1} has another writer: continue from there first, or go back to ` +
          "the run’s τ.",
    };
  }

  /** Regenerates from the first token that another tau decides otherwise. @param {RunView} view */
  goOn(view) {
    if (view.origin && view.whatIf === null) this.keep(view);
    else if (view.decisions.firstFlip >= 0) this.#ask(view, view.decisions.firstFlip, null, null);
  }

  /** A run that moved dials wrote becomes a branch of the one that it was written from. @param {RunView} view */
  keep(view) {
    const [trace, parent] = [view.trace(), this.book.shown];
    if (!view.origin || !trace || !parent) return;
    view.origin = null;
    this.book.add(trace, parent);
    this.mark(view);
    this.#redraw();
    this.viewer.schedule("all");
  }

  /**
   * Regenerates from a token with its writer, and perhaps the token, forced.
   * @param {RunView} view
   * @param {number} index
   * @param {Writer} source
   * @param {number|null} tokenId
   */
  flip(view, index, source, tokenId) {
    this.#ask(view, index, source, tokenId);
  }

  /**
   * @param {RunView} view
   * @returns {boolean} whether there was a token to flip
   */
  flipPinned(view) {
    if (view.pinned === null || !this.can(view).flip) return false;
    this.flip(view, view.pinned, view.decisions.isLlm[view.pinned] ? "slm" : "llm", null);
    return true;
  }

  /**
   * @param {RunView} view
   * @param {TraceHead} head
   * @returns {RunAbout}
   */
  #about(view, head) {
    const { answer } = view;
    return {
      prompt: head.prompt,
      true_answer: answer?.true_answer ?? null,
      pair_name: head.pair.name,
      pair_revision: head.pair.revision,
    };
  }

  /** @param {RunView} view @param {number} at @param {Writer|null} source @param {number|null} token */
  #ask(view, at, source, token) {
    this.keep(view);
    const trace = view.trace();
    if (trace) this.again(trace, { at, writer: source ?? "go", token, tau: view.whatIf ?? view.runTau });
  }

  /**
   * A branch of the run on the screen.
   * @param {Trace} parent
   * @param {{at: number, writer: Writer|"go", token: number|null, tau: number|null}} how
   */
  again(parent, { at, writer, token, tau }) {
    this.options.onBranch?.({
      ...this.#about(this.viewer.view, parent),
      router: parent.router.name,
      settings: { ...parent.settings, threshold: tau ?? parent.settings.threshold },
      events: parent.events.slice(0, at),
      source: writer === "go" ? null : writer,
      token_id: token,
      parent: traceKey(parent),
    });
  }

  /** @param {RunView} view */
  askProbe(view) {
    this.keep(view);
    const trace = view.trace();
    if (!trace) return;
    this.options.onProbe?.({
      ...this.#about(view, trace),
      token_ids: view.events.map((event) => event.token_id),
      key: traceKey(trace),
    });
  }

  /** @type {import("./viewer.js").AskNext} */
  async askNext(view, index, text, waits) {
    const { head } = view;
    const { onNext } = this.options;
    if (!head || !onNext) return {};
    const token_ids = view.events.slice(0, index).map((event) => event.token_id);
    const settings = { ...head.settings };
    return onNext({ ...this.#about(view, head), token_ids, settings, ...(text ? { text } : {}) }, waits);
  }

  /**
   * What has to be asked to see the inside of a decision.
   * @param {RunView} view @param {number} index
   * @returns {InsideRequest|null} null where there is no run
   */
  aboutDecision(view, index) {
    const { head } = view;
    if (!head) return null;
    const before = view.events.slice(0, index);
    return {
      ...this.#about(view, head),
      router: head.router.name,
      token_ids: before.map((event) => event.token_id),
      after_llm: before.at(-1)?.source === "llm",
    };
  }

  /**
   * @param {RunView} view
   * @param {string} key
   * @param {ProbedToken[]} tokens
   * @param {Truth|null} truth
   * @returns {boolean} whether the probe is of the run on the screen
   */
  takeProbe(view, key, tokens, truth) {
    const trace = view.trace();
    if (!trace || view.live || tokens.length !== view.n || traceKey(trace) !== key) return false;
    view.setProbe(tokens, truth);
    const { shown } = this.book;
    if (shown) {
      shown.probe = tokens;
      shown.truth = truth;
    }
    return true;
  }

  /** @param {Trace} trace */
  #totalsOf(trace) {
    let totals = this.totals.get(trace);
    if (!totals) {
      const { view } = this.viewer;
      totals = seriesOf(view.costModel, trace.events, asRecorded(trace.events)).totals();
      this.totals.set(trace, totals);
    }
    return totals;
  }

  forgetTotals() {
    this.totals.clear();
    this.#compareNone();
  }

  #compareNone() {
    this.strip.compared = [];
    this.compare.hide();
    this.#redraw();
  }

  #redraw() {
    this.drawn = null;
    this.viewer.schedule("panels");
  }

  /** Draws the strip where something in it has changed. @param {RunView} view */
  update(view) {
    const key = [view.live, this.book.shownId, this.book.entries.length].join();
    if (key === this.drawn) return;
    this.drawn = key;
    this.strip.update(this.book, (trace) => this.#totalsOf(trace), view.live);
  }

  /** Puts one of them on the screen. @param {number} id */
  show(id) {
    const entry = this.book.get(id);
    if (!entry || id === this.book.shownId) return;
    this.book.shownId = id;
    this.#put(entry.trace);
  }

  /** @param {Trace} trace */
  #put(trace) {
    this.viewer.show(trace);
    this.options.onShow?.(trace);
    this.options.onDialsSuggest?.(dialsOf(trace.settings));
    this.viewer.schedule("all");
  }

  /** @param {number} id */
  #remove(id) {
    const wasShown = this.book.shownId === id;
    if (!this.book.remove(id)) return;
    if (this.strip.compared.includes(id)) this.#compareNone();
    const { shown } = this.book;
    if (wasShown && shown) this.#put(shown.trace);
    else this.mark(this.viewer.view);
    this.viewer.schedule("all");
    this.#redraw();
  }
}
