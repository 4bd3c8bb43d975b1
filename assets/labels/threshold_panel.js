/**
 * The router, tau, the confusion matrix whose cells are buttons, and the tau that costs least.
 *
 * Must not know tokens one by one. Calls back with what a person chose; computes through `verdict.js`.
 */

import { button, html, setText } from "../viewer/dom.js";
import { formatTau, percent } from "../run/format.js";
import { CELLS } from "./verdict.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Cell} Cell
 * @typedef {import("./verdict.js").Confusion} Confusion
 * @typedef {import("./verdict.js").BestThreshold} BestThreshold
 */

/**
 * @typedef {Object} ThresholdCallbacks
 * @property {(name: string) => void} onRouter
 * @property {(tau: number) => void} onTau
 * @property {(cell: Cell) => void} onCell
 * @property {(ratio: number) => void} onRatio
 */

export const RATIOS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100];
/** @type {Record<Cell, string>} */
const NAMES = { kept: "kept", waste: "waste", risk: "risk", caught: "caught" };
/** @type {Record<Cell, string>} */
const MARKS = { kept: "", waste: "○ ", risk: "▲ ", caught: "" };
/** @type {Record<Cell, string>} */
const TITLES = {
  kept: "Easy tokens that the SLM writes",
  waste: "Easy tokens given to the LLM",
  risk: "Critical tokens given to the SLM",
  caught: "Critical tokens given to the LLM",
};
/** @param {number} n */
const count = (n) => n.toLocaleString("en-US");

export class ThresholdPanel {
  /** @param {ThresholdCallbacks} on */
  constructor(on) {
    this.routerNames = "";
    this.tau = 0;
    this.bestTau = 0;
    this.router = html("select", { class: "cl-select", "aria-label": "Router" });
    this.range = html("input", {
      type: "range",
      class: "cl-range",
      min: 0,
      max: 1,
      step: 0.01,
      "aria-label": "Threshold τ of the labels",
    });
    this.number = html("input", {
      type: "number",
      class: "cl-number",
      min: 0,
      max: 1,
      step: "any",
      "aria-label": "Threshold τ, exact",
    });
    this.ratio = html("input", {
      type: "range",
      class: "cl-range",
      min: 0,
      max: RATIOS.length - 1,
      step: 1,
      value: 7,
      "aria-label": "How many wastes one risk is worth",
    });
    this.ratioWords = html("span", { class: "cl-strong" });
    this.formula = html("p", { class: "cl-formula" });
    this.best = html("p", { class: "cl-small" });
    this.setBest = button("", "cl-action");
    this.cells = {
      kept: this.#cell("kept", on),
      waste: this.#cell("waste", on),
      risk: this.#cell("risk", on),
      caught: this.#cell("caught", on),
    };
    this.share = html("p", { class: "cl-small" });
    this.root = html(
      "section",
      { class: "cl-threshold" },
      html("label", { class: "cl-field" }, html("span", { class: "cl-label" }, "Router"), this.router),
      html(
        "div",
        { class: "cl-field" },
        html("div", { class: "cl-row" }, html("span", { class: "cl-label" }, "Threshold τ"), this.number),
        this.range,
      ),
      this.#matrix(),
      this.share,
      html(
        "div",
        { class: "cl-cost" },
        html("h4", { class: "cl-label" }, "Which τ costs least?"),
        html("p", { class: "cl-small" }, "One risk is worth ", this.ratioWords),
        this.ratio,
        this.formula,
        this.best,
        this.setBest,
      ),
    );
    this.router.addEventListener("change", () => on.onRouter(this.router.value));
    this.range.addEventListener("input", () => on.onTau(Number(this.range.value)));
    this.number.addEventListener("change", () => {
      const tau = Number(this.number.value);
      if (this.number.value !== "" && tau >= 0 && tau <= 1) on.onTau(tau);
      else this.number.value = formatTau(this.tau);
    });
    this.ratio.addEventListener("input", () => on.onRatio(RATIOS[Number(this.ratio.value)]));
    this.setBest.addEventListener("click", () => on.onTau(this.bestTau));
  }

