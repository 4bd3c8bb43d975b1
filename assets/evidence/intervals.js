/**
 * A question's figure: where each number stands on its line, and the same as CSV.
 *
 * Pure: must not know the DOM. What a person reads was written by the server.
 *
 * @typedef {Object} FigureRow
 * @property {string} group heading of the rows that belong together, "" has none
 * @property {string} label
 * @property {number|null} value null where there is none
 * @property {number|null} low of its 95% interval, null without
 * @property {number|null} high
 * @property {number|null} n
 * @property {number} [right] share of right answers, where the number is another one
 * @property {string} text the number in words
 *
 * @typedef {Object} Figure
 * @property {string} title
 * @property {string} unit
 * @property {FigureRow[]} rows
 * @property {[number, string]|null} reference where a line is drawn, and what it means
 * @property {boolean} is_log
 */

import { csvText } from "../run/csv.js";

/** Shares wider apart than this are drawn from 0% to 100%. */
const WIDE = 0.5;

/**
 * From a value to its place on the line, 0 to 1.
 * @param {Figure} figure
 * @returns {(value: number) => number}
 */
export function scaleOf({ rows, unit, reference, is_log }) {
  const every = rows.flatMap(({ value, low, high }) => [value, low, high]).filter((x) => x !== null);
  if (reference) every.push(reference[0]);
  const to = is_log
    ? (/** @type {number} */ x) => Math.log10(Math.max(x, Number.MIN_VALUE))
    : (/** @type {number} */ x) => x;
  const seen = every.filter((x) => !is_log || x > 0).map(to);
  let [low, high] = [Math.min(...seen), Math.max(...seen)];
  if (unit === "share" && high - low > WIDE) [low, high] = [Math.min(0, low), Math.max(1, high)];
  else if (!is_log && unit !== "share" && unit !== "points") low = 0; // lengths of amounts are compared from nothing
  if (is_log) [low, high] = [Math.floor(low), Math.ceil(high)];
  const width = high - low || 1;
  return (value) => Math.min(1, Math.max(0, (to(value) - low) / width));
}

/** Rows under their headings, in order. @param {FigureRow[]} rows @returns {[string, FigureRow[]][]} */
export function groupsOf(rows) {
  /** @type {Map<string, FigureRow[]>} */
  const groups = new Map();
  for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
  return [...groups];
}

/** A row's interval in words, "" without. @param {FigureRow} row @param {string} unit */
export function intervalText({ low, high }, unit) {
  if (low === null || high === null) return "";
  const [a, b] = unit === "share" ? [100 * low, 100 * high] : [low, high];
  const sign = (/** @type {number} */ x) => (unit === "points" && x > 0 ? "+" : "");
  return `${sign(a)}${a.toFixed(1)} to ${sign(b)}${b.toFixed(1)}${unit === "share" ? "%" : ""}`;
}

/** With all digits that are known; what has no number is empty. @param {Figure} figure */
export function figureCsv({ rows, unit }) {
  const hasRight = rows.some(({ right }) => right !== undefined);
  return csvText(
    ["group", "label", `value (${unit})`, "95% from", "to", "n", ...(hasRight ? ["right"] : [])],
    rows.map(({ group, label, value, low, high, n, right = null }) => {
      const cells = [group, label, value, low, high, n];
      return hasRight ? [...cells, right] : cells;
    }),
  );
}
