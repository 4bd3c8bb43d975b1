/**
 * By which rule the tokens of a text are labelled: a choice where there are labels of both.
 *
 * Must not know what follows from a label.
 *
 * @typedef {import("./analysis.js").Rule} Rule
 */

import { html, options } from "../viewer/dom.js";

/** @type {[Rule, string][]} */
const RULES = [
  ["outcome", "outcome: both tokens were tried"],
  ["published", "the published shortcut"],
];

export class RuleChoice {
  /** @param {Rule} first @param {(rule: Rule) => void} onChoose */
  constructor(first, onChoose) {
    this.select = html(
      "select",
      { class: "cl-select cl-source-choice", onchange: () => onChoose(this.chosen) },
      options(RULES),
    );
    this.select.value = first;
    this.root = html(
      "label",
      { class: "cl-source-label", hidden: true },
      html("span", { class: "cl-label" }, "Labelled by"),
      this.select,
    );
  }

  /** What a person wants, whether this text has it or not. */
  get chosen() {
    return /** @type {Rule} */ (this.select.value);
  }

  /** @param {import("./analysis.js").Analysis} analysis */
  update({ rules }) {
    this.root.hidden = rules.length < 2;
  }
}
