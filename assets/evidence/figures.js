/**
 * Accuracy against cost as plotly's data and layout, a row of its table, and a point's address.
 *
 * Pure: must not know the DOM or plotly itself. Series differ by dash and marker too, never by colour alone.
 *
 * @typedef {Object} EvidencePoint a router at one tau; null is not measured
 * @property {string} router
 * @property {string} label
 * @property {number} seeds
 * @property {number|null} share_wanted
 * @property {number|null} tau
 * @property {number|null} share
 * @property {number} n
 * @property {number} right
 * @property {number} accuracy
 * @property {number} low
 * @property {number} high
 * @property {number|null} bytes_share
 * @property {number|null} gb
 * @property {number|null} tflop
 * @property {number|null} seconds
 * @property {number|null} seconds_alone of answers that had the models to themselves
 * @property {boolean} opens whether the page has this router
 *
 * @typedef {"share"|"bytes_share"|"gb"|"tflop"|"seconds"|"seconds_alone"} AxisName
 */

import { buildLink } from "../page/link.js";
import { csvText } from "../run/csv.js";
import { formatTau, percent, significant } from "../run/format.js";
import { layoutOf } from "../viewer/plot_look.js";

/** @type {Record<AxisName, {button: string, title: string, isShare: boolean}>} */
export const AXES = {
  share: { button: "LLM tokens", title: "tokens written by the LLM", isShare: true },
  bytes_share: { button: "Bytes", title: "estimated bytes, of the LLM alone", isShare: true },
  gb: { button: "GB", title: "estimated GB an answer", isShare: false },
  tflop: { button: "TFLOP", title: "estimated TFLOP an answer", isShare: false },
  seconds: { button: "Seconds", title: "measured seconds an answer, in passes that answers share", isShare: false },
  seconds_alone: { button: "Seconds, one at a time", title: "measured seconds of an answer by itself", isShare: false },
};
const AXIS_NAMES = /** @type {AxisName[]} */ (Object.keys(AXES));
const ALONE = ["always-slm", "always-llm"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star", "pentagon"];
/** Shown at once; the others wait in the legend. */
const FIRST =
  /^(citer|citer-plus|citer-\d|citer-plus-\d|citer-outcome|max-probability|co-llm|random|decisive|speculative)$/;

/** Axes on which something was measured. @param {EvidencePoint[]} points */
export const axesOf = (points) => AXIS_NAMES.filter((name) => points.some((p) => !isAlone(p) && p[name] !== null));

/** @param {EvidencePoint} point */
const isAlone = (point) => ALONE.includes(point.router);

/**
 * Points of each router in the order of their cost, as a curve; either model alone is none.
 * @param {EvidencePoint[]} points
 * @param {AxisName} axis
 * @returns {EvidencePoint[][]}
 */
export function curvesOf(points, axis) {
  /** @type {Map<string, EvidencePoint[]>} */
  const curves = new Map();
  for (const point of points) {
    if (isAlone(point) || point[axis] === null) continue;
    curves.set(point.label, [...(curves.get(point.label) ?? []), point]);
  }
  return [...curves.values()].map((curve) => curve.sort((a, b) => Number(a[axis]) - Number(b[axis])));
}

/** @param {string} router @param {ChartPalette} palette */
function colorOf(router, palette) {
  if (router.includes("outcome") || router === "decisive") return palette.cost;
  if (router.startsWith("citer")) return palette.llm;
  if (/^(max-probability|entropy|margin|bidirectional-entropy)$/.test(router)) return palette.slm;
  return palette.muted;
}

/**
 * @param {EvidencePoint[]} points of one kind of problem
 * @param {AxisName} axis
 * @param {ChartPalette} palette
 */
export function curvesFigure(points, axis, palette) {
  const { title, isShare } = AXES[axis];
  const curves = curvesOf(points, axis);
  const data = curves.map((curve, k) => {
    const color = colorOf(curve[0].router, palette);
    return {
      type: "scatter",
      mode: curve.length > 1 ? "lines+markers" : "markers",
      name: curve[0].label,
      visible: FIRST.test(curve[0].router) ? true : "legendonly",
      x: curve.map((point) => point[axis]),
      y: curve.map((point) => point.accuracy),
      customdata: curve.map((point) => points.indexOf(point)),
      error_y: {
        type: "data",
        symmetric: false,
        array: curve.map((point) => point.high - point.accuracy),
        arrayminus: curve.map((point) => point.accuracy - point.low),
        thickness: 1,
        width: 3,
      },
      line: { color, width: 2, dash: ["solid", "dash", "dot", "dashdot"][k % 4] },
      marker: { color, size: 9, symbol: SYMBOLS[k % SYMBOLS.length] },
      text: curve.map((point) => sentenceOf(point)),
      hovertemplate: "%{text}<extra></extra>",
    };
  });
  const most = Math.max(0, ...curves.flat().map((point) => Number(point[axis])));
  const lines = points.filter(isAlone).map((point) => ({
    type: "scatter",
    mode: "lines",
    name: point.label,
    x: [0, most * 1.04],
    y: [point.accuracy, point.accuracy],
    line: { color: point.router === "always-slm" ? palette.slm : palette.llm, width: 1.5, dash: "dot" },
    hovertemplate: `${sentenceOf(point)}<extra></extra>`,
  }));
  const shares = { tickformat: ".0%" };
  return {
    data: [...lines, ...data],
    layout: layoutOf(
      palette,
      { title, rangemode: "tozero", ...(isShare ? shares : {}) },
      { title: "right answers, with 95% intervals", ...shares },
      {
        height: 460,
        hovermode: "closest",
        legend: { orientation: "h", x: 0, y: -0.2, yanchor: "top", font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" },
      },
    ),
  };
}

/** Four decimals are enough to be read; what it opens has them all. @param {number} tau */
const tauText = (tau) => formatTau(Number(tau.toFixed(4)));

/** A point in words. @param {EvidencePoint} point */
export function sentenceOf(point) {
  const where = point.share === null ? "" : `, ${percent(point.share)} LLM tokens`;
  const tau = point.tau === null ? "" : ` at τ = ${tauText(point.tau)}`;
  const right = `${Math.round(point.right * 10) / 10} of ${point.n} right`;
  const seeds = point.seeds > 1 ? `, mean of ${point.seeds} training seeds` : "";
  return (
    `${point.label}${tau}: ${right} (${percent(point.accuracy)}, ` +
    `${percent(point.low)} to ${percent(point.high)})${where}${seeds}`
  );
}

/** What a point opens in Explore. @param {string} base @param {EvidencePoint} point @param {Asked} problem */
export function addressOf(base, point, problem) {
  const settings = { ...problem.settings, threshold: point.tau ?? 0 };
  return buildLink(base, {
    preset: null,
    problem: { ...problem, router: point.router, settings },
    tau: point.tau,
    token: null,
  });
}

const COLUMNS = /** @type {[keyof EvidencePoint, string][]} */ ([
  ["label", "router"],
  ["tau", "τ"],
  ["share", "LLM tokens"],
  ["right", "right"],
  ["n", "of"],
  ["accuracy", "right, %"],
  ["low", "95% from"],
  ["high", "to"],
  ["bytes_share", "bytes, of LLM alone"],
  ["gb", "GB an answer"],
  ["tflop", "TFLOP an answer"],
  ["seconds", "s an answer"],
  ["seconds_alone", "s one at a time"],
]);
const FOR_MACHINES = ["router", "seeds", "share_wanted"];
const SHARES = ["share", "accuracy", "low", "high", "bytes_share"];

/** Heading and cells of the chart's table; what was not measured says so. @param {EvidencePoint[]} points */
export function tableOf(points) {
  /** @param {EvidencePoint} point @param {keyof EvidencePoint} name */
  const cell = (point, name) => {
    const value = point[name];
    if (value === null) return "not measured";
    if (typeof value !== "number") return String(value);
    if (name === "tau") return tauText(value);
    if (name === "n" || name === "right") return String(Math.round(value * 10) / 10);
    return SHARES.includes(name) ? percent(value) : significant(value);
  };
  return {
    head: COLUMNS.map(([, title]) => title),
    rows: points.map((point) => COLUMNS.map(([name]) => cell(point, name))),
  };
}

/** The same as CSV, with all digits; a field that was not measured is empty. @param {EvidencePoint[]} points */
export function csvOf(points) {
  const names = /** @type {(keyof EvidencePoint)[]} */ ([...COLUMNS.map(([name]) => name), ...FOR_MACHINES]);
  return csvText(
    names,
    points.map((point) => names.map((name) => point[name])),
  );
}
