/**
 * One column on the screen: who writes, the text as far as the clock has come, and what it cost.
 *
 * Must not know other columns, clocks that run or where the tokens came from. Token text goes into text nodes only.
 *
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("./columns.js").Cell} Cell
 */

import { html, options, plainButton, setText } from "../viewer/dom.js";
import { quantity } from "../run/format.js";
import { SPACED, fillTokenText, setWordApart, spellTex } from "../viewer/text.js";
import { lengthOf, verdictOf } from "./findings.js";

const FIGURES = /** @type {const} */ ([
  ["bytes", "memory moved", "estimated"],
  ["flops", "operations", "estimated"],
  ["seconds", "in the models", "measured"],
]);
const LOOKS = { slm: "cq-slm", llm: "cq-llm", accepted: "cq-slm cq-kept", rejected: "cq-slm cq-rejected" };
const VERDICT_MARKS = { right: "✓ right", wrong: "✗ wrong", "": "" };

export class ColumnPanel {
  /** @type {Column|null} */
  column = null;
  /** @type {HTMLElement[]} */
  nodes = [];
  drawn = { shown: -1, settled: -1 };

  /** @param {{onChoose: (id: string) => void, onRemove: () => void}} on */
  constructor(on) {
    this.select = html("select", {
      class: "cq-select",
      "aria-label": "Who writes this column",
      onchange: () => on.onChoose(this.select.value),
    });
    this.remove = plainButton("×", "cq-icon", () => on.onRemove(), { "aria-label": "Remove this column" });
    this.name = html("h3", { class: "cq-name" });
    this.about = html("p", { class: "cq-small" });
    this.text = html("div", { class: "cq-text" });
    this.verdict = html("span", { class: "cq-verdict" });
    this.length = html("span", { class: "cq-small" });
    this.values = FIGURES.map(() => html("dd", {}));
    this.bars = FIGURES.map(() => html("span", { class: "cq-bar", "aria-hidden": "true" }));
    const figures = FIGURES.map(([, name, how], k) =>
      html("div", { class: "cq-figure" }, html("dt", { title: how }, name), this.values[k], this.bars[k]),
    );
    this.figures = html("dl", { class: "cq-figures" }, ...figures);
    this.root = html("section", { class: "cq-column" }, [
      html("header", { class: "cq-head" }, this.name, this.select, this.remove),
      this.text,
      html("p", { class: "cq-outcome" }, this.verdict, this.length),
      this.figures,
      this.about,
    ]);
  }

  /**
   * @param {Column} column
   * @param {Column[]} offered what may stand here instead
   * @param {{firstDifference: number, beside: Column[], hidden: string|null, canRemove: boolean, isMath: boolean}} how
   *   where its text leaves the LLM's (-1: nowhere); all that are shown; in a blind test its letter; whether it may go;
   *   whether signs of LaTeX are spelled
   */
  show(column, offered, { firstDifference, beside, hidden, canRemove, isMath }) {
    this.column = column;
    this.drawn = { shown: -1, settled: -1 };
    this.root.dataset.way = hidden ? "hidden" : column.way;
    this.select.replaceChildren(...options(offered.map(({ id, name }) => [id, name])));
    this.select.value = column.id;
    this.select.hidden = hidden !== null;
    this.name.hidden = hidden === null;
    const name = hidden ? `Text ${hidden}` : column.name;
    setText(this.name, name);
    this.root.setAttribute("aria-label", name);
    this.remove.hidden = !canRemove || hidden !== null;
    this.#drawTokens(column.cells, hidden ? -1 : firstDifference, isMath);
    for (const element of [this.figures, this.about, this.verdict, this.length]) element.hidden = hidden !== null;
    setText(this.about, column.about);
    setText(this.length, lengthOf(column));
    const verdict = verdictOf(column);
    this.verdict.dataset.is = verdict;
    setText(this.verdict, VERDICT_MARKS[verdict]);
    FIGURES.forEach(([key], k) => {
      setText(this.values[k], quantity(key, column.total[key]));
      const most = Math.max(...beside.map(({ total }) => total[key]));
      this.bars[k].style.setProperty("--share", String(most ? column.total[key] / most : 0));
    });
  }

  /** @param {Cell[]} cells @param {number} firstDifference place of the text @param {boolean} isMath */
  #drawTokens(cells, firstDifference, isMath) {
    let isMarked = false;
    // Spaces that mean something are kept; without them none is drawn at the end of a line.
    const isSpaced = cells.some((cell) => SPACED.test(cell.text));
    this.text.classList.toggle("cq-spaced", isSpaced);
    /** @type {HTMLElement|undefined} */
    let before;
    this.nodes = cells.map((cell, i) => {
      const node = html("span", { class: `cq-t ${LOOKS[cell.kind]}` });
      if (cell.text === "") node.dataset.mark = "•";
      else if (!isMath || !spellTex(node, cell.text, before))
        fillTokenText(node, i ? cell.text : cell.text.trimStart());
      before = node;
      if (!isMarked && cell.kind !== "rejected" && cell.place === firstDifference) {
        isMarked = true;
        node.classList.add("cq-differs");
        setWordApart(node);
        node.title = "From here on this text is not the LLM's.";
      }
      return node;
    });
    this.text.replaceChildren(...this.nodes);
  }

  /**
   * As far as the clock has come: tokens behind are there, drafts are dotted until the LLM has read them.
   * @param {{shown: number, settled: number}} stand
   */
  reveal({ shown, settled }) {
    if (shown === this.drawn.shown && settled === this.drawn.settled) return;
    const ends = [shown, settled, this.drawn.shown, this.drawn.settled];
    const first = this.drawn.shown < 0 ? 0 : Math.min(...ends);
    const last = this.drawn.shown < 0 ? this.nodes.length : Math.max(...ends);
    for (let i = first; i < last; i++) {
      this.nodes[i].classList.toggle("cq-off", i >= shown);
      this.nodes[i].classList.toggle("cq-draft", i < shown && i >= settled);
    }
    this.root.classList.toggle("cq-done", shown === this.nodes.length);
    this.drawn = { shown, settled };
  }
}
