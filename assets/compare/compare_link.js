/**
 * A link that opens a comparison: which problem, which columns, which clock.
 *
 * Pure: must not know the DOM. A link comes from anybody: what is not known here is as good as absent.
 *
 * @typedef {{problem: string|null, columns: string[], clock: import("./columns.js").Clock|null}} CompareState
 */

import { CLOCKS } from "./columns.js";

const MOST_COLUMNS = 4;
const MAX_CHARS = 200;

/** @param {string} base address of the page, without a query @param {CompareState} state */
export function buildCompareLink(base, { problem, columns, clock }) {
  const query = new URLSearchParams({ view: "compare" });
  if (problem) query.set("problem", problem);
  if (columns.length) query.set("columns", columns.join(","));
  if (clock) query.set("clock", clock);
  return `${base}?${query}`;
}

/** @param {string} search `location.search` @returns {CompareState} */
export function readCompareLink(search) {
  const query = new URLSearchParams(search);
  /** @param {string} name */
  const short = (name) => (query.get(name) ?? "").slice(0, MAX_CHARS);
  const columns = short("columns").split(",").filter(Boolean).slice(0, MOST_COLUMNS);
  return {
    problem: short("problem") || null,
    columns: [...new Set(columns)],
    clock: CLOCKS.find((clock) => clock === query.get("clock")) ?? null,
  };
}
