/**
 * The token table's rows: which tokens, in which order, and the same as CSV.
 *
 * Pure: must not know the DOM. A row is a token's index; its values are looked up when they are needed.
 *
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {keyof typeof COLUMNS} ColumnName
 * @typedef {{query: string, column: ColumnName, descending: boolean}} RowOrder
 * @typedef {string|number} RowValue
 */

import { csvText } from "../run/csv.js";
import { isEnd, labelOf } from "./analysis.js";
import { tokensIn, verdictOfToken } from "./label_view.js";
import { cellOf } from "./verdict.js";

/** The value of each column for one token; numbers sort as numbers. */
export const COLUMNS = /** @satisfies {Record<string, (view: LabelView, i: number) => RowValue>} */ ({
  index: (_view, i) => i,
  token: ({ analysis }, i) => analysis.text[i],
  case: ({ analysis }, i) => analysis.caseOf[i],
  label: ({ analysis }, i) => analysis.label[i],
  confidence: ({ analysis, router }, i) => analysis.confidence[router][i],
  other: ({ analysis, other }, i) => analysis.confidence[other]?.[i] ?? NaN,
  verdict: verdictOfToken,
  slm: ({ analysis }, i) => analysis.slm[i] ?? "",
  slm_probability: ({ analysis }, i) => analysis.slmProbability[i],
  llm: ({ analysis }, i) => analysis.llm[i] ?? "",
  llm_probability: ({ analysis }, i) => analysis.llmProbability[i],
});

/**
 * Indices of the rows to show.
 * @param {LabelView} view whose cell is shown
 * @param {RowOrder} how
 * @returns {number[]}
 */
export function selectRows(view, { query, column, descending }) {
  const { text, slm, llm } = view.analysis;
  const wanted = query.toLowerCase();
  const found = tokensIn(view, view.cell).filter(
    (i) => !query || [text[i], slm[i], llm[i]].some((token) => token?.toLowerCase().includes(wanted)),
  );
  if (column === "index") return descending ? found.reverse() : found;
  /** @type {RowValue[]} */
  const keys = [];
  for (const i of found) keys[i] = COLUMNS[column](view, i);
  const sign = descending ? -1 : 1;
  /** @param {RowValue} a @param {RowValue} b */
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : a < b ? -1 : Number(a > b));
  return found.sort((a, b) => sign * order(keys[a], keys[b]) || a - b);
}

const END = "end of text";

/**
 * The rows as CSV, every number unrounded.
 * @param {LabelView} view
 * @param {number[]} rows
 */
export function toCsv({ analysis, names, router, tau, otherTau }, rows) {
  /** As a JSON string: spaces and line ends stay visible, and `=` or `+` becomes no formula. @param {string} text */
  const literal = (text) => JSON.stringify(text);
  /** @param {string|null} token */
  const written = (token) => (token === null ? END : literal(token));
  const head = [
    "problem",
    "position",
    "token",
    "case",
    analysis.rule === "outcome" ? "label_by_outcome" : "label",
    "slm_token",
    "slm_probability",
    "slm_probability_of_truth",
    "llm_token",
    "llm_probability",
    "llm_probability_of_truth",
    ...names.flatMap((name) => [`confidence ${name}`, `tau ${name}`, `verdict ${name}`]),
  ];
  const lines = rows.map((i) => {
    const number = analysis.problemOf[i];
    const problem = analysis.problems[number];
    const decided = names.flatMap((name) => {
      const [confidence, at] = [analysis.confidence[name][i], name === router ? tau : otherTau];
      return [confidence, at, cellOf(analysis.label[i], confidence, at)];
    });
    return [
      problem.id ?? String(number + 1),
      i - problem.start + 1,
      isEnd(analysis, i) ? END : literal(analysis.text[i]),
      analysis.caseOf[i],
      labelOf(analysis, i),
      written(analysis.slm[i]),
      analysis.slmProbability[i],
      analysis.slmTruthProbability[i],
      written(analysis.llm[i]),
      analysis.llmProbability[i],
      analysis.llmTruthProbability[i],
      ...decided,
    ];
  });
  return csvText(head, lines);
}
