/**
 * One problem's ground truth, a span per token: tint by writer, triangle for a risk, circle for a waste, numeral for
 * the case.
 *
 * Must not know what a click does. Marks are generated content, so a copied text is exactly the ground truth. Of a set,
 * one problem is shown at a time.
 */

import { certaintyStep, prefersLlm } from "../run/decision.js";
import { button, endTabStop, html, makeTabStop, setText } from "../viewer/dom.js";
import { plural, probability } from "../run/format.js";
import { SPACED, SPACE_BEFORE, fillTokenText, spellTex } from "../viewer/text.js";
import { isEnd, labelOf, tokenWords } from "./analysis.js";
import { inCell, tokensIn, verdictOfToken } from "./label_view.js";
import { inDigits } from "../run/kinds.js";

/**
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Cell} Cell
 */

/** @type {Record<Cell, string>} */
export const VERDICT_WORDS = {
  kept: "easy, kept by the SLM",
  waste: "waste: easy, given to the LLM",
  caught: "critical, given to the LLM",
  risk: "risk: critical, given to the SLM",
  open: "no label: both answers are wrong",
};

/** Look of a token, its case and what they say. @type {[string, number|null, string][]} */
const LEGEND = [
  ["cl-slm cl-c2", null, "SLM writes at τ"],
  ["cl-llm cl-c2", null, "LLM writes"],
  ["cl-slm cl-c2 cl-risk", null, "risk: critical, kept by the SLM"],
  ["cl-llm cl-c2 cl-waste", null, "waste: easy, given to the LLM"],
  ["cl-plain", null, "case 1: the SLM is right"],
  ["cl-plain", 2, "case 2: only the LLM is right"],
  ["cl-plain", 3, "case 3: both are wrong"],
];

export class TextPanel {
  /** @type {HTMLElement[]} */
  nodes = [];
  /** @type {LabelView["analysis"]|null} */
  shown = null;
  /** @type {number|null} */
  tabStop = null;
  number = 0;
  first = 0;

  /** @param {import("./label_view.js").LabelActions} labels */
  constructor(labels) {
    this.labels = labels;
    /** @param {string} label @param {() => void} onclick */
    const step = (label, onclick) =>
      button(label.startsWith("Next") ? "›" : "‹", "cl-step", { "aria-label": label, onclick });
    this.previous = step("Previous problem", () => labels.showProblem(this.number - 1));
    this.next = step("Next problem", () => labels.showProblem(this.number + 1));
    this.place = html("span", { class: "cl-place" });
    this.nav = html("div", { class: "cl-nav" }, this.previous, this.place, this.next);
    this.riskBefore = step("Previous risk", () => labels.stepRisk(-1));
    this.riskNext = button("Next risk ›", "cl-action", { onclick: () => labels.stepRisk(1) });
    this.riskPlace = html("span", { class: "cl-small" });
    this.title = html("h3", { class: "cl-heading" });
    this.question = html("p", { class: "cl-question" });
    this.answer = html("p", { class: "cl-caption" });
    this.text = html("div", {
      class: "cl-text",
      role: "group",
      "aria-label": "Ground truth, token by token",
      onclick: (event) => this.#at(event, (index) => labels.select(index)),
      onpointerover: (event) => this.#at(event, (index, node) => labels.hover(node, index)),
      onpointerleave: () => labels.hover(null, null),
      onkeydown: (event) => this.#key(event),
    });
    this.root = html("section", { class: "cl-reading" }, [
      html("div", { class: "cl-row cl-wrap" }, [
        this.title,
        html("div", { class: "cl-nav" }, this.riskPlace, this.riskBefore, this.riskNext),
        this.nav,
      ]),
      this.question,
      this.text,
      html("div", { class: "cl-legend" }, ...LEGEND.map(legendKey)),
      this.answer,
    ]);
  }

