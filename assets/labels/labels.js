/**
 * The Labels tab: a ground truth with cases, labels and verdicts, everything that follows from tau, and both branches
 * of a token.
 *
 * Owns the state and decides when which panel draws; the panels draw and call back. Only a roll-out or rows of one's
 * own ask the server; tau, routers, cells, sorting and search do not.
 */

import { html, setText, stylesheet, withTerms } from "../viewer/dom.js";
import { messageOf, probability } from "../run/format.js";
import { RefusedError } from "../transport/server.js";
import { largeButton } from "../viewer/large.js";
import { Tooltip } from "../viewer/tooltip.js";
import { AnalysisError, unpack } from "./analysis.js";
import { ChartsPanel } from "./charts_panel.js";
import { ComparePanel } from "./compare_panel.js";
import { DetailPanel } from "./detail_panel.js";
import { findingOf, rivalOf } from "./finding.js";
import { labelsInAddress, readLabelsLink } from "./labels_link.js";
import { OwnRows } from "./own_rows.js";
import { differs, inCell, nextInCell } from "./rows.js";
import { SourcePanel } from "./source_panel.js";
import { TablePanel } from "./table_panel.js";
import { TextPanel, VERDICT_WORDS, tokenWords } from "./text_panel.js";
import { ThresholdPanel } from "./threshold_panel.js";
import { bestThreshold, cellOf, confusion, tauForCount } from "./verdict.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./rows.js").LabelState} LabelState
 * @typedef {import("./analysis.js").Analysis} Analysis
 * @typedef {import("./analysis.js").AnalysisMessage} AnalysisMessage
 * @typedef {import("./detail_panel.js").RollOut} RollOut
 */

/** Tokens that an answer hangs on: digits, the letter of a choice. Another word is often as good. */
const MATTERS = /\d|^\s*[A-J]$/;
/**
 * The place of a problem's token among all; null where there is none.
 * @param {{start: number, n: number}} problem @param {number|null} token
 */
const tokenOf = ({ start, n }, token) => (token === null || token >= n ? null : start + token);

const NO_SERVER = "Rolling out a branch needs the server: python app.py.";
const LOST = "The answer was lost on the way. Try again.";

class Labels {
  /** @type {AbortController|null} of the analysis that is listened to */
  reading = null;
  rolling = new AbortController();
  /** @type {object} what the server is asked with for what is shown, of which it keeps nothing */
  of = {};
  wanted = readLabelsLink(location.search);

  /** @param {Element} root @param {Page} page */
  constructor(root, page) {
    const { plotly, labels: stored } = page.props;
    this.page = page;
    /** @type {LabelState} */
    this.view = {
      analysis: null,
      router: "",
      other: "",
      tau: 0.7,
      otherTau: 0.7,
      matched: false,
      ratio: 10,
      cell: null,
      problem: 0,
      selected: null,
    };
    /** @type {Map<number, RollOut|{busy: true}>} */
    this.rollouts = new Map();
    /** @type {number|null} */
    this.frame = null;
    this.status = html("p", { class: "cl-status", role: "status" }, "Opening the recorded labels.");
    this.bar = html("progress", {
      class: "cl-progress",
      max: 1,
      value: 0,
      "aria-label": "Problems read",
      hidden: true,
    });
    this.source = new SourcePanel(stored, {
      onText: (text) => this.receive(JSON.parse(text)),
      onError: (message) => this.notice(message, "error"),
    });
    this.lead = html("p", { class: "cl-finding" });
    this.more = html("p", { class: "cl-small" });
    this.measured = html("a", { href: "?view=evidence" }, "How often the labels are right: Evidence");
    this.text = new TextPanel({
      onSelect: (i) => this.select(i),
      onProblem: (n) => this.showProblem(n),
      onRisk: (step) => this.stepRisk(step),
      onHover: (node, i) => this.hover(node, i),
    });
    this.threshold = new ThresholdPanel({
      onRouter: (name) => this.chooseRouter(name),
      onTau: (tau) => this.setTau(tau),
      onCell: (cell) => this.chooseCell(cell),
      onRatio: (ratio) => this.change({ ratio }),
    });
    this.detail = new DetailPanel({ onRollOut: (i) => this.rollOut(i) });
    this.compare = new ComparePanel({
      onOther: (other) => this.change({ other, cell: this.view.cell === "differs" ? null : this.view.cell }),
      onMatch: (matched) => this.change({ matched }),
      onDiffers: () => this.chooseCell("differs"),
    });
    this.charts = new ChartsPanel(plotly);
    this.table = new TablePanel({ onSelect: (i) => this.select(i, true), onCell: (cell) => this.change({ cell }) });
    this.body = html(
      "div",
      { class: "cl-body", hidden: true },
      html("section", { class: "cl-lead" }, this.lead, this.more),
      html(
        "div",
        { class: "cl-top" },
        html("div", { class: "cl-left cv-panel" }, largeButton("The text"), this.text.root, this.detail.root),
        this.threshold.root,
      ),
      this.compare.root,
      this.charts.root,
      this.table.root,
    );
    this.announcer = html("p", { class: "cl-sr", role: "status" });
    this.own = new OwnRows(page, {
      onRead: (asked) => this.read(asked),
      onError: (message) => this.notice(message, "error"),
    });
    this.own.root.open = stored.length === 0;
    this.root = html(
      "div",
      { class: "citer-labels", role: "region", "aria-label": "Labels" },
      this.status,
      this.bar,
      this.body,
      this.announcer,
    );
    this.tooltip = new Tooltip(this.root);
    this.root.append(this.tooltip.root);
    const canRead = page.transport.offers.has("labels");
    const choices = html("div", { class: "citer-labels" }, this.source.root, canRead ? this.own.root : null);
    root.replaceChildren(choices, this.root);
  }