  /** @param {Cell} cell @param {ThresholdCallbacks} on */
  #cell(cell, on) {
    const number = html("span", { class: "cl-cell-count" });
    const words = html("span", { class: "cl-cell-name" }, `${MARKS[cell]}${NAMES[cell]}`);
    const part = html("span", { class: "cl-cell-share" });
    const root = html(
      "button",
      {
        type: "button",
        class: `cl-cell cl-cell-${cell}`,
        "aria-pressed": "false",
        "data-cell": cell,
        title: `${TITLES[cell]}: show only these`,
      },
      number,
      words,
      part,
    );
    root.addEventListener("click", () => on.onCell(cell));
    return { root, number, part };
  }

  #matrix() {
    /** @param {string} text @param {string} note */
    const head = (text, note) => html("th", { scope: "col" }, text, html("span", { class: "cl-note" }, note));
    /** @param {string} text @param {string} note @param {...Cell} cells */
    const row = (text, note, ...cells) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, text, html("span", { class: "cl-note" }, note)),
        ...cells.map((cell) => html("td", {}, this.cells[cell].root)),
      );
    return html(
      "table",
      { class: "cl-matrix" },
      html("caption", { class: "cl-sr" }, "Confusion matrix at τ; each cell selects its tokens"),
      html(
        "thead",
        {},
        html("tr", {}, html("td", {}), head("SLM writes", "confidence ≥ τ"), head("LLM writes", "confidence < τ")),
      ),
      html("tbody", {}, row("Easy", "label 1", "kept", "waste"), row("Critical", "label 0", "risk", "caught")),
    );
  }

  /**
   * `counts` and `best` are of the first router.
   * @param {LabelView} view
   * @param {Confusion} counts
   * @param {BestThreshold} best
   */
  update(view, counts, best) {
    const { analysis } = view;
    const names = analysis.routers.map((router) => router.name).join();
    if (this.routerNames !== names) {
      this.routerNames = names;
      this.router.replaceChildren(
        ...analysis.routers.map((router) => html("option", { value: router.name }, router.label)),
      );
    }
    this.router.value = view.router;
    this.tau = view.tau;
    if (Number(this.range.value) !== view.tau) this.range.value = String(view.tau);
    if (document.activeElement !== this.number || Number(this.number.value) !== view.tau)
      this.number.value = formatTauExact(view.tau);
    const rowOf = {
      kept: counts.kept + counts.waste,
      waste: counts.kept + counts.waste,
      risk: counts.risk + counts.caught,
      caught: counts.risk + counts.caught,
    };
    for (const cell of CELLS) {
      setText(this.cells[cell].number, count(counts[cell]));
      setText(this.cells[cell].part, rowOf[cell] ? percent(counts[cell] / rowOf[cell], 1) : "–");
      this.cells[cell].root.setAttribute("aria-pressed", String(view.cell === cell));
    }
    setText(
      this.share,
      "Percentages are of a row. The LLM writes " +
        `${percent((counts.waste + counts.caught) / analysis.n, 1)} of ${count(analysis.n)} tokens.`,
    );
    setText(this.ratioWords, view.ratio === 1 ? "1 waste" : `${view.ratio} wastes`);
    this.ratio.value = String(RATIOS.indexOf(view.ratio));
    this.ratio.setAttribute("aria-valuetext", `${view.ratio} wastes`);
    setText(this.formula, `cost(τ) = ${view.ratio} · risks(τ) + wastes(τ)`);
    const now = view.ratio * counts.risk + counts.waste;
    setText(
      this.best,
      `Least at τ ${formatTauExact(best.tau)}: ${view.ratio} · ${count(best.risk)} + ` +
        `${count(best.waste)} = ${count(best.cost)}. Now: ${view.ratio} · ${count(counts.risk)} + ` +
        `${count(counts.waste)} = ${count(now)}.`,
    );
    this.bestTau = best.tau;
    setText(this.setBest, `Set τ to ${formatTauExact(best.tau)}`);
    this.setBest.disabled = best.tau === view.tau;
  }
}

/** Every decimal that decides: a best tau may lie between 0.99998 and 1. @param {number} tau */
export function formatTauExact(tau) {
  return Number(tau.toFixed(4)) === tau ? formatTau(tau) : String(tau);
}