  /** @param {Event} event @param {(index: number, node: HTMLElement) => void} use */
  #at(event, use) {
    const node = event.target instanceof Element ? event.target.closest(".cl-t") : null;
    if (node instanceof HTMLElement) use(Number(node.dataset.i), node);
    else if (event.type === "pointerover") this.labels.hover(null, null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    const index = event.target instanceof HTMLElement ? Number(event.target.dataset.i) : NaN;
    if (!Number.isInteger(index)) return;
    if (step === undefined && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    const next = Math.max(this.first, Math.min(this.first + this.nodes.length - 1, index + (step ?? 0)));
    this.labels.select(next);
    const node = this.nodes[next - this.first];
    node.tabIndex = 0; // the drawing that makes it the tab stop comes a frame later
    node.focus({ preventScroll: true });
  }

  /** @param {LabelView} view */
  update(view) {
    const { analysis, counts } = view;
    const place = tokensIn(view, "risk").indexOf(view.selected ?? -1) + 1;
    const all = inDigits(counts.risk);
    const risks = place ? `▲ risk ${place} of ${all}` : `▲ ${all} risks`;
    setText(this.riskPlace, counts.risk ? risks : "▲ no risk at this τ");
    this.riskBefore.disabled = this.riskNext.disabled = counts.risk === 0;
    if (analysis !== this.shown || view.problem !== this.number) this.#fill(view);
    for (let k = 0; k < this.nodes.length; k++) {
      const index = this.first + k;
      const node = this.nodes[k];
      const look = this.#look(view, index);
      if (node.className !== look) node.className = look;
      const selected = String(index === view.selected);
      if (node.dataset.selected !== selected) node.dataset.selected = selected;
    }
    const selected = view.selected ?? -1;
    const inside = selected >= this.first && selected < this.first + this.nodes.length;
    this.#moveTabStop(view, inside ? selected : this.first);
    this.text.dataset.filtered = String(view.cell !== null);
  }

  /** @param {LabelView} view */
  #fill(view) {
    const { analysis } = view;
    const problem = analysis.problems[view.problem];
    this.shown = analysis;
    this.number = view.problem;
    this.first = problem.start;
    this.tabStop = null;
    setText(this.question, problem.question);
    setText(this.place, `Problem ${view.problem + 1} of ${analysis.problems.length}`);
    this.nav.hidden = analysis.problems.length < 2;
    this.previous.disabled = view.problem === 0;
    this.next.disabled = view.problem + 1 === analysis.problems.length;
    setText(this.title, analysis.title);
    setText(this.answer, `${plural(problem.n, "token")}, the end included. Right answer: ${problem.answer}.`);
    const tokens = analysis.text.slice(problem.start, problem.start + problem.n);
    const isSpaced = tokens.some((text) => SPACED.test(text));
    this.text.classList.toggle("cl-spaced", isSpaced);
    /** @type {HTMLElement|undefined} */
    let before;
    this.nodes = tokens.map((text, k) => {
      const i = problem.start + k;
      const space = SPACE_BEFORE.test(text) ? " " : "";
      const word = html("span", { class: "cl-w" });
      if (isEnd(analysis, i)) word.append(hiddenMark("end"));
      else if (text === "") word.append(hiddenMark("•"));
      else if (!spellTex(word, text.slice(space.length), before)) fillTokenText(word, text.slice(space.length));
      before = word;
      const ofCase = analysis.caseOf[i];
      return html("span", { "data-i": i, "data-case": ofCase > 1 && ofCase }, space, word);
    });
    this.text.replaceChildren(...this.nodes);
  }

  /** @param {LabelView} view @param {number} i */
  #look(view, i) {
    const confidence = view.analysis.confidence[view.router][i];
    const writer = prefersLlm(confidence, view.tau) ? "llm" : "slm";
    const chosen = view.cell !== null && inCell(view, view.cell, i) ? " cl-chosen" : "";
    return `cl-t cl-${writer} cl-c${certaintyStep(confidence, view.tau)} cl-${verdictOfToken(view, i)}${chosen}`;
  }

  /**
   * One token has a role at a time, so a screen reader reads the rest as running text.
   * @param {LabelView} view
   * @param {number} index
   */
  #moveTabStop(view, index) {
    const node = this.nodes[index - this.first];
    const old = this.nodes[(this.tabStop ?? index) - this.first];
    if (old && old !== node) endTabStop(old);
    this.tabStop = index;
    const { analysis, router } = view;
    const confidence = probability(analysis.confidence[router][index]);
    const place = `${tokenWords(analysis, index)}, token ${index - this.first + 1}, case ${analysis.caseOf[index]}`;
    const verdict = VERDICT_WORDS[verdictOfToken(view, index)];
    makeTabStop(node, index === view.selected, `${place}, confidence ${confidence}, ${verdict}`);
  }
}

/** What a token's tooltip says. @param {import("./label_view.js").ReadState} view @param {number} index */
export function tokenLines(view, index) {
  const { caseOf, confidence, slm, llm, slmProbability, llmProbability } = view.analysis;
  const shown = probability(confidence[view.router][index]);
  const label = String(labelOf(view.analysis, index)) || "none";
  /** @param {string} name @param {string|null} token @param {number} p */
  const model = (name, token, p) => `${name} ${token ?? "end of text"} (${probability(p)})`;
  const verdict = VERDICT_WORDS[verdictOfToken(view, index)];
  return [
    { text: `${tokenWords(view.analysis, index)}  ${verdict}`, className: "cl-strong" },
    { text: `case ${caseOf[index]}, label ${label}, confidence ${shown}` },
    { text: `${model("SLM", slm[index], slmProbability[index])}, ${model("LLM", llm[index], llmProbability[index])}` },
  ];
}

/** Of what has no letters. @param {string} sign */
export const hiddenMark = (sign) => html("span", { class: "cv-mark cv-mark-hidden", "data-mark": sign });

/** @param {[string, number|null, string]} key */
function legendKey([look, ofCase, words]) {
  const word = html("span", { class: "cl-w" }, "abc");
  const token = html("span", { class: `cl-t ${look}`, "aria-hidden": "true", "data-case": ofCase }, word);
  return html("span", { class: "cl-key" }, token, words);
}
