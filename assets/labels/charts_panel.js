/**
 * The four charts, drawn by plotly, each with its numbers as a table.
 *
 * Must not know what the figures hold (`figures.js`). Plotly is 5 MB: it is fetched when the charts come near the
 * screen. Colours are read from the page, and again when the theme changes.
 */

import { html, setText } from "../viewer/dom.js";
import { messageOf, percent } from "../run/format.js";
import { histogramFigure, prFigure, reliabilityFigure, rocFigure } from "./figures.js";
import { largeButton } from "../viewer/large.js";
import { loadPlotly } from "../viewer/plotly.js";
import { colorAt, paletteOf } from "../viewer/plot_look.js";

/**
 * @typedef {import("./rows.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Confusion} Confusion
 * @typedef {import("./verdict.js").BestThreshold} BestThreshold
 * @typedef {import("./figures.js").FigureView} FigureView
 * @typedef {import("./figures.js").ChartFigure} ChartFigure
 */

/**
 * @typedef {Object} LabelChart
 * @property {string} title
 * @property {(view: FigureView) => ChartFigure} figure
 * @property {HTMLElement} plot
 * @property {HTMLElement} note
 * @property {HTMLElement} table
 * @property {HTMLDetailsElement} details
 * @property {HTMLElement} root
 */

const CONFIG = { displayModeBar: false, responsive: true };
const REDRAW_AFTER_MS = 60;
/** @type {[string, string, (view: FigureView) => ChartFigure][]} */
const CHARTS = [
  ["roc", "ROC: what is caught for what is wasted", rocFigure],
  ["pr", "Precision and recall of finding critical tokens", prFigure],
  ["reliability", "Reliability: is the confidence honest?", reliabilityFigure],
  ["histogram", "Confidence by label", histogramFigure],
];

export class ChartsPanel {
  /** @param {string} plotlyUrl */
  constructor(plotlyUrl) {
    this.plotlyUrl = plotlyUrl;
    this.charts = CHARTS.map(([name, title, figure]) => this.#chart(name, title, figure));
    this.root = html("section", { class: "cl-charts" }, ...this.charts.map((chart) => chart.root));
    /** @type {ReturnType<typeof setTimeout>|null} */
    this.timer = null;
    /** @type {{view: LabelView, counts: Confusion, best: BestThreshold, bestCounts: Confusion}|null} */
    this.shown = null;
    this.isNear = false;
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        this.isNear = true;
        observer.disconnect();
        this.#later();
      },
      { rootMargin: "400px" },
    ).observe(this.root);
    new MutationObserver(() => this.#later()).observe(document.body, { attributeFilter: ["class", "style"] });
  }

  /** @param {string} name @param {string} title @param {(view: FigureView) => ChartFigure} figure */
  #chart(name, title, figure) {
    const plot = html("div", { class: "cl-plot", role: "img", "aria-label": title });
    const note = html("p", { class: "cl-caption" });
    const table = html("div", {
      class: "cl-scroll cl-numbers",
      tabindex: 0,
      role: "region",
      "aria-label": `Numbers of the chart: ${title}`,
    });
    const details = html("details", { class: "cl-details" }, html("summary", {}, "The numbers"), table);
    details.addEventListener("toggle", () => this.#fillTable(chart));
    const root = html(
      "figure",
      { class: "cl-chart cv-panel", "data-chart": name },
      html("figcaption", { class: "cl-label" }, title),
      largeButton(title),
      plot,
      note,
      details,
    );
    /** @type {LabelChart} */
    const chart = { title, figure, plot, note, table, details, root };
    return chart;
  }

