/**
 * The cost line: what the run has moved so far, beside either model alone; an estimate, and it says so.
 *
 * Must not know tokens' text or the routing rule: it reads running totals. Hover calls back with a token index, so the
 * page can link it to the text. Lines are thinned to a few hundred points, so a repaint costs the same at any length.
 */

import { html, overTokens, setAttributes, setText, svg } from "./dom.js";
import { largeButton } from "./large.js";
import { quantity, significant, unitFor } from "../run/format.js";
import { samplePoints } from "../run/series.js";

/** @type {Record<Metric, string>} */
const METRIC_NAMES = { bytes: "memory transfer", flops: "arithmetic", seconds: "time" };
/** @type {Record<Metric, string>} */
const TOGGLE_NAMES = { bytes: "Bytes", flops: "FLOPs", seconds: "Seconds" };
/** @type {Record<Metric, (device: DeviceSpec) => string>} */
const METHOD_NOTES = {
  bytes: () => "By formula: every forward streams the weights once and reads and writes the KV cache.",
  flops: () => "By formula: two operations per parameter and token, plus attention.",
  seconds: (device) => `By formula: the slower of memory and arithmetic on ${device.name}.`,
};
/** @type {Record<CostLine, string>} */
const LINE_NAMES = { routed: "Routed", slmOnly: "SLM only", llmOnly: "LLM only" };
const METRICS_SHOWN = /** @type {Metric[]} */ (Object.keys(TOGGLE_NAMES));
const CHART_LINES = /** @type {CostLine[]} */ (Object.keys(LINE_NAMES));
const CHART_HEIGHT = 232;
const LABEL_GAP = 35;

/** About `count` round values from 0 up to `max`. @param {number} max */
export function niceTicks(max, count = 4) {
  if (!(max > 0)) return [0];
  const rough = max / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough) ?? power * 10;
  const ticks = [];
  for (let i = 0; i * step <= max * 1.0001; i++) ticks.push(i * step);
  return ticks;
}

/**
 * Moves label positions apart by `gap`, keeping their order and staying in [low, high].
 * @param {number[]} positions
 * @param {number} gap
 * @param {number} low
 * @param {number} high
 */
export function spreadLabels(positions, gap, low, high) {
  const order = positions.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  let previous = low - gap;
  for (const label of order) previous = label.y = Math.max(label.y, previous + gap);
  let next = high + gap;
  for (const label of order.reverse()) next = label.y = Math.min(label.y, next - gap);
  const spread = new Array(positions.length);
  for (const { y, i } of order) spread[i] = y;
  return spread;
}

/**
 * @typedef {Object} ChartScale where the numbers of a chart lie, in pixels
 * @property {number} left
 * @property {number} top
 * @property {number} plotWidth
 * @property {number} plotHeight
 * @property {number} max
 * @property {{scale: number, name: string}} unit
 * @property {(k: number) => number} x
 * @property {(value: number) => number} y
 */

let nextId = 0;