  // ------------------------------------------------------------ from the server

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
      const analysis = unpack(message);
      if (asked) this.source.leave(`${analysis.title}, read just now by the loaded pair`);
      this.of = asked ?? { stored: message.analysis };
      this.show(analysis);
    } catch (error) {
      if (!(error instanceof AnalysisError)) throw error;
      this.notice(error.message, "error");
    }
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
    const known = analysis.routers.some((router) => router.name === view.router);
    if (!known) Object.assign(view, { router: analysis.routers[0].name, tau: analysis.routers[0].tau });
    // Held against the free baseline where that is asked as often, unless a person has chosen somebody else.
    if (!analysis.routers.some((router) => router.name === view.other)) {
      const other = analysis.problems.length > 1 ? rivalOf(analysis, view.router) : "";
      Object.assign(view, { other, matched: other !== "" });
    }
    Object.assign(view, { analysis, cell: null, problem: 0, selected: null });
    this.rolling.abort();
    this.rolling = new AbortController();
    this.rollouts.clear();
    this.body.hidden = false;
    if (this.#openWanted(analysis)) return;
    // Something to look at: the first risk in a number or a choice, or any, or else the first critical token.
    const ready = this.#ready;
    const risks = [...analysis.text.keys()].filter((i) => inCell(ready, "risk", i));
    const first = risks.find((i) => MATTERS.test(analysis.text[i])) ?? risks[0] ?? analysis.label.indexOf(0);
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
    return labelsInAddress({ source: this.source.shown, router, tau, problem, token });
  }

  /** @param {RollOut} result */
  rolledOut(result) {
    this.rollouts.set(result.index, result);
    setText(this.announcer, `Both branches are rolled out. The label: ${result.verdict}.`);
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

  /** @param {number} tau */
  setTau(tau) {
    this.change({ tau });
  }

  /** @param {string} name */
  chooseRouter(name) {
    const router = this.#ready.analysis.routers.find((candidate) => candidate.name === name);
    if (router) this.change({ router: name, tau: router.tau });
  }

  /** What is shown; panels call back only while there is an analysis. @returns {LabelView} */
  get #ready() {
    const { view } = this;
    if (!view.analysis) throw new Error("There is no analysis yet.");
    return /** @type {LabelView} */ (view);
  }

  /**
   * A second click on a cell lets it go. The first of its tokens is shown, of this problem's if it has one.
   * @param {string} cell
   */
  chooseCell(cell) {
    const view = this.#ready;
    const next = view.cell === cell ? null : cell;
    this.change({ cell: next });
    if (next === null || (view.selected !== null && inCell(view, next, view.selected))) return;
    const { start } = view.analysis.problems[view.problem];
    const { n } = view.analysis;
    for (let k = 0; k < n; k++) {
      const i = (start + k) % n;
      if (inCell(view, next, i)) return this.select(i);
    }
  }

  /** To the next risk, or the one before; behind the last one comes the first. @param {1|-1} step */
  stepRisk(step) {
    const view = this.#ready;
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
    const { analysis, router, tau } = this.#ready;
    const confidence = analysis.confidence[router][index];
    /** @param {string|null} text */
    const token = (text) => (text === null ? "end of text" : text);
    this.tooltip.show(node, [
      {
        text: `${tokenWords(analysis, index)}  ${VERDICT_WORDS[cellOf(analysis.label[index], confidence, tau)]}`,
        className: "cl-strong",
      },
      { text: `case ${analysis.caseOf[index]}, label ${analysis.label[index]}, confidence ${probability(confidence)}` },
      {
        text:
          `SLM ${token(analysis.slm[index])} (${probability(analysis.slmProbability[index])}), LLM ` +
          `${token(analysis.llm[index])} (${probability(analysis.llmProbability[index])})`,
      },
    ]);
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
    const view = this.#ready;
    const { analysis } = view;
    const confidence = analysis.confidence[view.router];
    const counts = confusion(confidence, analysis.label, view.tau);
    const other = view.other ? analysis.confidence[view.other] : null;
    view.otherTau = other && view.matched ? tauForCount(other, counts.waste + counts.caught) : view.tau;
    const best = bestThreshold(confidence, analysis.label, view.ratio);
    let nDiffer = 0;
    if (other) for (let i = 0; i < analysis.n; i++) nDiffer += Number(differs(view, i));
    const { lead, more } = findingOf(analysis, view.router, view.tau);
    setText(this.lead, lead);
    this.more.replaceChildren(...withTerms(`${more} `), this.measured);
    this.text.update(view, counts.risk);
    this.threshold.update(view, counts, best);
    this.detail.update(view, this.rollouts.get(view.selected ?? -1));
    this.compare.update(view, counts, other ? confusion(other, analysis.label, view.otherTau) : null, nDiffer);
    this.charts.update(view, counts, best, confusion(confidence, analysis.label, best.tau));
    this.table.update(view);
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountLabels(panel, page) {
  await stylesheet(new URL("./labels.css", import.meta.url).href);
  const labels = new Labels(panel, page);
  await labels.source.open(labels.source.placeOf(labels.wanted.source));
  return labels;
}
