/**
 * Tables of numbers, in a frame that scrolls by itself and that the keyboard can reach. Must not know what they say.
 *
 * @typedef {{head: (string|(string|Node)[])[], rows: (string|Node)[][]}} Table
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
 * @param {Table} table without a head where that is empty
 * @param {{caption?: Node, isNamed?: boolean, look?: string, looks?: (string|null)[]}} [how] whether the first cell of
 *   a row names it; classes of the table, and of each row
 */
export function tableOf({ head, rows }, { caption, isNamed = false, look = "cl-table", looks = [] } = {}) {
  /** @param {string|Node} value @param {number} k */
  const cell = (value, k) => (isNamed && !k ? html("th", { scope: "row" }, value) : html("td", {}, value));
  const heads = head.map((name) => (name === "" ? html("td", {}) : html("th", { scope: "col" }, ...[name].flat())));
  return html("table", { class: look }, [
    caption,
    heads.length ? html("thead", {}, html("tr", {}, ...heads)) : null,
    html("tbody", {}, ...rows.map((row, i) => html("tr", { class: looks[i] }, ...row.map(cell)))),
  ]);
}
