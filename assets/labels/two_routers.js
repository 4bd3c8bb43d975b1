/**
 * Two routers on the same tokens: how well each separates them, and what each does at its tau.
 *
 * Must not know where the numbers come from. The second router may stand at the same tau, or where it asks the LLM as
 * often as the first: equal tau is rarely a fair comparison.
 */

import { button, html, options, setText } from "../viewer/dom.js";
import { percent } from "../run/format.js";
import { scrolling, tableOf } from "../viewer/table.js";
import { tokensIn } from "./label_view.js";
import { formatTauExact, routerOptions } from "./threshold_panel.js";
import { inDigits } from "../run/kinds.js";

/**
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Confusion} Confusion
 */

const HEAD = ["router", "τ", "▲ risks", "○ wastes", "LLM tokens", "AUC", "average precision", "calibration error"];
const FEW = "One problem has few critical tokens, so its curves are coarse: all 200 of a format say more.";
const DIFFERS = "differs";
/** @param {number|null} value */
const three = (value) => (value === null ? "–" : value.toFixed(3));

export class TwoRouters {
  /** @type {LabelView["analysis"]|null} */
  shown = null;

  /** @param {import("./label_view.js").LabelActions} labels */
  constructor(labels) {
    this.other = html("select", {
      class: "cl-select",
      "aria-label": "Second router",
      onchange: () => labels.chooseOther(this.other.value),
    });
    this.match = html(
      "select",
      {
        class: "cl-select",
        "aria-label": "Where the second router stands",
        onchange: () => labels.change({ matched: this.match.value === "share" }),
      },
      options([
        ["same", "at the same τ"],
        ["share", "at as many LLM tokens"],
      ]),
    );
    this.table = scrolling("Comparison of two routers", "");
    this.differs = button("", "cl-action", { onclick: () => labels.chooseCell(DIFFERS) });
    this.note = html("p", { class: "cl-caption" }, FEW);
    this.root = html("section", { class: "cl-compare" }, [
      html("div", { class: "cl-row cl-wrap" }, [
        html("h3", { class: "cl-heading" }, "Two routers on the same tokens"),
        html("div", { class: "cl-row cl-wrap" }, this.other, this.match),
      ]),
      this.table,
      this.differs,
      this.note,
    ]);
  }

  /** @param {LabelView} view */
  update(view) {
    const { analysis, router, tau, other, otherTau, counts, otherCounts } = view;
    if (analysis !== this.shown)
      this.other.replaceChildren(...options([["", "no second router"]]), ...routerOptions(analysis));
    this.shown = analysis;
    this.other.value = other;
    this.match.value = view.matched ? "share" : "same";
    this.match.hidden = this.differs.hidden = !other;
    /** @param {string} name @param {number} at @param {Confusion} c */
    const row = (name, at, c) => {
      const { auc, average_precision, ece } = analysis.curves(name);
      const decided = [formatTauExact(at), inDigits(c.risk), inDigits(c.waste), percent(c.llm / analysis.n)];
      return [name, ...decided, three(auc), three(average_precision), three(ece)];
    };
    const rows = [row(router, tau, counts), ...(otherCounts ? [row(other, otherTau, otherCounts)] : [])];
    const caption = html("caption", { class: "cl-sr" }, "Two routers on the same tokens");
    const look = "cl-table cl-compare-table";
    this.table.replaceChildren(tableOf({ head: HEAD, rows }, { caption, isNamed: true, look }));
    this.note.hidden = analysis.problems.length > 1;
    const n = tokensIn(view, DIFFERS).length;
    setText(this.differs, `Show the ${n === 1 ? "1 token" : `${inDigits(n)} tokens`} decided differently`);
    this.differs.setAttribute("aria-pressed", String(view.cell === DIFFERS));
  }
}
