/**
 * The four charts, drawn by plotly, each with its numbers as a table.
 *
 * Must not know what the figures hold (`curve_charts.js`). Plotly is 5 MB: it is fetched when the charts come near the
 * screen. Colours are read from the page, and again when the theme changes.
 */

import { html, setText } from "../viewer/dom.js";
import { messageOf, percent } from "../run/format.js";
import { PlotFrame, onAnotherLook, loadPlotly } from "../viewer/plot_frame.js";
import { colorAt, paletteOf } from "../viewer/plot_look.js";
import { scrolling, tableOf } from "../viewer/table.js";
import { histogramFigure, priorOf, prFigure, reliabilityFigure, rocFigure } from "./curve_charts.js";

/** @typedef {import("./label_view.js").LabelView} LabelView */

const REDRAW_AFTER_MS = 60;
const ONE_LABEL = "These tokens all have the same label, so there is nothing to separate. A whole set has both kinds.";

/** @param {LabelView} view @param {"auc"|"average_precision"|"ece"} key */
const each = ({ analysis, names }, key) =>
  names.map((name) => `${analysis.curves(name)[key]?.toFixed(3)} for ${name}`).join(", ");

/** @param {LabelView} view */
const hasBoth = ({ easyShare }) => easyShare > 0 && easyShare < 1;

/** @param {LabelView} view */
const rocWords = (view) =>
  hasBoth(view)
    ? `Area ${each(view, "auc")}: the chance that a random easy token has more confidence than a random critical one.`
    : ONE_LABEL;

/** @param {LabelView} view */
const prWords = (view) =>
  hasBoth(view)
    ? `Average precision ${each(view, "average_precision")}; guessing would give ` +
      `${(1 - view.easyShare).toFixed(3)}, the share of critical tokens.`
    : ONE_LABEL;

/** @param {LabelView} view */
function reliabilityWords(view) {
  const honest = `Calibration error ${each(view, "ece")}; bars are 95% intervals.`;
  if (!priorOf(view)) return honest;
  return (
    `${honest} The confidence of ${view.router} is meant for equal priors, as its card says: as if easy and ` +
    `critical tokens were equally many. Here ${percent(view.easyShare)} are easy, so against natural frequencies it ` +
    "looks under-confident: points lie above the diagonal. That is intended; the dash-dotted line is where an honest " +
    "router for equal priors would lie."
  );
}

/** @param {LabelView} view */
const histogramWords = ({ easyShare }) =>
  `Left of τ the LLM writes. Heights are on a log scale: ${percent(easyShare)} of the tokens are easy.`;

/** Name, title, figure, and what it shows in words. */
const CHARTS = /** @type {const} */ ([
  ["roc", "ROC: what is caught for what is wasted", rocFigure, rocWords],
  ["pr", "Precision and recall of finding critical tokens", prFigure, prWords],
  ["reliability", "Reliability: is the confidence honest?", reliabilityFigure, reliabilityWords],
  ["histogram", "Confidence by label", histogramFigure, histogramWords],
]);

class LabelChart {
  /** @type {LabelView|null} */
  view = null;

  /** @param {typeof CHARTS[number]} chart */
  constructor([name, title, figure, words]) {
    this.figure = figure;
    this.words = words;
    this.note = html("p", { class: "cl-caption" });
    this.numbers = scrolling(`Numbers of the chart: ${title}`, "cl-numbers");
    this.details = html("details", { class: "cl-details", ontoggle: () => this.#fillTable() }, [
      html("summary", {}, "The numbers"),
      this.numbers,
    ]);
    this.frame = new PlotFrame(name, title, this.note, this.details);
  }

  /** @param {LabelView} view */
  update(view) {
    this.view = view;
    setText(this.note, this.words(view));
    this.#fillTable();
  }

  /** In the colours of where it stands, which may be as large as the window. @param {LabelView} view */
  #figureOf(view) {
    const { root } = this.frame;
    return this.figure(view, {
      ...paletteOf(root),
      risk: colorAt(root, "risk"),
      waste: colorAt(root, "waste"),
      slmFill: colorAt(root, "slm-2"),
      llmFill: colorAt(root, "llm-0"),
    });
  }

  /** @param {PlotlyLibrary} plotly @param {LabelView} view */
  draw(plotly, view) {
    return this.frame.draw(plotly, this.#figureOf(view), this.note.textContent);
  }

  #fillTable() {
    if (!this.details.open || !this.view) return;
    const caption = html("caption", { class: "cl-sr" }, this.frame.title);
    this.numbers.replaceChildren(tableOf(this.#figureOf(this.view).table, { caption }));
  }
}

export class ChartsPanel {
  charts = CHARTS.map((chart) => new LabelChart(chart));
  /** @type {ReturnType<typeof setTimeout>|null} */
  timer = null;
  /** @type {LabelView|null} */
  view = null;
  isNear = false;

  /** @param {string} plotlyUrl */
  constructor(plotlyUrl) {
    this.plotlyUrl = plotlyUrl;
    this.root = html("section", { class: "cl-charts" }, ...this.charts.map(({ frame }) => frame.root));
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        this.isNear = true;
        observer.disconnect();
        this.#later();
      },
      { rootMargin: "400px" },
    ).observe(this.root);
    onAnotherLook(() => this.#later());
  }

  /** What to draw; the drawing itself waits until a drag pauses for a moment. @param {LabelView} view */
  update(view) {
    this.view = view;
    for (const chart of this.charts) chart.update(view);
    this.#later();
  }

  #later() {
    if (this.timer === null && this.isNear && this.view) this.timer = setTimeout(() => this.#draw(), REDRAW_AFTER_MS);
  }

  async #draw() {
    this.timer = null;
    const { view } = this;
    if (!view) return;
    try {
      const plotly = await loadPlotly(this.plotlyUrl);
      for (const chart of this.charts) await chart.draw(plotly, view);
    } catch (error) {
      for (const { note } of this.charts)
        setText(note, `The chart could not be drawn (${messageOf(error)}); its numbers are below.`);
    }
  }
}
