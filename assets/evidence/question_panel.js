/**
 * One question as the view shows it: what follows, the number, the figure as a table whose numbers are drawn too.
 *
 * Must not know what is asked; what a person reads was written by the server. A figure is its own table, so a screen
 * reader reads the same rows.
 *
 * @typedef {Object} Finding what was measured on one pair
 * @property {string[]} lines
 * @property {string} where
 * @property {string} lead what all lines are of, "" where each says that itself
 * @property {string} verdict what this alone would say, "" without
 *
 * @typedef {Object} EvidenceClaim
 * @property {string} name
 * @property {string} source
 * @property {string} text
 * @property {string} paper
 * @property {string} verdict
 * @property {string} sentence
 * @property {Finding|null} found
 * @property {string} command
 * @property {Finding[]} others
 * @property {Figure[]} figures
 */

import { button, html, svg, withCode } from "../viewer/dom.js";
import { download } from "../share/page_export.js";
import { percent } from "../run/format.js";
import { csvText } from "../run/csv.js";
import { inDigits } from "../run/kinds.js";

/**
 * A question's figure: where each number stands on its line, and the same as CSV.
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

/** A figure with more rows is closed until it is pressed; on a phone, all figures are. */
const MOST_ROWS = 12;
const NARROW = "(max-width: 640px)";
const COLUMNS = ["ce-col-label", "ce-col-line", "ce-col-value", "ce-col-range"];

/** @param {EvidenceClaim} claim @param {Element[]} [chosen] figures of which a person chooses what they show */
export function questionPanel(claim, chosen = []) {
  const { name, source, text, paper, verdict, sentence, found, command, others, figures } = claim;
  return html("article", { class: "ce-question", "data-verdict": verdict, "data-name": name }, [
    html("div", { class: "ce-said" }, [
      html("p", { class: "cl-small" }, source === "this project" ? "Ours" : `From the ${source}`),
      html("h3", { class: "cl-label" }, text),
      html("p", {}, html("span", { class: "ce-verdict" }, verdict), " ", ...withCode(sentence)),
      found ? findingPanel(found) : null,
      ...others.map(findingPanel),
      paper ? html("p", { class: "cl-note" }, `The paper: ${paper}`) : null,
      command ? html("p", { class: "cl-note" }, ...withCode(command)) : null,
    ]),
    figures.length || chosen.length
      ? html("details", { class: "ce-figures", open: !matchMedia(NARROW).matches }, [
          html("summary", {}, wordsOf(figures.length, chosen.length > 0)),
          ...chosen,
          ...figures.map((one, k) => figurePanel(one, `${name}-${k + 1}`)),
        ])
      : null,
  ]);
}

/** What is folded on a phone. @param {number} n figures @param {boolean} more are chosen from */
const wordsOf = (n, more) => (more ? "The figures" : n === 1 ? "The figure" : `The ${n} figures`);

/** The pair above its numbers, each in a line of its own. @param {Finding} finding */
function findingPanel({ lines, where, lead, verdict }) {
  const pair = [where, verdict].filter(Boolean).join(": ");
  const isList = lines.length > 1;
  return html("div", { class: "ce-finding" }, [
    pair ? html("p", { class: "cl-note" }, pair) : null,
    isList && lead ? html("p", {}, lead) : null,
    isList
      ? html("ul", {}, ...lines.map((line) => html("li", {}, line)))
      : html("p", {}, [lead, ...lines].filter(Boolean).join(": ")),
  ]);
}

/** @param {Figure} figure @param {string} name of its file @param {number} mostRows with more it is folded */
export function figurePanel(figure, name, mostRows = MOST_ROWS) {
  const place = scaleOf(figure);
  const onclick = () => download(`citer-evidence-${name}.csv`, "text/csv", figureCsv(figure));
  const csv = button("CSV", "cl-action ce-csv", { "aria-label": `${figure.title} as CSV`, onclick });
  // Roles are said, as a phone's sheet lays rows out as grids, for which some browsers forget what they are.
  const table = html(
    "table",
    { class: "ce-drawn", role: "table" },
    // Widths stand here: the first row that is laid out is often a heading over all columns.
    html("colgroup", {}, ...COLUMNS.map((name) => html("col", { class: name }))),
    html("thead", { class: "ce-hidden", role: "rowgroup" }, [
      html(
        "tr",
        { role: "row" },
        ["of", "drawn", figure.title, "95% interval"].map((head) =>
          html("th", { scope: "col", role: "columnheader" }, head),
        ),
      ),
    ]),
    ...groupsOf(figure.rows).map(([group, rows]) =>
      html("tbody", { role: "rowgroup" }, [
        group
          ? html("tr", { role: "row" }, [
              html("th", { class: "ce-group", colspan: 4, scope: "rowgroup", role: "rowheader" }, group),
            ])
          : null,
        ...rows.map((row) => drawnRow(row, figure, place)),
      ]),
    ),
  );
  const title = html("p", { class: "ce-title" }, figure.title);
  const marks = figure.reference ? html("p", { class: "cl-note" }, `The line: ${figure.reference[1]}.`) : null;
  if (figure.rows.length <= mostRows) return html("div", { class: "ce-figure" }, title, table, marks, csv);
  return html("details", { class: "ce-figure" }, [
    html("summary", {}, `${figure.title} (${figure.rows.length} rows)`),
    table,
    marks,
    csv,
  ]);
}

/** @param {FigureRow} row @param {Figure} figure @param {(value: number) => number} place */
function drawnRow(row, { unit, reference }, place) {
  const at = (/** @type {number} */ value) => `${(100 * place(value)).toFixed(2)}%`;
  const { value, low, high } = row;
  const interval = intervalText(row, unit);
  const n = row.n === null ? "" : `n\u00a0=\u00a0${inDigits(row.n)}`; // stays in one line
  const beside = row.right === undefined ? n : `${percent(row.right)}\u00a0right`;
  return html("tr", { role: "row" }, [
    html("th", { scope: "row", role: "rowheader" }, row.label),
    html("td", { class: "ce-line", role: "cell" }, [
      svg("svg", { "aria-hidden": "true" }, [
        svg("line", { class: "ce-axis", x1: "0%", x2: "100%", y1: "50%", y2: "50%" }),
        reference
          ? svg("line", { class: "ce-reference", x1: at(reference[0]), x2: at(reference[0]), y1: "0%", y2: "100%" })
          : null,
        low === null || high === null
          ? null
          : svg("line", { class: "ce-interval", x1: at(low), x2: at(high), y1: "50%", y2: "50%" }),
        value === null ? null : svg("circle", { class: "ce-dot", cx: at(value), cy: "50%", r: 5 }),
      ]),
    ]),
    html("td", { class: "ce-value", role: "cell" }, row.text),
    html("td", { class: "ce-range", role: "cell" }, [interval, beside].filter(Boolean).join(", ")),
  ]);
}
