/**
 * The token table's rows: which tokens, in which order, and the same as CSV.
 *
 * Pure: must not know the DOM. A row is a token's index; its values are looked up when they are needed.
 */

import { isEnd } from "./analysis.js";
import { cellOf } from "./verdict.js";

/**
 * @typedef {import("./analysis.js").Analysis} Analysis
 * @typedef {import("./verdict.js").Cell} Cell
 *
 * @typedef {Object} LabelState what the tab shows, and how
 * @property {Analysis|null} analysis
 * @property {string} router
 * @property {string} other the second router; "" is none
 * @property {number} tau
 * @property {number} otherTau
 * @property {boolean} matched whether the second router stands where it asks the LLM as often as the first
 * @property {number} ratio how many wastes one risk is worth
 * @property {string|null} cell
 * @property {number} problem
 * @property {number|null} selected
 *
 * @typedef {LabelState & {analysis: Analysis}} LabelView the same once there is an analysis
 * @typedef {{query: string, column: string, descending: boolean}} RowOrder
 * @typedef {string|number} RowValue
 */

/** @type {Record<Cell, string>} */
export const CELL_WORDS = { kept: "kept by the SLM", waste: "waste", risk: "risk", caught: "caught by the LLM" };

/** Is it right who writes this token? @param {LabelView} view @param {number} i @returns {Cell} */
export function verdictOfToken(view, i) {
  const { analysis } = view;
  return cellOf(analysis.label[i], analysis.confidence[view.router][i], view.tau);
}

/**
 * The value of a column for one token; numbers sort as numbers.
 * @param {LabelView} view
 * @param {string} column
 * @param {number} i
 */
export function valueOf(view, column, i) {
  const { analysis } = view;
  switch (column) {
    case "index":
      return i;
    case "problem":
      return analysis.problemOf[i];
    case "token":
      return analysis.text[i];
    case "case":
      return analysis.caseOf[i];
    case "label":
      return analysis.label[i];
    case "confidence":
      return analysis.confidence[view.router][i];
    case "other":
      return analysis.confidence[view.other]?.[i] ?? NaN;
    case "verdict":
      return verdictOfToken(view, i);
    case "slm":
      return analysis.slm[i] ?? "";
    case "llm":
      return analysis.llm[i] ?? "";
    case "slm_probability":
      return analysis.slmProbability[i];
    case "llm_probability":
      return analysis.llmProbability[i];
    default:
      throw new Error(`no column ${column}`);
  }
}

/**
 * Do the two routers decide differently?
 * @param {LabelView} view
 * @param {number} i
 */
export function differs(view, i) {
  const { analysis, router, other, tau, otherTau } = view;
  if (!other) return false;
  const label = 1;
  return cellOf(label, analysis.confidence[router][i], tau) !== cellOf(label, analysis.confidence[other][i], otherTau);
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

/**
 * The next token of a cell, going round at the end; null where the cell is empty.
 * @param {LabelView} view
 * @param {string} cell
 * @param {number|null} from exclusive; null is before the first token
 * @param {1|-1} step
 */
export function nextInCell(view, cell, from, step) {
  const { n } = view.analysis;
  for (let k = 1; k <= n; k++) {
    const i = ((((from ?? -1) + step * k) % n) + n) % n;
    if (inCell(view, cell, i)) return i;
  }
  return null;
}

/**
 * Which of its cell's tokens one is, from 1, in the order of the text; 0 where it is none of them.
 * @param {LabelView} view
 * @param {string} cell
 * @param {number|null} index
 */
export function placeInCell(view, cell, index) {
  if (index === null || !inCell(view, cell, index)) return 0;
  let place = 0;
  for (let i = 0; i <= index; i++) place += Number(inCell(view, cell, i));
  return place;
}

/**
 * Indices of the rows to show.
 * @param {RowOrder & {cell: string|null}} how
 * @param {LabelView} view
 * @returns {number[]}
 */
export function selectRows(view, how) {
  const { analysis } = view;
  const query = how.query.toLowerCase();
  /** @param {string|null} text */
  const matches = (text) => text !== null && text.toLowerCase().includes(query);
  const found = [];
  for (let i = 0; i < analysis.n; i++) {
    if (!inCell(view, how.cell, i)) continue;
    if (query && !matches(analysis.text[i]) && !matches(analysis.slm[i]) && !matches(analysis.llm[i])) continue;
    found.push(i);
  }
  if (how.column === "index") return how.descending ? found.reverse() : found;
  /** @type {Map<number, RowValue>} */
  const keys = new Map(found.map((i) => [i, valueOf(view, how.column, i)]));
  /** @param {number} i @returns {RowValue} */
  const keyOf = (i) => keys.get(i) ?? "";
  const sign = how.descending ? -1 : 1;
  /** @param {RowValue} a @param {RowValue} b */
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : a < b ? -1 : Number(a > b));
  return found.sort((a, b) => sign * order(keyOf(a), keyOf(b)) || a - b);
}

/** @param {string} text */
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
/**
 * A token as a JSON string: spaces and line ends stay visible, and `=` or `+` does not become a formula.
 * @param {string} text
 */
const cellText = (text) => quoted(JSON.stringify(text));

/**
 * The rows as CSV, every number unrounded.
 * @param {LabelView} view
 * @param {number[]} rows
 */
export function toCsv(view, rows) {
  const { analysis } = view;
  const names = [view.router, ...(view.other ? [view.other] : [])];
  const head = [
    "problem",
    "position",
    "token",
    "case",
    "label",
    "slm_token",
    "slm_probability",
    "slm_probability_of_truth",
    "llm_token",
    "llm_probability",
    "llm_probability_of_truth",
    ...names.flatMap((name) => [`confidence ${name}`, `tau ${name}`, `verdict ${name}`]),
  ];
  const lines = rows.map((i) => {
    const problem = analysis.problems[analysis.problemOf[i]];
    const decided = names.flatMap((name) => {
      const tau = name === view.router ? view.tau : view.otherTau;
      const confidence = analysis.confidence[name][i];
      return [confidence, tau, cellOf(analysis.label[i], confidence, tau)];
    });
    return [
      quoted(problem.id ?? String(analysis.problemOf[i] + 1)),
      i - problem.start + 1,
      isEnd(analysis, i) ? "end of text" : cellText(analysis.text[i]),
      analysis.caseOf[i],
      analysis.label[i],
      analysis.slm[i] === null ? "end of text" : cellText(analysis.slm[i]),
      analysis.slmProbability[i],
      analysis.slmTruthProbability[i],
      analysis.llm[i] === null ? "end of text" : cellText(analysis.llm[i]),
      analysis.llmProbability[i],
      analysis.llmTruthProbability[i],
      ...decided,
    ].join(",");
  });
  return `${[head.map(quoted).join(","), ...lines].join("\r\n")}\r\n`;
}