  /** @param {HTMLElement} root of a chart, which may be as large as the window */
  #palette(root) {
    /** @param {string} name */
    const color = (name) => colorAt(root, name);
    return {
      ...paletteOf(root),
      risk: color("risk"),
      waste: color("waste"),
      slmFill: color("slm-2"),
      llmFill: color("llm-0"),
    };
  }

  /**
   * Remembers what to draw; the drawing itself waits until a drag pauses for a moment.
   * @param {LabelView} view
   * @param {Confusion} counts
   * @param {BestThreshold} best
   * @param {Confusion} bestCounts
   */
  update(view, counts, best, bestCounts) {
    const shown = { view, counts, best, bestCounts };
    this.shown = shown;
    this.#words(view);
    this.#later();
  }

  #later() {
    if (this.timer === null && this.isNear && this.shown) this.timer = setTimeout(() => this.#draw(), REDRAW_AFTER_MS);
  }

  /**
   * @param {NonNullable<typeof this.shown>} shown
   * @param {HTMLElement} root of the chart
   * @returns {FigureView}
   */
  #input({ view, counts, best, bestCounts }, root) {
    const names = [view.router, ...(view.other && view.other !== view.router ? [view.other] : [])];
    const nEasy = view.analysis.label.reduce((sum, label) => sum + label, 0);
    return {
      names,
      curves: names.map((name) => view.analysis.curves[name]),
      now: counts,
      best: bestCounts,
      tau: view.tau,
      bestTau: best.tau,
      easyShare: nEasy / view.analysis.n,
      showShift: this.#equalPriors(view) !== "",
      palette: this.#palette(root),
    };
  }

  /** What the router's card says of priors; "" where it says nothing. @param {LabelView} view */
  #equalPriors(view) {
    return view.analysis.routers.find((router) => router.name === view.router)?.prior ?? "";
  }

  /** @param {LabelView} view */
  #words(view) {
    const nEasy = view.analysis.label.reduce((sum, label) => sum + label, 0);
    const hasBoth = nEasy > 0 && nEasy < view.analysis.n;
    const [roc, pr, reliability, histogram] = this.charts;
    const missing =
      "These tokens all have the same label, so there is nothing to separate. A whole set has both kinds.";
    const names = [view.router, ...(view.other && view.other !== view.router ? [view.other] : [])];
    /** @param {"auc"|"average_precision"|"ece"} key */
    const each = (key) => names.map((name) => `${view.analysis.curves[name][key]?.toFixed(3)} for ${name}`).join(", ");
    setText(
      roc.note,
      hasBoth
        ? `Area ${each("auc")}: the chance that a random easy token has more confidence than a random critical one.`
        : missing,
    );
    setText(
      pr.note,
      hasBoth
        ? `Average precision ${each("average_precision")}; guessing would give ` +
            `${(1 - nEasy / view.analysis.n).toFixed(3)}, the share of critical tokens.`
        : missing,
    );
    const honest = `Calibration error ${each("ece")}; bars are 95% intervals.`;
    const prior =
      `The confidence of ${view.router} is meant for equal priors, as its card says: as if easy and ` +
      `critical tokens were equally many. Here ${percent(nEasy / view.analysis.n, 1)} are easy, so ` +
      "against natural frequencies it looks under-confident: points lie above the diagonal. That is " +
      "intended; the dash-dotted line is where an honest router for equal priors would lie.";
    setText(reliability.note, this.#equalPriors(view) ? `${honest} ${prior}` : honest);
    setText(
      histogram.note,
      `Left of τ the LLM writes. Heights are on a log scale: ${percent(nEasy / view.analysis.n, 1)} of ` +
        "the tokens are easy.",
    );
    for (const chart of this.charts) this.#fillTable(chart);
  }

  async #draw() {
    this.timer = null;
    const { shown } = this;
    if (!shown) return;
    try {
      const Plotly = await loadPlotly(this.plotlyUrl);
      for (const chart of this.charts) {
        const { data, layout } = chart.figure(this.#input(shown, chart.root));
        await Plotly.react(chart.plot, data, layout, CONFIG);
        chart.plot.setAttribute("aria-label", `${chart.title}. ${chart.note.textContent}`);
        chart.plot.dataset.drawn = "true";
      }
    } catch (error) {
      for (const chart of this.charts)
        setText(chart.note, `The chart could not be drawn (${messageOf(error)}); its numbers are below.`);
    }
  }

  /** @param {LabelChart} chart */
  #fillTable(chart) {
    if (!chart.details.open || !this.shown) return;
    const { head, rows } = chart.figure(this.#input(this.shown, chart.root)).table;
    chart.table.replaceChildren(
      html(
        "table",
        { class: "cl-table" },
        html("caption", { class: "cl-sr" }, chart.title),
        html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map((value) => html("td", {}, value))))),
      ),
    );
  }
}
