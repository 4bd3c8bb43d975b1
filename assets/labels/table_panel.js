/**
 * The token table: sortable, searchable, filtered by the chosen cell; and its download.
 *
 * Must not know how rows are chosen (`rows.js`). Draws a page of rows at a time: a set has ten thousand.
 */

import { button, html, setText } from "../viewer/dom.js";
import { plural, probability } from "../run/format.js";
import { visibleText } from "../viewer/text.js";
import { CELL_WORDS, selectRows, toCsv, verdictOfToken } from "./rows.js";
import { tokenWords } from "./text_panel.js";
import { download } from "../share/page_export.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./rows.js").RowOrder} RowOrder
 * @typedef {import("./verdict.js").Cell} Cell
 */

const PAGE = 50;
const COLUMNS = [
  ["index", "#"],
  ["token", "token"],
  ["case", "case"],
  ["label", "label"],
  ["confidence", "confidence"],
  ["other", "second router"],
  ["verdict", "verdict"],
  ["slm", "SLM token"],
  ["slm_probability", "p"],
  ["llm", "LLM token"],
  ["llm_probability", "p"],
];
/** @type {Record<string, string>} */
const NAMES = {
  slm_probability: "probability of the SLM token",
  llm_probability: "probability of the LLM token",
  index: "position",
};

export class TablePanel {
  /** @param {{onSelect: (index: number) => void, onCell: (cell: null) => void}} on */
  constructor(on) {
    this.on = on;
    /** @type {LabelView|null} */
    this.view = null;
    /** @type {number[]} */
    this.rows = [];
    /** @type {string|null} */
    this.cell = null;
    this.how = { query: "", column: "index", descending: false };
    this.size = PAGE;
    this.search = html("input", {
      type: "search",
      class: "cl-search",
      placeholder: "Search tokens",
      "aria-label": "Search the tokens of both models and the ground truth",
    });
    this.count = html("p", { class: "cl-small", role: "status" });
    this.clear = button("Show all cells", "cl-action");
    this.csv = button("Download table (CSV)", "cl-action");
    this.more = button("Show more", "cl-action");
    this.headers = Object.fromEntries(COLUMNS.map(([column, title]) => [column, this.#header(column, title)]));
    this.body = html("tbody", {});
    this.root = html(
      "section",
      { class: "cl-tokens" },
      html(
        "div",
        { class: "cl-row cl-wrap" },
        html("h3", { class: "cl-heading" }, "All tokens"),
        html("div", { class: "cl-row cl-wrap" }, this.search, this.csv),
      ),
      html("div", { class: "cl-row cl-wrap" }, this.count, this.clear),
      html(
        "div",
        { class: "cl-scroll", tabindex: 0, role: "region", "aria-label": "Token table" },
        html(
          "table",
          { class: "cl-table cl-token-table" },
          html("thead", {}, html("tr", {}, ...Object.values(this.headers).map((header) => header.root))),
          this.body,
        ),
      ),
      this.more,
    );
    this.search.addEventListener("input", () => this.#change({ query: this.search.value }));
    this.clear.addEventListener("click", () => on.onCell(null));
    this.csv.addEventListener("click", () => {
      if (this.view) download("citer-labels.csv", "text/csv", toCsv(this.view, this.rows));
    });
    this.more.addEventListener("click", () => {
      this.size += 4 * PAGE;
      this.#draw();
    });
    this.body.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest("tr") : null;
      if (row && getSelection()?.isCollapsed) on.onSelect(Number(row.dataset.i));
    });
  }

  /** @param {string} column @param {string} title */
  #header(column, title) {
    const arrow = html("span", { class: "cl-arrow", "aria-hidden": "true" });
    const sort = html(
      "button",
      { type: "button", class: "cl-sort", "data-column": column, "aria-label": `Sort by ${NAMES[column] ?? title}` },
      title,
      arrow,
    );
    const root = html("th", { scope: "col", "aria-sort": "none" }, sort);
    sort.addEventListener("click", () =>
      this.#change({ column, descending: this.how.column === column && !this.how.descending }),
    );
    return { root, arrow };
  }

  /** @param {Partial<RowOrder>} how */
  #change(how) {
    Object.assign(this.how, how);
    this.size = PAGE;
    if (this.view) this.update(this.view);
  }

  /** @param {LabelView} view */
  update(view) {
    if (this.view?.analysis !== view.analysis || this.cell !== view.cell) this.size = PAGE;
    this.view = view;
    this.cell = view.cell;
    if (!view.other && this.how.column === "other") Object.assign(this.how, { column: "index", descending: false });
    this.rows = selectRows(view, { ...this.how, cell: view.cell });
    const words = CELL_WORDS[/** @type {Cell} */ (view.cell)] ?? "decided differently";
    setText(
      this.count,
      plural(this.rows.length, "token") +
        (view.cell ? `: ${words}` : "") +
        (this.how.query ? `, with “${this.how.query}”` : ""),
    );
    this.clear.hidden = view.cell === null;
    for (const [column, header] of Object.entries(this.headers)) {
      const isKey = this.how.column === column;
      header.root.setAttribute("aria-sort", isKey ? (this.how.descending ? "descending" : "ascending") : "none");
      setText(header.arrow, isKey ? (this.how.descending ? " ↓" : " ↑") : "");
      header.root.hidden = column === "other" && !view.other;
    }
    this.#draw();
  }

  #draw() {
    const { view } = this;
    if (!view) return;
    const { analysis } = view;
    const many = analysis.problems.length > 1;
    /** @param {string|null} token */
    const shownToken = (token) =>
      html("bdi", { class: "cl-code" }, token === null ? "end of text" : visibleText(token));
    this.body.replaceChildren(
      ...this.rows.slice(0, this.size).map((i) => {
        const problem = analysis.problems[analysis.problemOf[i]];
        const place = i - problem.start + 1;
        const verdict = verdictOfToken(view, i);
        const mark = { kept: "", waste: "○ ", risk: "▲ ", caught: "" }[verdict];
        const pick = html(
          "button",
          {
            type: "button",
            class: "cl-pick",
            "aria-label":
              `Show token ${place}${many ? ` of problem ${analysis.problemOf[i] + 1}` : ""}: ` +
              `${tokenWords(analysis, i)}`,
          },
          html("bdi", { class: "cl-code" }, tokenWords(analysis, i)),
        );
        return html(
          "tr",
          { "data-i": i, "data-selected": i === view.selected ? "true" : null },
          html("td", {}, many ? `${analysis.problemOf[i] + 1}.${place}` : String(place)),
          html("td", {}, pick),
          html("td", {}, String(analysis.caseOf[i])),
          html("td", {}, String(analysis.label[i])),
          html("td", {}, probability(analysis.confidence[view.router][i])),
          view.other ? html("td", {}, probability(analysis.confidence[view.other][i])) : null,
          html("td", { class: `cl-verdict-${verdict}` }, `${mark}${CELL_WORDS[verdict]}`),
          html("td", {}, shownToken(analysis.slm[i])),
          html("td", {}, probability(analysis.slmProbability[i])),
          html("td", {}, shownToken(analysis.llm[i])),
          html("td", {}, probability(analysis.llmProbability[i])),
        );
      }),
    );
    const left = this.rows.length - this.size;
    this.more.hidden = left <= 0;
    setText(this.more, `Show more (${Math.max(0, left).toLocaleString("en-US")} left)`);
  }
}
