/**
 * Two routers on the same tokens: how well each separates them, and what each does at its tau.
 *
 * Must not know where the numbers come from. The second router may stand at the same tau, or where it asks the LLM as
 * often as the first: equal tau is rarely a fair comparison.
 */

import { html, setText } from "../viewer/dom.js";
import { percent } from "../run/format.js";
import { formatTauExact } from "./threshold_panel.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Confusion} Confusion
 */

/** @param {number} n */
const count = (n) => n.toLocaleString("en-US");
/** @param {number|null} value */
const three = (value) => (value === null ? "–" : value.toFixed(3));

export class ComparePanel {
  /** @param {{onOther: (name: string) => void, onMatch: (matched: boolean) => void, onDiffers: () => void}} on */
  constructor(on) {
    this.names = "";
    this.other = html("select", { class: "cl-select", "aria-label": "Second router" });
    this.match = html(
      "select",
      { class: "cl-select", "aria-label": "Where the second router stands" },
      html("option", { value: "same" }, "at the same τ"),
      html("option", { value: "share" }, "at as many LLM tokens"),
    );
    this.body = html("tbody", {});
    this.head = html("tr", {});
    this.table = html(
      "div",
      { class: "cl-scroll", tabindex: 0, role: "region", "aria-label": "Comparison of two routers" },
      html(
        "table",
        { class: "cl-table cl-compare-table" },
        html("caption", { class: "cl-sr" }, "Two routers on the same tokens"),
        html("thead", {}, this.head),
        this.body,
      ),
    );
    this.differs = html("button", { type: "button", class: "cv-button cl-action", "aria-pressed": "false" });
    this.note = html("p", { class: "cl-caption" });
    this.root = html(
      "section",
      { class: "cl-compare" },
      html(
        "div",
        { class: "cl-row cl-wrap" },
        html("h3", { class: "cl-heading" }, "Two routers on the same tokens"),
        html("div", { class: "cl-row cl-wrap" }, this.other, this.match),
      ),
      this.table,
      this.differs,
      this.note,
    );
    this.other.addEventListener("change", () => on.onOther(this.other.value));
    this.match.addEventListener("change", () => on.onMatch(this.match.value === "share"));
    this.differs.addEventListener("click", () => on.onDiffers());
  }

  /** @param {LabelView} view @param {Confusion} counts @param {Confusion|null} otherCounts @param {number} nDiffer */
  update(view, counts, otherCounts, nDiffer) {
    const { analysis } = view;
    const names = analysis.routers.map((router) => router.name).join();
    if (this.names !== names) {
      this.names = names;
      this.other.replaceChildren(
        html("option", { value: "" }, "no second router"),
        ...analysis.routers.map((router) => html("option", { value: router.name }, router.label)),
      );
    }
    this.other.value = view.other;
    this.match.value = view.matched ? "share" : "same";
    this.match.hidden = this.differs.hidden = !view.other;
    /** @type {[string, number, Confusion][]} */
    const shown = [[view.router, view.tau, counts]];
    if (view.other && otherCounts) shown.push([view.other, view.otherTau, otherCounts]);
    this.head.replaceChildren(
      ...["router", "τ", "▲ risks", "○ wastes", "LLM tokens", "AUC", "average precision", "calibration error"].map(
        (name) => html("th", { scope: "col" }, name),
      ),
    );
    this.body.replaceChildren(
      ...shown.map(([name, tau, c]) => {
        const curves = analysis.curves[name];
        const values = [
          formatTauExact(tau),
          count(c.risk),
          count(c.waste),
          percent((c.waste + c.caught) / analysis.n, 1),
          three(curves.auc),
          three(curves.average_precision),
          three(curves.ece),
        ];
        return html("tr", {}, html("th", { scope: "row" }, name), ...values.map((value) => html("td", {}, value)));
      }),
    );
    const few = analysis.problems.length === 1;
    setText(
      this.note,
      few ? "One problem has few critical tokens, so its curves are coarse: all 200 of a format say more." : "",
    );
    this.note.hidden = !few;
    setText(
      this.differs,
      nDiffer === 1 ? "Show the 1 token decided differently" : `Show the ${count(nDiffer)} tokens decided differently`,
    );
    this.differs.setAttribute("aria-pressed", String(view.cell === "differs"));
  }
}
