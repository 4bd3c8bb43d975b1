/**
 * One pair's arena with its choice of a share of the LLM's bytes. Must not know how contenders are sorted.
 *
 * @typedef {import("./arena_levels.js").PairLevels} PairLevels
 */

import { html, options } from "../viewer/dom.js";
import { figuresAt, keyOf } from "./arena_levels.js";
import { figurePanel } from "./question_panel.js";

export class ArenaPanel {
  /** @param {PairLevels} pair @param {number} percent that is chosen at first */
  constructor(pair, percent) {
    this.pair = pair;
    /** @type {[string, string][]} */
    const offered = pair.percents.map((one) => [String(one), `${one}%`]);
    this.select = html("select", { class: "cl-select", onchange: () => this.show() }, ...options(offered));
    this.select.value = String(percent);
    this.figures = html("div", {});
    this.root = html("section", { class: "ce-arena", "data-pair": pair.pair }, [
      html("label", { class: "cl-label" }, `${pair.title}: at `, this.select, " of the LLM's bytes"),
      this.figures,
    ]);
    this.show();
  }

  /** The choice as a link has it. @returns {[string, string]} */
  get inAddress() {
    return [keyOf(this.pair), this.select.value];
  }

  /** What is chosen; what a person has unfolded stays so. */
  show() {
    const { pair, select } = this;
    const isOpen = this.figures.querySelector("details")?.open ?? false;
    const name = (/** @type {number} */ k) => `arena-${pair.pair}-${select.value}-${k + 1}`;
    this.figures.replaceChildren(
      ...figuresAt(pair, Number(select.value)).map((figure, k) => figurePanel(figure, name(k))),
    );
    for (const folded of this.figures.querySelectorAll("details")) folded.open = isOpen;
  }
}
