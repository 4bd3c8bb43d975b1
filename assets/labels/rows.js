/**
 * The token table's rows: which tokens, in which order, and the same as CSV.
 *
 * Pure: must not know the DOM. A row is a token's index; its values are looked up when they are needed.
 */

import { isEnd } from "./analysis.js";
import { cellOf } from "./verdict.js";

export const CELL_WORDS = { kept: "kept by the SLM", waste: "waste", risk: "risk", caught: "caught by the LLM" };

/**
 * The value of a column for one token; numbers sort as numbers.
 * @param {{analysis: import("./analysis.js").Analysis, router: string, other: string, tau: number, otherTau: number}}
 *   view
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
      return cellOf(analysis.label[i], analysis.confidence[view.router][i], view.tau);
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

/** Do the two routers decide differently? */
export function differs(view, i) {
  const { analysis, router, other, tau, otherTau } = view;
  if (!other) return false;
  const label = 1;
  return cellOf(label, analysis.confidence[router][i], tau) !== cellOf(label, analysis.confidence[other][i], otherTau);
}

/** Is the token in the chosen cell? Null chooses all. */
export function inCell(view, cell, i) {
  if (cell === null) return true;
  return cell === "differs" ? differs(view, i) : valueOf(view, "verdict", i) === cell;
}

/**
 * Indices of the rows to show.
 * @param {{cell: string|null, query: string, column: string, descending: boolean}} how
 * @returns {number[]}
 */
export function selectRows(view, how) {
  const { analysis } = view;
  const query = how.query.toLowerCase();
  const matches = (text) => text !== null && text.toLowerCase().includes(query);
  const found = [];
  for (let i = 0; i < analysis.n; i++) {
    if (!inCell(view, how.cell, i)) continue;
    if (query && !matches(analysis.text[i]) && !matches(analysis.slm[i]) && !matches(analysis.llm[i])) continue;
    found.push(i);
  }
  if (how.column === "index") return how.descending ? found.reverse() : found;
  const keys = new Map(found.map((i) => [i, valueOf(view, how.column, i)]));
  const sign = how.descending ? -1 : 1;
  const order = (a, b) => (typeof a === "string" ? (a < b ? -1 : Number(a > b)) : a - b);
  return found.sort((a, b) => sign * order(keys.get(a), keys.get(b)) || a - b);
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
/** A token as a JSON string: spaces and line ends stay visible, and `=` or `+` does not become a formula. */
const cellText = (text) => quoted(JSON.stringify(text));

/** The rows as CSV, every number unrounded. */
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
