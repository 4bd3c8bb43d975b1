/**
 * What the view Labels shows: what a person chose, and all that follows from it for the tokens that were read.
 *
 * Pure: must not know the DOM.
 *
 * @typedef {import("./analysis.js").Analysis} Analysis
 * @typedef {import("./verdict.js").Cell} Cell
 * @typedef {import("./verdict.js").Confusion} Confusion
 *
 * @typedef {Object} LabelState what a person chose
 * @property {Analysis|null} analysis
 * @property {string} router
 * @property {string} other the second router; "" is none
 * @property {number} tau
 * @property {boolean} matched whether the second router stands where it asks the LLM as often as the first
 * @property {number} ratio how many wastes one risk is worth
 * @property {string|null} cell
 * @property {number} problem
 * @property {number|null} selected
 *
 * @typedef {LabelState & {analysis: Analysis}} ReadState the same once there is an analysis
 *
 * @typedef {Object} Decided what follows from it
 * @property {Confusion} counts of the router at tau
 * @property {import("./verdict.js").BestThreshold} best where it costs least
 * @property {Confusion} bestCounts there
 * @property {number} otherTau
 * @property {Confusion|null} otherCounts
 * @property {string[]} names of the routers, each once
 * @property {number} easyShare of all tokens that have a label
 *
 * @typedef {ReadState & Decided} LabelView
 *
 * @typedef {Object} LabelActions what a person can do, in whichever panel
 * @property {(what: Partial<LabelState>) => void} change
 * @property {(index: number, scroll?: boolean) => void} select
 * @property {(name: string) => void} chooseRouter
 * @property {(name: string) => void} chooseOther
 * @property {(cell: string) => void} chooseCell
 * @property {(step: 1|-1) => void} stepRisk
 * @property {(problem: number) => void} showProblem
 * @property {(node: Element|null, index: number|null) => void} hover
 * @property {(index: number) => void} rollOut
 */

import { bestThreshold, cellOf, confusion, tauForCount } from "./verdict.js";

/** Tokens that an answer hangs on: digits, the letter of a choice. Another word is often as good. */
const MATTERS = /\d|^\s*[A-J]$/;

/** @param {ReadState} state @returns {LabelView} */
export function decided(state) {
  const { analysis, router, other, tau, ratio, matched } = state;
  const { label, n, confidence } = analysis;
  const counts = confusion(confidence[router], label, tau);
  const best = bestThreshold(confidence[router], label, ratio);
  const otherTau = other && matched ? tauForCount(confidence[other], counts.llm) : tau;
  return {
    ...state,
    counts,
    best,
    bestCounts: confusion(confidence[router], label, best.tau),
    otherTau,
    otherCounts: other ? confusion(confidence[other], label, otherTau) : null,
    names: other && other !== router ? [router, other] : [router],
    easyShare: (counts.kept + counts.waste) / (n - counts.open),
  };
}

/** Is it right who writes this token? @param {ReadState} view @param {number} i @returns {Cell} */
export const verdictOfToken = ({ analysis, router, tau }, i) =>
  cellOf(analysis.label[i], analysis.confidence[router][i], tau);

/** Do the two routers decide differently? @param {LabelView} view @param {number} i */
export function differs(view, i) {
  const { analysis, other, otherTau } = view;
  return other !== "" && cellOf(analysis.label[i], analysis.confidence[other][i], otherTau) !== verdictOfToken(view, i);
}

/**
 * Is the token in the chosen cell? Null chooses all.
 * @param {LabelView} view
 * @param {string|null} cell
 * @param {number} i
 */
export function inCell(view, cell, i) {
  if (cell === null) return true;
  return cell === "differs" ? differs(view, i) : verdictOfToken(view, i) === cell;
}

/** All tokens of a cell, in the order of the text. @param {LabelView} view @param {string|null} cell */
export const tokensIn = (view, cell) => [...view.analysis.label.keys()].filter((i) => inCell(view, cell, i));

/**
 * The next token of a cell, going round at the end; null where the cell is empty.
 * @param {LabelView} view
 * @param {string} cell
 * @param {number} from exclusive; -1 is before the first token
 * @param {1|-1} step
 */
export function nextInCell(view, cell, from, step) {
  const { n } = view.analysis;
  for (let k = 1; k <= n; k++) {
    const i = (from + step * k + n * 2) % n;
    if (inCell(view, cell, i)) return i;
  }
  return null;
}

/**
 * What to look at first: a risk where the models write different numbers or choices, or one in a number or a choice, or
 * any, or else a critical token; -1 where there is none.
 * @param {LabelView} view
 */
export function firstToSee(view) {
  const { text, slm, llm, label } = view.analysis;
  const risks = tokensIn(view, "risk");
  /** @param {number} i */
  const isOtherAnswer = (i) => slm[i] !== llm[i] && [slm[i], llm[i]].every((token) => MATTERS.test(token ?? ""));
  return risks.find(isOtherAnswer) ?? risks.find((i) => MATTERS.test(text[i])) ?? risks[0] ?? label.indexOf(0);
}
