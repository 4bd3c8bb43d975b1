/**
 * The key of the chart: each curve with its line and mark, a button that shows or hides it.
 *
 * Plotly's own cannot be reached by keyboard, and on a phone it cuts off what it has no room for. Must not know what is
 * measured, nor plotly.
 *
 * @typedef {import("./figures.js").Series} Series
 */

import { button, html, svg } from "../viewer/dom.js";
import { DASHES, MARKS } from "./curve_marks.js";

const [WIDTH, HEIGHT] = [30, 14];

/** @param {Series} series */
function swatch({ tone, dash, symbol, hasLine }) {
  const middle = `translate(${WIDTH / 2} ${HEIGHT / 2})`;
  return svg("svg", { class: "ce-swatch", width: WIDTH, height: HEIGHT, "data-tone": tone, "aria-hidden": "true" }, [
    hasLine ? svg("path", { d: `M0,${HEIGHT / 2}H${WIDTH}`, "stroke-dasharray": DASHES[dash] }) : null,
    symbol ? svg("path", { class: "ce-mark", d: MARKS[symbol], transform: middle }) : null,
  ]);
}

export class CurveKey {
  /** @param {(series: Series) => void} onToggle @param {(isShown: boolean) => void} onAll */
  constructor(onToggle, onAll) {
    this.onToggle = onToggle;
    this.first = html("div", { class: "ce-curves" });
    this.others = html("div", { class: "ce-curves" });
    this.summary = html("summary", {});
    this.all = button("", "cl-action", { onclick: () => onAll(this.all.dataset.state !== "all") });
    this.more = html("details", { class: "cl-details" }, this.summary, this.others);
    this.root = html("div", { class: "ce-key", role: "group", "aria-label": "Curves" }, [
      this.first,
      this.all,
      this.more,
    ]);
    /** @type {Map<string, HTMLButtonElement>} */
    this.buttons = new Map();
    this.drawn = "";
  }

  /**
   * All curves that the chart could have; what is there already stays, and so does the focus.
   * @param {Series[]} all
   * @param {(series: Series) => boolean} isShown
   */
  show(all, isShown) {
    const drawn = JSON.stringify(all.map(({ label, dash, symbol, isFirst }) => [label, dash, symbol, isFirst]));
    if (drawn !== this.drawn) this.fill(all);
    this.drawn = drawn;
    for (const series of all) this.buttons.get(series.label)?.setAttribute("aria-pressed", String(isShown(series)));
    const isAll = all.every(isShown);
    this.all.dataset.state = isAll ? "all" : "";
    this.all.textContent = isAll ? "Only the first curves" : `Show all ${all.length} curves`;
  }

  /** @param {Series[]} all */
  fill(all) {
    this.buttons = new Map(
      all.map((series) => {
        const how = { type: "button", class: "cv-button ce-curve", onclick: () => this.onToggle(series) };
        return [series.label, html("button", how, swatch(series), series.label)];
      }),
    );
    const others = all.filter((series) => !series.isFirst);
    const buttonsOf = (/** @type {Series[]} */ some) => some.flatMap(({ label }) => this.buttons.get(label) ?? []);
    this.first.replaceChildren(...buttonsOf(all.filter((series) => series.isFirst)));
    this.others.replaceChildren(...buttonsOf(others));
    this.summary.textContent = `${others.length} more ${others.length === 1 ? "curve" : "curves"}`;
    this.more.hidden = this.all.hidden = !others.length;
  }
}
