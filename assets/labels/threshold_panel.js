/**
 * The router, tau, the confusion matrix whose cells are buttons, and the tau that costs least.
 *
 * Must not know tokens one by one. Says what a person chose.
 */

import { button, html, options, setText } from "../viewer/dom.js";
import { formatTau, percent, plural } from "../run/format.js";
import { CELLS, MARKS } from "./verdict.js";
import { inDigits } from "../run/kinds.js";

/**
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./label_view.js").LabelActions} LabelActions
 * @typedef {import("./verdict.js").Cell} Cell
 */

const RATIOS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100];
/** @type {Partial<Record<Cell, string>>} */
const TITLES = {
  kept: "Easy tokens that the SLM writes",
  waste: "Easy tokens given to the LLM",
  risk: "Critical tokens given to the SLM",
  caught: "Critical tokens given to the LLM",
};

/** @param {Record<string, number|((event: Event) => void)>} how @param {string} label */
const slider = (label, how) => html("input", { type: "range", class: "cl-range", min: 0, "aria-label": label, ...how });

export class ThresholdPanel {
  /** @type {LabelView|null} */
  view = null;
  /** Whether a person is at the number, which a drawing then leaves alone. */
  isTyping = false;

  /** @param {LabelActions} labels */
  constructor(labels) {
    this.router = html("select", {
      class: "cl-select",
      "aria-label": "Router",
      onchange: () => labels.chooseRouter(this.router.value),
    });
    this.range = slider("Threshold τ of the labels", {
      max: 1,
      step: 0.01,
      oninput: () => labels.change({ tau: Number(this.range.value) }),
    });
    this.number = html("input", {
      type: "number",
      class: "cl-number",
      min: 0,
      max: 1,
      step: "any",
      "aria-label": "Threshold τ, exact",
      oninput: () => (this.isTyping = true),
      onblur: () => (this.isTyping = false),
      onchange: () => {
        this.isTyping = false;
        const tau = Number(this.number.value);
        if (this.number.value !== "" && tau >= 0 && tau <= 1) labels.change({ tau });
        else this.number.value = formatTau(this.view?.tau ?? 0);
      },
    });
    this.ratio = slider("How many wastes one risk is worth", {
      max: RATIOS.length - 1,
      step: 1,
      oninput: () => labels.change({ ratio: RATIOS[Number(this.ratio.value)] }),
    });
    this.ratioWords = html("span", { class: "cl-strong" });
    this.formula = html("p", { class: "cl-formula" });
    this.best = html("p", { class: "cl-small" });
    this.setBest = button("", "cl-action", { onclick: () => this.view && labels.change({ tau: this.view.best.tau }) });
    this.cells = CELLS.map((cell) => cellButton(cell, () => labels.chooseCell(cell)));
    this.share = html("p", { class: "cl-small" });
    this.root = html("section", { class: "cl-threshold" }, [
      html("label", { class: "cl-field" }, html("span", { class: "cl-label" }, "Router"), this.router),
      html("div", { class: "cl-field" }, [
        html("div", { class: "cl-row" }, html("span", { class: "cl-label" }, "Threshold τ"), this.number),
        this.range,
      ]),
      matrix(this.cells.map(({ root }) => html("td", {}, root))),
      this.share,
      html("div", { class: "cl-cost" }, [
        html("h4", { class: "cl-label" }, "Which τ costs least?"),
        html("p", { class: "cl-small" }, "One risk is worth ", this.ratioWords),
        this.ratio,
        this.formula,
        this.best,
        this.setBest,
      ]),
    ]);
  }

  /** @param {LabelView} view */
  update(view) {
    const { analysis, counts, best, ratio, tau } = view;
    if (this.view?.analysis !== analysis) this.router.replaceChildren(...routerOptions(analysis));
    this.view = view;
    this.router.value = view.router;
    if (Number(this.range.value) !== tau) this.range.value = String(tau);
    if (!this.isTyping) this.number.value = formatTauExact(tau);
    for (const { cell, root, number, part } of this.cells) {
      const row = cell === "kept" || cell === "waste" ? counts.kept + counts.waste : counts.risk + counts.caught;
      setText(number, inDigits(counts[cell]));
      setText(part, row ? percent(counts[cell] / row) : "–");
      root.setAttribute("aria-pressed", String(view.cell === cell));
    }
    const share = `The LLM writes ${percent(counts.llm / analysis.n)} of ${inDigits(analysis.n)} tokens.`;
    const open = counts.open ? ` ${plural(counts.open, "token")} without a label: in no row.` : "";
    setText(this.share, `Percentages are of a row. ${share}${open}`);
    setText(this.ratioWords, ratio === 1 ? "1 waste" : `${ratio} wastes`);
    this.ratio.value = String(RATIOS.indexOf(ratio));
    this.ratio.setAttribute("aria-valuetext", `${ratio} wastes`);
    setText(this.formula, `cost(τ) = ${ratio} · risks(τ) + wastes(τ)`);
    /** @param {{risk: number, waste: number}} at */
    const sum = ({ risk, waste }) =>
      `${ratio} · ${inDigits(risk)} + ${inDigits(waste)} = ${inDigits(ratio * risk + waste)}`;
    setText(this.best, `Least at τ ${formatTauExact(best.tau)}: ${sum(best)}. Now: ${sum(counts)}.`);
    setText(this.setBest, `Set τ to ${formatTauExact(best.tau)}`);
    this.setBest.disabled = best.tau === tau;
  }
}

/** @param {Cell} cell @param {() => void} onclick */
function cellButton(cell, onclick) {
  const number = html("span", { class: "cl-cell-count" });
  const part = html("span", { class: "cl-cell-share" });
  const root = html(
    "button",
    {
      type: "button",
      class: `cl-cell cl-cell-${cell}`,
      "aria-pressed": "false",
      "data-cell": cell,
      title: `${TITLES[cell]}: show only these`,
      onclick,
    },
    number,
    html("span", { class: "cl-cell-name" }, `${MARKS[cell]}${cell}`),
    part,
  );
  return { cell, root, number, part };
}

/** @param {HTMLElement[]} cells in the order of `CELLS` */
function matrix(cells) {
  /** @param {"col"|"row"} scope @param {string} text @param {string} note */
  const head = (scope, text, note) => html("th", { scope }, text, html("span", { class: "cl-note" }, note));
  return html("table", { class: "cl-matrix" }, [
    html("caption", { class: "cl-sr" }, "Confusion matrix at τ; each cell selects its tokens"),
    html("thead", {}, [
      html("tr", {}, [
        html("td", {}),
        head("col", "SLM writes", "confidence ≥ τ"),
        head("col", "LLM writes", "confidence < τ"),
      ]),
    ]),
    html("tbody", {}, [
      html("tr", {}, head("row", "Easy", "label 1"), ...cells.slice(0, 2)),
      html("tr", {}, head("row", "Critical", "label 0"), ...cells.slice(2)),
    ]),
  ]);
}

/** What a choice of routers offers. @param {LabelView["analysis"]} analysis */
export const routerOptions = ({ routers }) => options(routers.map(({ name, label }) => [name, label]));

/** Every decimal that decides: a best tau may lie between 0.99998 and 1. @param {number} tau */
export function formatTauExact(tau) {
  return Number(tau.toFixed(4)) === tau ? formatTau(tau) : String(tau);
}
