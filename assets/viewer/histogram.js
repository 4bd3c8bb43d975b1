/**
 * The confidences of a run as a small histogram over the tau slider: what is left of tau in the LLM's colour, what is
 * right of it in the SLM's, as the rule has it.
 *
 * Must not know the viewer: the slider lives elsewhere on the page. The bars are drawn once, in both colours; a step of
 * the slider only moves the edge between the two.
 */

import { setAttributes, svg } from "./dom.js";
import { plural, formatTau } from "../run/format.js";

export const HISTOGRAM_BINS = 40;
const HIST_WIDTH = 400;
const HIST_HEIGHT = 64;

/**
 * Counts confidences in equal bins over [0, 1]; exactly 1 belongs to the last.
 * @param {TokenEvent[]} events
 * @returns {{counts: number[], max: number}}
 */
export function binConfidences(events, nBins = HISTOGRAM_BINS) {
  const counts = Array.from({ length: nBins }, () => 0);
  for (const event of events) counts[Math.max(0, Math.min(nBins - 1, Math.floor(event.slm_confidence * nBins)))]++;
  return { counts, max: counts.reduce((most, count) => Math.max(most, count), 0) };
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
 * @property {SVGSVGElement} left the bars below tau: a frame that cuts them off there
 * @property {SVGSVGElement} right
 * @property {SVGPathElement[]} bars the same bars, in either colour
 * @property {SVGLineElement} line
 * @property {TokenEvent[]|null} events
 * @property {number} n
 */

/** @type {WeakMap<HTMLElement, DrawnHistogram>} */
const drawn = new WeakMap();

/** @param {HTMLElement} container @returns {DrawnHistogram} */
function emptyHistogram(container) {
  const bars = ["llm", "slm"].map((writer) => svg("path", { class: `cv-hist-${writer}` }));
  const frame = { y: 0, height: HIST_HEIGHT, preserveAspectRatio: "none" };
  const left = svg("svg", { ...frame, x: 0 }, bars[0]);
  const right = svg("svg", frame, bars[1]);
  const ends = { x1: 0, x2: HIST_WIDTH, y1: HIST_HEIGHT, y2: HIST_HEIGHT };
  const base = svg("line", { class: "cv-hist-base", ...ends, "vector-effect": "non-scaling-stroke" });
  const line = svg("line", { class: "cv-hist-tau", y1: 0, y2: HIST_HEIGHT, "vector-effect": "non-scaling-stroke" });
  const size = { viewBox: `0 0 ${HIST_WIDTH} ${HIST_HEIGHT}`, preserveAspectRatio: "none" };
  const root = svg("svg", { role: "img", ...size }, base, left, right, line);
  container.classList.add("citer-histogram");
  container.replaceChildren(root);
  return { root, left, right, bars, line, events: null, n: -1 };
}

/** @param {TokenEvent[]} events */
function barsOf(events) {
  const { counts, max } = binConfidences(events);
  const step = HIST_WIDTH / HISTOGRAM_BINS;
  return counts
    .map((count, bin) => {
      const height = count ? Math.max(3, barHeight(count, max)) : 0;
      return count ? `M${bin * step + 0.5} ${HIST_HEIGHT}h${step - 1}v${-height}h${1 - step}z` : "";
    })
    .join("");
}

/**
 * Draws or updates the histogram in `container`.
 * @param {HTMLElement} container
 * @param {TokenEvent[]} events
 * @param {number} tau
 */
export function drawHistogram(container, events, tau) {
  let plot = drawn.get(container);
  if (!plot || plot.root.parentNode !== container) drawn.set(container, (plot = emptyHistogram(container)));
  if (plot.events !== events || plot.n !== events.length) {
    const path = barsOf(events);
    for (const bars of plot.bars) bars.setAttribute("d", path);
    plot.events = events;
    plot.n = events.length;
  }
  const edge = tau * HIST_WIDTH;
  const rest = HIST_WIDTH - edge;
  setAttributes(plot.left, { width: edge, viewBox: `0 0 ${edge} ${HIST_HEIGHT}` });
  setAttributes(plot.right, { x: edge, width: rest, viewBox: `${edge} 0 ${rest} ${HIST_HEIGHT}` });
  setAttributes(plot.line, { x1: edge, x2: edge });
  const below = events.reduce((count, event) => count + (event.slm_confidence < tau ? 1 : 0), 0);
  plot.root.setAttribute(
    "aria-label",
    `SLM confidences of this run, ${plural(events.length, "token")}, bar heights by square root; ` +
      `${below} below τ ${formatTau(tau)}`,
  );
}