export class Chart {
  /**
   * @param {{onHover: (index: number|null) => void, onPick: (index: number) => void, onMetric: (metric: Metric) =>
   *   void}} on
   */
  constructor(on) {
    /** @type {Metric} */
    this.metric = "bytes";
    this.width = 0;
    /** @type {RunView|null} */
    this.view = null;
    /** @type {ChartScale|null} */
    this.scale = null;
    this.axisKey = "";
    const id = `cv-chart-${nextId++}`;
    this.title = html("h2", { class: "cv-heading", id: `${id}-title` });
    this.note = html("p", { class: "cv-caption" });
    this.readout = html("p", { class: "cv-readout" });
    /** @type {HTMLElement[]} */
    const toggles = METRICS_SHOWN.map((metric, k) => {
      const onclick = () => {
        this.metric = metric;
        toggles.forEach((other, place) => other.setAttribute("aria-pressed", String(place === k)));
        on.onMetric(metric);
      };
      const pressed = String(metric === this.metric);
      const how = { type: "button", class: "cv-segment", "aria-pressed": pressed, onclick };
      return html("button", how, TOGGLE_NAMES[metric]);
    });
    this.grid = svg("g", { class: "cv-grid" });
    this.axis = svg("g", { class: "cv-axis" });
    this.clipRect = svg("rect", { x: 0, y: -8, height: CHART_HEIGHT });
    /** @type {Record<string, SVGPathElement>} */
    this.lines = {};
    const plot = svg("g", { "clip-path": `url(#${id}-clip)` });
    for (const name of ["llmOnly", "slmOnly", "recorded", "routed", "hypothetical"]) {
      plot.append((this.lines[name] = svg("path", { class: `cv-line cv-line-${name}` })));
    }
    /** @type {Record<string, {text: SVGTextElement, value: SVGTSpanElement}>} */
    this.labels = {};
    const labelGroup = svg("g");
    for (const name of CHART_LINES) {
      const value = svg("tspan", { class: "cv-label-value", dy: "1.25em" });
      const text = svg("text", { class: `cv-label cv-label-${name}` }, svg("tspan", {}, LINE_NAMES[name]), value);
      this.labels[name] = { text, value };
      labelGroup.append(text);
    }
    this.cursor = svg("line", { class: "cv-chart-cursor", visibility: "hidden" });
    this.dots = CHART_LINES.map((name) =>
      svg("circle", { class: `cv-dot cv-dot-${name}`, r: 3.5, visibility: "hidden" }),
    );
    /** @param {MouseEvent} event */
    const indexAt = (event) => {
      if (!this.view || !this.scale) return null;
      const { left, width } = this.svg.getBoundingClientRect(); // which may be larger than it is drawn
      const x = ((event.clientX - left) * this.width) / width - this.scale.left;
      const k = Math.round((x / this.scale.plotWidth) * this.view.domain);
      return x >= -6 && k <= this.view.shown ? Math.max(0, Math.min(this.view.shown - 1, k - 1)) : null;
    };
    const names = { role: "img", "aria-labelledby": `${id}-title ${id}-desc` };
    this.svg = svg("svg", { class: "cv-chart-svg", ...names, height: CHART_HEIGHT, ...overTokens(indexAt, on) }, [
      svg("defs", {}, svg("clipPath", { id: `${id}-clip` }, this.clipRect)),
      this.grid,
      this.axis,
      plot,
      this.cursor,
      ...this.dots,
      labelGroup,
    ]);
    this.description = html("span", { class: "cv-sr", id: `${id}-desc` });
    this.root = html("section", { class: "cv-chart cv-panel", "aria-labelledby": `${id}-title` }, [
      html("div", { class: "cv-row" }, [
        this.title,
        html("div", { class: "cv-segments", role: "group", "aria-label": "Unit of the chart" }, ...toggles),
        largeButton("The chart"),
      ]),
      this.readout,
      this.svg,
      this.description,
      this.note,
    ]);
    this.resizer = new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (width === this.width || width === 0) return;
      this.width = width;
      if (this.view) this.update(this.view);
    });
    this.resizer.observe(this.root);
  }

  destroy() {
    this.resizer.disconnect();
  }

  /** @param {RunView} view */
  update(view) {
    this.view = view;
    setText(this.title, `Estimated ${METRIC_NAMES[this.metric]}, cumulative`);
    setText(this.note, view.head ? view.priceLabel + METHOD_NOTES[this.metric](view.costModel.device) : "");
    if (!this.width) return; // the observer draws it: to ask for the width here would cost a layout of the whole page
    const { series, metric } = { series: view.series, metric: this.metric };
    const narrow = this.width < 520;
    const n = series.length;
    const end = Math.max(series.at("routed", metric), series.at("llmOnly", metric), series.at("slmOnly", metric));
    const max = (end || 1) * (view.live ? view.domain / Math.max(1, n) : 1);
    const left = 64;
    const top = 14;
    const plotWidth = this.width - left - (narrow ? 78 : 92);
    const plotHeight = CHART_HEIGHT - top - 40;
    const ceiling = max * 1.03;
    /** @param {number} k */
    const x = (k) => left + (k / view.domain) * plotWidth;
    /** @param {number} value */
    const y = (value) => top + plotHeight * (1 - value / ceiling);
    const unit = unitFor(metric, end || 1);
    const scale = { left, top, plotWidth, plotHeight, max: ceiling, unit, x, y };
    this.scale = scale;
    setAttributes(this.svg, { width: this.width, viewBox: `0 0 ${this.width} ${CHART_HEIGHT}` });
    this.#drawAxes(view, scale, narrow);

    /** @param {RunSeries} source @param {CostLine} line @param {number} from @param {number} to */
    const trace = (source, line, from, to) => {
      let d = "";
      for (const k of samplePoints(to))
        if (k >= from) d += `${d ? "L" : "M"}${x(k).toFixed(1)} ${y(source.at(line, metric, k)).toFixed(1)}`;
      return d;
    };
    // Where the text may be another one, its price is hypothetical too.
    const exact = Math.min(n, view.decisions.nExact);
    this.lines.llmOnly.setAttribute("d", trace(series, "llmOnly", 0, n));
    this.lines.slmOnly.setAttribute("d", trace(series, "slmOnly", 0, n));
    this.lines.routed.setAttribute("d", trace(series, "routed", 0, exact));
    this.lines.hypothetical.setAttribute("d", exact < n ? trace(series, "routed", exact, n) : "");
    const flip = view.decisions.firstFlip;
    this.lines.recorded.setAttribute("d", flip >= 0 ? trace(view.ownSeries, "routed", flip, n) : "");
    this.moved(view);
  }

  /** @param {RunView} view @param {ChartScale} scale @param {boolean} narrow */
  #drawAxes(view, scale, narrow) {
    const { x, y, left, top, plotWidth, plotHeight, unit } = scale;
    const key = [this.width, view.domain, scale.max, unit.name].join();
    if (key === this.axisKey) return;
    this.axisKey = key;
    this.grid.replaceChildren();
    this.axis.replaceChildren();
    const ticks = niceTicks(scale.max / unit.scale, 4);
    for (const tick of ticks) {
      const at = y(tick * unit.scale);
      const label = significant(tick)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "");
      this.grid.append(svg("line", { x1: left, x2: left + plotWidth, y1: at, y2: at }));
      this.axis.append(
        svg("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, [
          tick > 0 && tick === ticks.at(-1) ? `${label} ${unit.name}` : label,
        ]),
      );
    }
    for (const tick of niceTicks(view.domain, narrow ? 3 : 5)) {
      if (tick === 0 || tick > view.domain || !Number.isInteger(tick)) continue;
      this.axis.append(svg("text", { x: x(tick), y: top + plotHeight + 18, "text-anchor": "middle" }, String(tick)));
    }
    this.axis.append(svg("text", { x: left, y: top + plotHeight + 18, "text-anchor": "start" }, "tokens"));
    this.clipRect.setAttribute("x", String(left - 2));
  }

  /** The cheap part: playback and the chosen token. @param {RunView} view */
  moved(view) {
    if (!this.scale) return;
    const { x, y, top, plotWidth, plotHeight, left } = this.scale;
    const { series } = view;
    const k = view.shown;
    this.clipRect.setAttribute("width", String(k < series.length ? Math.max(0, x(k) - left + 2) : plotWidth + 8));
    const names = CHART_LINES;
    const spread = spreadLabels(
      names.map((name) => y(series.at(name, this.metric, k))),
      LABEL_GAP,
      top,
      top + plotHeight - 12,
    );
    names.forEach((name, i) => {
      const { text, value } = this.labels[name];
      const at = x(k) + 8;
      const visibility = series.length ? "visible" : "hidden";
      setAttributes(text, { x: at.toFixed(1), y: spread[i].toFixed(1), visibility });
      setAttributes(value, { x: at.toFixed(1) });
      setText(value, quantity(this.metric, series.at(name, this.metric, k)));
    });
    setText(
      this.description,
      names.map((name) => `${LINE_NAMES[name]} ${this.labels[name].value.textContent}`).join(", "),
    );
    const at = view.focus === null || view.focus >= k ? null : view.focus + 1;
    for (const node of [this.cursor, ...this.dots]) node.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) {
      setText(this.readout, "");
      return;
    }
    const cx = x(at).toFixed(1);
    setAttributes(this.cursor, { x1: cx, x2: cx, y1: top, y2: top + plotHeight });
    names.forEach((name, i) => setAttributes(this.dots[i], { cx, cy: y(series.at(name, this.metric, at)).toFixed(1) }));
    const values = names.map(
      (name) =>
        `${LINE_NAMES[name].replace("Routed", "routed")} ${quantity(this.metric, series.at(name, this.metric, at))}`,
    );
    setText(this.readout, `After token ${at}: ${values.join(" · ")}`);
  }
}
