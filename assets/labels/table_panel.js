/**
 * The token table: sortable, searchable, filtered by the chosen cell; and its download.
 *
 * A row is a token's index; its values are looked up when they are needed. Draws a page of rows at a time: a set has
 * ten thousand.
 */

import { button, html, setText } from "../viewer/dom.js";
import { plural, probability } from "../run/format.js";
import { scrolling } from "../viewer/table.js";
import { isEnd, labelOf, modelWords, placeOf, tokenWords } from "./analysis.js";
import { tokensIn, verdictOfToken } from "./label_view.js";
import { MARKS, cellOf } from "./verdict.js";
import { download } from "../share/page_export.js";
import { csvText } from "../run/csv.js";
import { inDigits } from "../run/kinds.js";

/**
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Cell} Cell
 */

/**
 * The table's rows: which tokens, in which order, and the same as CSV.
 *
 * @typedef {keyof typeof COLUMNS} ColumnName
 * @typedef {{query: string, column: ColumnName, descending: boolean}} RowOrder
 * @typedef {string|number} RowValue
 */

/** The value of each column for one token; numbers sort as numbers. */
const COLUMNS = /** @satisfies {Record<string, (view: LabelView, i: number) => RowValue>} */ ({
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

const PAGE = 50;
/** @type {Record<Cell, string>} */
const CELL_WORDS = {
  kept: "kept by the SLM",
  waste: "waste",
  risk: "risk",
  caught: "caught by the LLM",
  open: "no label",
};

/** @param {string} text */
const code = (text) => html("bdi", { class: "cl-code" }, text);

/** @param {"slm"|"llm"} model @returns {(view: LabelView, i: number) => Node} */
const tokenOf = (model) => (view, i) => code(modelWords(view.analysis[model][i]));

/** @param {ColumnName} column @returns {(view: LabelView, i: number) => string} */
const chance = (column) => (view, i) => probability(Number(COLUMNS[column](view, i)));

/** @param {LabelView} view @param {number} i */
const label = ({ analysis }, i) => String(labelOf(analysis, i)) || "–";

/** @param {LabelView} view @param {number} i */
function verdict(view, i) {
  const cell = verdictOfToken(view, i);
  return html("span", { class: `cl-verdict-${cell}` }, `${MARKS[cell]}${CELL_WORDS[cell]}`);
}

/** What leads to a token. @param {LabelView} view @param {number} i */
function pick({ analysis }, i) {
  const { place, problem } = placeOf(analysis, i);
  const where = analysis.problems.length > 1 ? ` of problem ${problem}` : "";
  const token = tokenWords(analysis, i);
  const name = `Show token ${place}${where}: ${token}`;
  return html("button", { type: "button", class: "cl-pick", "aria-label": name }, code(token));
}

/** @param {LabelView} view @param {number} i */
function position({ analysis }, i) {
  const { place, problem } = placeOf(analysis, i);
  return analysis.problems.length > 1 ? `${problem}.${place}` : String(place);
}

/** Title, cell, and the name where the title says too little. */
const SHOWN = /** @type {Record<ColumnName, [string, ((view: LabelView, i: number) => string|Node)?, string?]>} */ ({
  index: ["#", position, "position"],
  token: ["token", pick],
  case: ["case"],
  label: ["label", label],
  confidence: ["confidence", chance("confidence")],
  other: ["second router", chance("other")],
  verdict: ["verdict", verdict],
  slm: ["SLM token", tokenOf("slm")],
  slm_probability: ["p", chance("slm_probability"), "probability of the SLM token"],
  llm: ["LLM token", tokenOf("llm")],
  llm_probability: ["p", chance("llm_probability"), "probability of the LLM token"],
});
const NAMES = /** @type {ColumnName[]} */ (Object.keys(SHOWN));

export class TablePanel {
  /** @type {LabelView|null} */
  view = null;
  /** @type {number[]} */
  rows = [];
  how = { query: "", column: /** @type {ColumnName} */ ("index"), descending: false };
  size = PAGE;

  /** @param {import("./label_view.js").LabelActions} labels */
  constructor(labels) {
    this.search = html("input", {
      type: "search",
      class: "cl-search",
      placeholder: "Search tokens",
      "aria-label": "Search the tokens of both models and the ground truth",
      oninput: () => this.#change({ query: this.search.value }),
    });
    this.count = html("p", { class: "cl-small", role: "status" });
    this.clear = button("Show all cells", "cl-action", { onclick: () => labels.change({ cell: null }) });
    const csv = button("Download table (CSV)", "cl-action", {
      onclick: () => this.view && download("citer-labels.csv", "text/csv", toCsv(this.view, this.rows)),
    });
    this.more = button("Show more", "cl-action", { onclick: () => this.#draw(this.size + 4 * PAGE) });
    this.headers = NAMES.map((column) => this.#header(column));
    this.body = html("tbody", {});
    this.body.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest("tr") : null;
      if (row && getSelection()?.isCollapsed) labels.select(Number(row.dataset.i), true);
    });
    const head = html("thead", {}, html("tr", {}, ...this.headers.map((header) => header.root)));
    this.root = html("section", { class: "cl-tokens" }, [
      html("div", { class: "cl-row cl-wrap" }, [
        html("h3", { class: "cl-heading" }, "All tokens"),
        html("div", { class: "cl-row cl-wrap" }, this.search, csv),
      ]),
      html("div", { class: "cl-row cl-wrap" }, this.count, this.clear),
      scrolling("Token table", "", html("table", { class: "cl-table cl-token-table" }, head, this.body)),
      this.more,
    ]);
  }

  /** @param {ColumnName} column */
  #header(column) {
    const [title, , name = title] = SHOWN[column];
    const arrow = html("span", { class: "cl-arrow", "aria-hidden": "true" });
    const sort = html(
      "button",
      {
        type: "button",
        class: "cl-sort",
        "data-column": column,
        "aria-label": `Sort by ${name}`,
        onclick: () => this.#change({ column, descending: this.how.column === column && !this.how.descending }),
      },
      title,
      arrow,
    );
    return { column, arrow, root: html("th", { scope: "col" }, sort) };
  }

  /** @param {Partial<RowOrder>} how */
  #change(how) {
    Object.assign(this.how, how);
    this.size = PAGE;
    if (this.view) this.update(this.view);
  }

  /** @param {LabelView} view */
  update(view) {
    const { how } = this;
    if (this.view?.analysis !== view.analysis || this.view.cell !== view.cell) this.size = PAGE;
    this.view = view;
    if (!view.other && how.column === "other") Object.assign(how, { column: "index", descending: false });
    this.rows = selectRows(view, how);
    const words = CELL_WORDS[/** @type {Cell} */ (view.cell)] ?? "decided differently";
    const ofCell = view.cell ? `: ${words}` : "";
    setText(this.count, plural(this.rows.length, "token") + ofCell + (how.query ? `, with “${how.query}”` : ""));
    this.clear.hidden = view.cell === null;
    for (const { column, arrow, root } of this.headers) {
      const order = how.column !== column ? "none" : how.descending ? "descending" : "ascending";
      root.setAttribute("aria-sort", order);
      setText(arrow, { none: "", ascending: " ↑", descending: " ↓" }[order]);
      root.hidden = column === "other" && !view.other;
    }
    this.#draw();
  }

  /** @param {number} size how many rows at most */
  #draw(size = this.size) {
    this.size = size;
    const { view } = this;
    if (!view) return;
    const columns = NAMES.filter((column) => column !== "other" || view.other);
    this.body.replaceChildren(
      ...this.rows.slice(0, size).map((i) =>
        html(
          "tr",
          { "data-i": i, "data-selected": i === view.selected ? "true" : null },
          columns.map((column) => html("td", {}, (SHOWN[column][1] ?? plain(column))(view, i))),
        ),
      ),
    );
    const left = this.rows.length - size;
    this.more.hidden = left <= 0;
    setText(this.more, `Show more (${inDigits(Math.max(0, left))} left)`);
  }
}

/** @param {ColumnName} column @returns {(view: LabelView, i: number) => string} */
const plain = (column) => (view, i) => String(COLUMNS[column](view, i));
