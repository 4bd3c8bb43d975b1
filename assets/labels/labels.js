/**
 * The view Labels: a ground truth with cases, labels and verdicts, everything that follows from tau, and both branches
 * of a token.
 *
 * Owns the state and decides when which panel draws; the panels draw and call back. Only a roll-out or rows of one's
 * own ask the server; tau, routers, cells, sorting and search do not.
 */

import { html, setText, stylesheet, withCode, withTerms } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";
import { RefusedError } from "../transport/server.js";
import { largeButton } from "../viewer/large.js";
import { StoredChoice } from "../viewer/stored_choice.js";
import { Tooltip } from "../viewer/tooltip.js";
import { AnalysisError, unpack } from "./analysis.js";
import { ChartsPanel } from "./charts_panel.js";
import { DetailPanel, conclusion } from "./detail_panel.js";
import { findingOf, rivalOf } from "./finding.js";
import { decided, firstToSee, inCell, nextInCell } from "./label_view.js";
import { labelsInAddress, readLabelsLink } from "./labels_link.js";
import { OwnRouter } from "./own_router.js";
import { OwnRows } from "./own_rows.js";
import { RuleChoice } from "./rule_choice.js";
import { TablePanel } from "./table_panel.js";
import { TextPanel, tokenLines } from "./text_panel.js";
import { ThresholdPanel } from "./threshold_panel.js";
import { TwoRouters } from "./two_routers.js";

/**
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./label_view.js").LabelState} LabelState
 * @typedef {import("./label_view.js").ReadState} ReadState
 * @typedef {import("./analysis.js").Analysis} Analysis
 * @typedef {import("./analysis.js").AnalysisMessage} AnalysisMessage
 * @typedef {import("./detail_panel.js").RollOut} RollOut
 *
 * @typedef {Object} StoredLabels as `citer_core/ui/labels/recorded_labels.py` lists them
 * @property {string} url
 * @property {string} file
 * @property {string} title
 * @property {string} pair
 * @property {string} [date]
 * @property {string} [hardware]
 * @property {string} [command]
 */

/**
 * The place of a problem's token among all; null where there is none.
 * @param {{start: number, n: number}} problem @param {number|null} token
 */
const tokenOf = ({ start, n }, token) => (token === null || token >= n ? null : start + token);

const NO_SERVER = "Rolling out a branch needs the server: python app.py.";
const LOST = "The answer was lost on the way. Try again.";

export class Labels {
  /** @type {AbortController|null} of the analysis that is listened to */
  reading = null;
  rolling = new AbortController();
  /** @type {object} what the server is asked with for what is shown, of which it keeps nothing */
  of = {};
  wanted = readLabelsLink(location.search);
  /** @type {Map<number, RollOut|{busy: true}>} */
  rollouts = new Map();
  /** @type {number|null} */
  frame = null;
  /** @type {LabelState} */
  view = {
    analysis: null,
    router: "",
    other: "",
    tau: 0.7,
    matched: false,
    ratio: 10,
    cell: null,
    problem: 0,
    selected: null,
  };
  status = html("p", { class: "cl-status", role: "status" }, "Opening the recorded labels.");
  bar = html("progress", { class: "cl-progress", max: 1, value: 0, "aria-label": "Problems read", hidden: true });
  lead = html("p", { class: "cl-finding" });
  more = html("p", { class: "cl-small" });
  measured = html("a", { href: "?view=evidence" }, "How often the published ones are right: Evidence");
  tried = html("a", { href: "?view=lab" }, "Make labels yourself: Lab");
  from = html("p", { class: "cl-caption" });
  rule = new RuleChoice(this.wanted.rule, (rule) => this.chooseRule(rule));
  announcer = html("p", { class: "cl-sr", role: "status" });
  text = new TextPanel(this);
  threshold = new ThresholdPanel(this);
  detail = new DetailPanel(this);
  routers = new TwoRouters(this);
  table = new TablePanel(this);

  /** @param {Element} root @param {Page} page */
  constructor(root, page) {
    const { plotly, labels: stored } = page.props;
    this.page = page;
    this.own = new OwnRouter(page, this);
    this.charts = new ChartsPanel(plotly);
    this.stored = new StoredChoice(stored, "Read just now", (file) => this.open(file), {
      class: "cl-select cl-source-choice",
    });
    this.body = html("div", { class: "cl-body", hidden: true }, [
      html("section", { class: "cl-lead" }, this.lead, this.more),
      html("div", { class: "cl-top" }, [
        html("div", { class: "cl-left cv-panel" }, largeButton("The text"), this.text.root, this.detail.root),
        this.threshold.root,
      ]),
      this.own.root,
      this.routers.root,
      this.charts.root,
      this.table.root,
    ]);
    this.root = html("div", { class: "citer-labels", role: "region", "aria-label": "Labels" }, [
      this.status,
      this.bar,
      this.body,
      this.announcer,
    ]);
    this.tooltip = new Tooltip(this.root);
    this.root.append(this.tooltip.root);
    const own = new OwnRows(page, {
      onRead: (asked) => this.read(asked),
      onError: (message) => this.notice(message, "error"),
    });
    own.root.open = stored.length === 0;
    const label = html("span", { class: "cl-label" }, "Recorded labels");
    const source = html("div", { class: "cl-source", hidden: stored.length === 0 }, [
      html("label", { class: "cl-source-label" }, label, this.stored.root),
      this.rule.root,
      this.from,
    ]);
    const canRead = page.transport.offers.has("labels");
    root.replaceChildren(html("div", { class: "citer-labels" }, source, canRead ? own.root : null), this.root);
  }

