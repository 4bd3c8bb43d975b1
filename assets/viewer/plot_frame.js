/**
 * A chart of plotly's in its frame: its title, the button that enlarges it; and plotly.js, fetched once and only when a
 * chart is wanted. Must not know what is drawn.
 */

import { html } from "./dom.js";
import { largeButton } from "./large.js";

/** @type {Promise<PlotlyLibrary>|null} */
let loading = null;

/**
 * @param {string} url of plotly.js, relative to the page
 * @returns {Promise<PlotlyLibrary>} the library
 */
export function loadPlotly(url) {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: new URL(url, document.baseURI).href });
    script.onload = () =>
      globalThis.Plotly ? resolve(globalThis.Plotly) : reject(new Error("plotly could not be started"));
    script.onerror = () => reject(new Error("plotly could not be fetched"));
    document.head.append(script);
  });
  return loading;
}

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
