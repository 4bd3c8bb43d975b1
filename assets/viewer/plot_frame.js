/** A chart of plotly's in its frame: its title, the button that enlarges it. Must not know what is drawn. */

import { html } from "./dom.js";
import { largeButton } from "./large.js";

export const PLOT_CONFIG = { displayModeBar: false, responsive: true };

export class PlotFrame {
  /**
   * @param {string} name
   * @param {string} title
   * @param {...Node} below what stands under the chart
   */
  constructor(name, title, ...below) {
    this.title = title;
    this.plot = html("div", { class: "cl-plot", role: "img", "aria-label": title });
    this.root = html("figure", { class: "cl-chart cv-panel", "data-chart": name }, [
      html("figcaption", { class: "cl-label" }, title),
      largeButton(title),
      this.plot,
      ...below,
    ]);
  }

  /** @param {PlotlyLibrary} plotly @param {Figure} figure @param {string|null} words what it shows */
  async draw(plotly, { data, layout }, words) {
    await plotly.react(this.plot, data, layout, PLOT_CONFIG);
    this.plot.setAttribute("aria-label", `${this.title}. ${words}`);
    this.plot.dataset.drawn = "true";
  }
}

/** Draws again in another theme, or where a panel is as large as the window. @param {() => void} draw */
export const onAnotherLook = (draw) =>
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["class", "style"] });