  // ------------------------------------------------------------ what is read

  /** What is recorded needs no model. @param {string} file */
  async open(file) {
    if (!this.stored.files.length) return;
    await this.stored.open(
      file,
      (text, { pair, date, hardware, command }) => {
        const said = date ? `${pair}, recorded ${date} on ${hardware} with \`${command}\`` : pair;
        this.from.replaceChildren(...withCode(said));
        this.receive(JSON.parse(text));
      },
      (error) => this.notice(`These labels could not be read (${messageOf(error)}). Try again.`, "error"),
    );
  }

  /** Has the server read something else; what it was reading for this page ends. @param {object} asked */
  async read(asked) {
    this.reading?.abort();
    this.reading = new AbortController();
    await this.#listen("labels", asked, this.reading.signal);
  }

  /** @param {string} what @param {object} asked @param {AbortSignal} [signal] */
  async #listen(what, asked, signal) {
    try {
      for await (const message of this.page.transport.ask(what, asked, signal)) {
        if (signal?.aborted) return;
        this.receive(message, asked);
      }
    } catch (error) {
      if (!signal?.aborted) this.notice(error instanceof RefusedError ? messageOf(error) : LOST, "error");
    }
  }

  /** @param {any} message @param {object} [asked] what it answers; nothing for what is recorded */
  receive(message, asked) {
    if (message.rollout) this.rolledOut(message.rollout);
    else if (message.analysis) this.#take(message, asked);
    else if (message.progress) this.progress(message.progress);
    else if (message.notice !== undefined) this.notice(message.notice, message.level, message.needs);
  }

  /** @param {AnalysisMessage} message @param {object} [asked] */
  #take(message, asked) {
    try {
      const analysis = unpack(message, this.rule.chosen);
      if (asked) {
        this.stored.leave();
        setText(this.from, `${analysis.title}, read just now by the loaded pair`);
      }
      this.of = asked ?? { stored: message.analysis };
      this.own.update(message);
      this.show(analysis);
    } catch (error) {
      if (!(error instanceof AnalysisError)) throw error;
      this.notice(error.message, "error");
    }
  }

  /** The same set, of which a router more is known. @param {AnalysisMessage} message @param {string} name of it */
  added(message, name) {
    this.own.update(message);
    this.view.analysis = unpack(message, this.rule.chosen);
    this.notice("");
    this.chooseRouter(name);
  }

  /** @param {string} text @param {string} [level] @param {Needs|null} [needs] */
  notice(text, level = "", needs = null) {
    setText(this.status, text);
    if (needs) this.page.pairs.offer(this.status, needs);
    this.status.dataset.level = level;
    this.status.hidden = text === "";
    this.bar.hidden = true;
    if (level === "error") this.stopWaiting();
  }

  /** @param {{title: string, done: number, total: number}} how */
  progress({ title, done, total }) {
    this.notice(`Reading ${title}: ${done} of ${total}. Another choice, or leaving the page, ends this.`);
    Object.assign(this.bar, { hidden: false, value: done / total });
  }

  /** @param {Analysis} analysis */
  show(analysis) {
    this.notice("");
    const { view } = this;
    const chosen = (/** @type {Analysis|null} */ of) => of?.routers.find(({ name }) => name === view.router);
    const router = chosen(analysis) ?? analysis.routers[0];
    // A tau is kept for as long as it is of the same router: one of another pair may have the same name.
    if (router.name !== view.router || router.tau !== chosen(view.analysis)?.tau)
      Object.assign(view, { router: router.name, tau: router.tau });
    // Held against the free baseline where that is asked as often, unless a person has chosen another router.
    if (!analysis.routers.some((router) => router.name === view.other)) {
      const other = analysis.problems.length > 1 ? rivalOf(analysis, view.router) : "";
      Object.assign(view, { other, matched: other !== "" });
    }
    Object.assign(view, { analysis, cell: null, problem: 0, selected: null });
    this.rolling.abort();
    this.rolling = new AbortController();
    this.rollouts.clear();
    this.body.hidden = false;
    this.rule.update(analysis);
    if (this.#openWanted(analysis)) return;
    const first = firstToSee(this.#decided);
    if (first >= 0) Object.assign(view, { selected: first, problem: analysis.problemOf[first] });
    this.draw();
  }

  /** What a link asks for, as far as it is there. @param {Analysis} analysis */
  #openWanted(analysis) {
    const { router, tau, problem, token } = this.wanted;
    this.wanted = readLabelsLink("");
    if (analysis.routers.some(({ name }) => name === router)) Object.assign(this.view, { router });
    if (tau !== null) this.view.tau = tau;
    const found = problem === null ? undefined : analysis.problems[problem];
    if (found) Object.assign(this.view, { problem, selected: tokenOf(found, token) });
    if (found) this.draw();
    return Boolean(found);
  }

  /** Which set, problem and token is looked at, by which router and tau. */
  inAddress() {
    const { analysis, router, tau, problem, selected } = this.view;
    const start = analysis?.problems[problem]?.start ?? 0;
    const token = selected === null ? null : selected - start;
    return labelsInAddress({ source: this.stored.name, rule: this.rule.chosen, router, tau, problem, token });
  }

  /** @param {RollOut} result */
  rolledOut(result) {
    this.rollouts.set(result.index, result);
    const words = conclusion(result, this.#ready.analysis.label[result.index]);
    setText(this.announcer, `Both branches are rolled out. ${words}`);
    this.draw();
  }

  stopWaiting() {
    for (const [index, rollout] of this.rollouts) if (rollout.busy) this.rollouts.delete(index);
    if (this.view.analysis) this.draw();
  }

  // ------------------------------------------------------------ from a person

  /** @param {Partial<LabelState>} what */
  change(what) {
    Object.assign(this.view, what);
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  /** @param {string} name */
  chooseRouter(name) {
    const router = this.#ready.analysis.routers.find((candidate) => candidate.name === name);
    if (router) this.change({ router: name, tau: router.tau });
  }

  /** The same tokens by another rule's labels. @param {import("./analysis.js").Rule} rule */
  chooseRule(rule) {
    const { message } = this.own;
    if (message) this.change({ analysis: unpack(message, rule), cell: null });
  }

  /** @param {string} other */
  chooseOther(other) {
    this.change({ other, cell: this.view.cell === "differs" ? null : this.view.cell });
  }

  /** What is shown; panels call back only while there is an analysis. @returns {ReadState} */
  get #ready() {
    const { view } = this;
    if (!view.analysis) throw new Error("There is no analysis yet.");
    return /** @type {ReadState} */ (view);
  }

  /** That, and what follows from it. */
  get #decided() {
    return decided(this.#ready);
  }

  /**
   * A second click on a cell lets it go. The first of its tokens is shown, of this problem's if it has one.
   * @param {string} cell
   */
  chooseCell(cell) {
    const view = this.#decided;
    const next = view.cell === cell ? null : cell;
    this.change({ cell: next });
    if (next === null || (view.selected !== null && inCell(view, next, view.selected))) return;
    const first = nextInCell(view, next, view.analysis.problems[view.problem].start - 1, 1);
    if (first !== null) this.select(first);
  }

  /** To the next risk, or the one before; behind the last one comes the first. @param {1|-1} step */
  stepRisk(step) {
    const view = this.#decided;
    const { start, n } = view.analysis.problems[view.problem];
    const from = view.selected ?? (step > 0 ? start - 1 : start + n);
    const next = nextInCell(view, "risk", from, step);
    if (next !== null) this.select(next);
  }

  /** @param {number} index @param {boolean} [scroll] */
  select(index, scroll = false) {
    this.change({ selected: index, problem: this.#ready.analysis.problemOf[index] });
    if (scroll) this.text.root.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} problem */
  showProblem(problem) {
    this.tooltip.hide();
    this.change({ problem, selected: null });
  }

  /** @param {Element|null} node @param {number|null} index */
  hover(node, index) {
    if (index === null || node === null) {
      this.tooltip.hide();
      return;
    }
    if (this.tooltip.anchor === node) return;
    this.tooltip.show(node, tokenLines(this.#ready, index));
  }

  /** @param {number} index */
  rollOut(index) {
    const { analysis, router, tau } = this.#ready;
    if (!this.page.transport.offers.has("roll_out")) {
      this.notice(NO_SERVER);
      return;
    }
    this.rollouts.set(index, { busy: true });
    this.notice("");
    const { pair, pair_revision } = analysis;
    this.#listen("roll_out", { of: this.of, pair, pair_revision, index, router, tau }, this.rolling.signal);
    this.draw();
  }

  // ------------------------------------------------------------ drawing

  draw() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    if (!this.view.analysis) return;
    const view = this.#decided;
    const { lead, more } = findingOf(view.analysis, view.router, view.tau);
    setText(this.lead, lead);
    this.more.replaceChildren(...withTerms(`${more} `), this.measured, ". ", this.tried, ".");
    this.detail.update(view, this.rollouts.get(view.selected ?? -1));
    for (const panel of [this.text, this.threshold, this.routers, this.charts, this.table]) panel.update(view);
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountLabels(panel, page) {
  await stylesheet(new URL("./labels.css", import.meta.url).href);
  const labels = new Labels(panel, page);
  await labels.open(`${labels.wanted.source}.json`);
  return labels;
}
