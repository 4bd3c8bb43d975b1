/**
 * The confidences of a run as a small stacked histogram, drawn behind the tau slider.
 *
 * Must not know the viewer: the slider lives elsewhere on the page. Bars are stacked by the recorded writer, so what
 * lies on the wrong side of a moved tau is what would flip. `drawHistogram` is called on every slider step and then
 * only moves a line.
 */

import { svg } from "./dom.js";
import { plural, formatTau } from "../run/format.js";

export const HISTOGRAM_BINS = 40;
const HIST_WIDTH = 400;
const HIST_HEIGHT = 64;

/**
 * Counts confidences in equal bins over [0, 1]; exactly 1 belongs to the last.
 * @param {TokenEvent[]} events
 * @returns {{slm: number[], llm: number[], max: number}}
 */
export function binConfidences(events, nBins = HISTOGRAM_BINS) {
  const slm = Array.from({ length: nBins }, () => 0);
  const llm = Array.from({ length: nBins }, () => 0);
  for (const event of events) {
    const bin = Math.max(0, Math.min(nBins - 1, Math.floor(event.slm_confidence * nBins)));
    (event.source === "llm" ? llm : slm)[bin]++;
  }
  const max = slm.reduce((most, count, bin) => Math.max(most, count + llm[bin]), 0);
  return { slm, llm, max };
}

/**
 * Square root: most confidences crowd near 1, and the few in the middle are the ones that matter.
 * @param {number} count
 * @param {number} max
 */
const barHeight = (count, max) => (max ? (HIST_HEIGHT - 4) * Math.sqrt(count / max) : 0);

/**
 * @typedef {Object} DrawnHistogram
 * @property {SVGSVGElement} root
 * @property {SVGPathElement} slm
 * @property {SVGPathElement} llm
 * @property {SVGLineElement} line
 * @property {TokenEvent[]|null} events
 * @property {number} n
 */

/** @type {WeakMap<HTMLElement, DrawnHistogram>} */
const drawn = new WeakMap();

/**
 * Draws or updates the histogram in `container`.
 * @param {HTMLElement} container
 * @param {TokenEvent[]} events
 * @param {number} tau
 */
export function drawHistogram(container, events, tau) {
  let plot = drawn.get(container);
  if (!plot || plot.root.parentNode !== container) {
    const slm = svg("path", { class: "cv-hist-slm" });
    const llm = svg("path", { class: "cv-hist-llm" });
    const base = svg("line", {
      class: "cv-hist-base",
      x1: 0,
      x2: HIST_WIDTH,
      y1: HIST_HEIGHT,
      y2: HIST_HEIGHT,
      "vector-effect": "non-scaling-stroke",
    });
    const line = svg("line", { class: "cv-hist-tau", y1: 0, y2: HIST_HEIGHT, "vector-effect": "non-scaling-stroke" });
    const root = svg(
      "svg",
      { role: "img", viewBox: `0 0 ${HIST_WIDTH} ${HIST_HEIGHT}`, preserveAspectRatio: "none" },
      base,
      slm,
      llm,
      line,
    );
    container.classList.add("citer-histogram");
    container.replaceChildren(root);
    plot = { root, slm, llm, line, events: null, n: -1 };
    drawn.set(container, plot);
  }
  if (plot.events !== events || plot.n !== events.length) {
    const bins = binConfidences(events);
    const paths = { slm: "", llm: "" };
    const step = HIST_WIDTH / HISTOGRAM_BINS;
    for (let bin = 0; bin < HISTOGRAM_BINS; bin++) {
      const total = bins.slm[bin] + bins.llm[bin];
      if (!total) continue;
      const full = Math.max(3, barHeight(total, bins.max));
      const llmPart = (full * bins.llm[bin]) / total;
      const x = bin * step + 0.5;
      if (bins.llm[bin]) paths.llm += `M${x} ${HIST_HEIGHT}h${step - 1}v${-llmPart}h${1 - step}z`;
      if (bins.slm[bin]) paths.slm += `M${x} ${HIST_HEIGHT - llmPart}h${step - 1}v${llmPart - full}h${1 - step}z`;
    }
    plot.slm.setAttribute("d", paths.slm);
    plot.llm.setAttribute("d", paths.llm);
    plot.events = events;
    plot.n = events.length;
  }
  plot.line.setAttribute("x1", String(tau * HIST_WIDTH));
  plot.line.setAttribute("x2", String(tau * HIST_WIDTH));
  const below = events.reduce((count, event) => count + (event.slm_confidence < tau ? 1 : 0), 0);
  plot.root.setAttribute(
    "aria-label",
    `SLM confidences of this run, ${plural(events.length, "token")}, bar heights by square root; ` +
      `${below} below tau ${formatTau(tau)}`,
  );
}
