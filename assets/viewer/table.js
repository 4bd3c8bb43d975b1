/**
 * Tables of numbers, in a frame that scrolls by itself and that the keyboard can reach. Must not know what they say.
 *
 * @typedef {{head: string[], rows: (string|Node)[][]}} Table
 */

import { html } from "./dom.js";

/**
 * @param {string} label
 * @param {string} look classes
 * @param {...Node} children
 */
export const scrolling = (label, look, ...children) =>
  html("div", { class: `cl-scroll ${look}`, tabindex: 0, role: "region", "aria-label": label }, ...children);

/**
 * @param {Table} table
 * @param {{caption?: Node, isNamed?: boolean}} [how] whether the first cell of a row names it
 */
export function tableOf({ head, rows }, { caption, isNamed = false } = {}) {
  /** @param {string|Node} value @param {number} k */
  const cell = (value, k) => (isNamed && !k ? html("th", { scope: "row" }, value) : html("td", {}, value));
  return html(
    "table",
    { class: "cl-table" },
    caption,
    html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map(cell)))),
  );
}
