/**
 * One problem's ground truth, a span per token: tint by writer, triangle for a risk, circle for a waste, numeral for
 * the case.
 *
 * Must not know what a click does. Marks are generated content, so a copied text is exactly the ground truth. Of a set,
 * one problem is shown at a time.
 */

import { certaintyStep, prefersLlm } from "../run/decision.js";
import { button, html, setText } from "../viewer/dom.js";
import { plural, probability } from "../run/format.js";
import { SPACED, SPACE_BEFORE, fillTokenText, spellTex, visibleText } from "../viewer/text.js";
import { isEnd } from "./analysis.js";
import { inCell, placeInCell, verdictOfToken } from "./rows.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./analysis.js").Analysis} Analysis
 * @typedef {import("./verdict.js").Cell} Cell
 */

/** @type {Record<Cell, string>} */
export const VERDICT_WORDS = {
  kept: "easy, kept by the SLM",
  waste: "waste: easy, given to the LLM",
  caught: "critical, given to the LLM",
  risk: "risk: critical, given to the SLM",
};

/**
 * A token in words, for labels.
 * @param {Analysis} analysis
 * @param {number} index
 */
export const tokenWords = (analysis, index) =>
  isEnd(analysis, index) ? "end of text" : visibleText(analysis.text[index]);

export class TextPanel {
  /**
   * @param {{onSelect: (index: number) => void, onProblem: (number: number) => void, onRisk: (step: 1|-1) => void,
   *   onHover: (node: Element|null, index: number|null) => void}} on
   */
  constructor(on) {
    this.on = on;
    this.question = html("p", { class: "cl-question" });
    this.previous = button("‹", "cl-step", { "aria-label": "Previous problem" });
    this.next = button("›", "cl-step", { "aria-label": "Next problem" });
    this.place = html("span", { class: "cl-place" });
    this.nav = html("div", { class: "cl-nav" }, this.previous, this.place, this.next);
    this.riskBefore = button("‹", "cl-step", { "aria-label": "Previous risk" });
    this.riskNext = button("Next risk ›", "cl-action");
    this.riskPlace = html("span", { class: "cl-small" });
    this.risks = html("div", { class: "cl-nav" }, this.riskPlace, this.riskBefore, this.riskNext);
    this.title = html("h3", { class: "cl-heading" });
    this.answer = html("p", { class: "cl-caption" });
    this.text = html("div", { class: "cl-text", role: "group", "aria-label": "Ground truth, token by token" });
    this.root = html(
      "section",
      { class: "cl-reading" },
      html("div", { class: "cl-row cl-wrap" }, this.title, this.risks, this.nav),
      this.question,
      this.text,
      legend(),
      this.answer,
    );
    /** @type {HTMLElement[]} */
    this.nodes = [];
    /** @type {LabelView["analysis"]|null} */
    this.shown = null;
    /** @type {number|null} */
    this.tabStop = null;
    this.number = 0;
    this.first = 0;
    this.previous.addEventListener("click", () => on.onProblem(this.number - 1));
    this.next.addEventListener("click", () => on.onProblem(this.number + 1));
    this.riskBefore.addEventListener("click", () => on.onRisk(-1));
    this.riskNext.addEventListener("click", () => on.onRisk(1));
    this.text.addEventListener("click", (event) => this.#at(event, (index) => on.onSelect(index)));
    this.text.addEventListener("pointerover", (event) => this.#at(event, (index, node) => on.onHover(node, index)));
    this.text.addEventListener("pointerleave", () => on.onHover(null, null));
    this.text.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {Event} event @param {(index: number, node: HTMLElement) => void} use */
  #at(event, use) {
    const node = event.target instanceof Element ? event.target.closest(".cl-t") : null;
    if (node instanceof HTMLElement) use(Number(node.dataset.i), node);
    else if (event.type === "pointerover") this.on.onHover(null, null);
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
    this.on.onSelect(next);
    const node = this.nodes[next - this.first];
    node.tabIndex = 0; // the drawing that makes it the tab stop comes a frame later
    node.focus({ preventScroll: true });
  }

  /** @param {LabelView} view @param {number} nRisks at this tau */
  update(view, nRisks) {
    const { analysis } = view;
    const place = placeInCell(view, "risk", view.selected);
    const all = nRisks.toLocaleString("en-US");
    setText(this.riskPlace, !nRisks ? "▲ no risk at this τ" : place ? `▲ risk ${place} of ${all}` : `▲ ${all} risks`);
    this.riskBefore.disabled = this.riskNext.disabled = nRisks === 0;
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
    this.nodes = [];
    this.tabStop = null;
    setText(this.question, problem.question);
    setText(this.place, `Problem ${view.problem + 1} of ${analysis.problems.length}`);
    this.nav.hidden = analysis.problems.length < 2;
    this.previous.disabled = view.problem === 0;
    this.next.disabled = view.problem + 1 === analysis.problems.length;
    setText(this.title, analysis.title);
    setText(this.answer, `${plural(problem.n, "token")}, the end included. Right answer: ${problem.answer}.`);
    const fragment = document.createDocumentFragment();
    /** @type {HTMLElement|undefined} */
    let before;
    for (let i = problem.start; i < problem.start + problem.n; i++) {
      const text = analysis.text[i];
      const space = SPACE_BEFORE.test(text) ? " " : "";
      const word = html("span", { class: "cl-w" });
      if (isEnd(analysis, i)) word.append(html("span", { class: "cv-mark cv-mark-hidden", "data-mark": "end" }));
      else if (text === "") word.append(html("span", { class: "cv-mark cv-mark-hidden", "data-mark": "•" }));
      else if (!spellTex(word, text.slice(space.length), before)) fillTokenText(word, text.slice(space.length));
      const node = html("span", { "data-i": i }, space, word);
      if (analysis.caseOf[i] > 1) node.dataset.case = String(analysis.caseOf[i]);
      before = word;
      this.nodes.push(node);
      fragment.append(node);
    }
    const tokens = analysis.text.slice(problem.start, problem.start + problem.n);
    this.text.classList.toggle(
      "cl-spaced",
      tokens.some((text) => SPACED.test(text)),
    );
    this.text.replaceChildren(fragment);
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
    if (old && old !== node)
      for (const name of ["tabindex", "role", "aria-label", "aria-pressed"]) old.removeAttribute(name);
    this.tabStop = index;
    node.tabIndex = 0;
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", String(index === view.selected));
    const confidence = probability(view.analysis.confidence[view.router][index]);
    node.setAttribute(
      "aria-label",
      `${tokenWords(view.analysis, index)}, token ${index - this.first + 1}, case ` +
        `${view.analysis.caseOf[index]}, confidence ${confidence}, ` +
        `${VERDICT_WORDS[verdictOfToken(view, index)]}`,
    );
  }
}

function legend() {
  /** @param {string} className @param {Record<string, number>} dataset @param {...string} words */
  const key = (className, dataset, ...words) =>
    html(
      "span",
      { class: "cl-key" },
      html(
        "span",
        { class: `cl-t ${className}`, "aria-hidden": "true", ...dataset },
        html("span", { class: "cl-w" }, "abc"),
      ),
      ...words,
    );
  return html(
    "div",
    { class: "cl-legend" },
    key("cl-slm cl-c2", {}, "SLM writes at τ"),
    key("cl-llm cl-c2", {}, "LLM writes"),
    key("cl-slm cl-c2 cl-risk", {}, "risk: critical, kept by the SLM"),
    key("cl-llm cl-c2 cl-waste", {}, "waste: easy, given to the LLM"),
    key("cl-plain", {}, "case 1: the SLM is right"),
    key("cl-plain", { "data-case": 2 }, "case 2: only the LLM is right"),
    key("cl-plain", { "data-case": 3 }, "case 3: both are wrong"),
  );
}
