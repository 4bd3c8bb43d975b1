/**
 * Accuracy against cost as plotly's data and layout, a row of its table, and a point's address.
 *
 * Pure: must not know the DOM or plotly itself. Series differ by dash and marker too, never by colour alone.
 *
 * @typedef {Object} EvidencePoint a router at one tau; null is not measured
 * @property {string} router
 * @property {string} label
 * @property {Partial<Settings>} settings beside tau
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
 *
 * @typedef {Object} Series a curve, or the line of a model alone
 * @property {string} label
 * @property {string} router its name, which is the same of every pair, as labels are not
 * @property {EvidencePoint[]} points in the order of their cost
 * @property {boolean} isAlone
 * @property {boolean} isFirst whether it is shown until it is hidden
 * @property {boolean} hasLine
 * @property {"slm"|"llm"|"cost"|"muted"} tone of the palette
 * @property {string} dash
 * @property {string|null} symbol
 */

import { buildLink } from "../app/link.js";
import { csvText } from "../run/csv.js";
import { formatTau, percent, significant } from "../run/format.js";
import { errorBars, layoutOf, scatter } from "../viewer/plot_look.js";
import { DASHES, MARKS } from "./curve_marks.js";

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
const [SYMBOLS, DASH_NAMES] = [Object.keys(MARKS), Object.keys(DASHES)];
/** Shown at once beside the best: the router of the paper, the baseline that needs no training, and looking back. */
const FIRST = ["citer", "max-probability", "Look-back: doubts of outcome labels"];

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

/** @param {string} router @returns {Series["tone"]} */
function toneOf(router) {
  if (router.includes("outcome") || router === "decisive") return "cost";
  if (router.startsWith("citer") || router === "always-llm") return "llm";
  if (/^(always-slm|max-probability|entropy|margin|bidirectional-entropy)$/.test(router)) return "slm";
  return "muted";
}

/**
 * All that the chart could show: either model alone, then the curves, each with its own look.
 * @param {EvidencePoint[]} points of one kind of problem
 * @param {AxisName} axis
 * @param {string} [best] the label of one that is shown at once whatever its name
 * @returns {Series[]}
 */
export function seriesOf(points, axis, best = "") {
  const alone = points.filter(isAlone).map((point) => ({
    label: point.label,
    router: point.router,
    points: [point],
    isAlone: true,
    isFirst: true,
    hasLine: true,
    tone: toneOf(point.router),
    dash: "dot",
    symbol: null,
  }));
  // By its place among all, so that a curve looks the same on every axis.
  const labels = [...new Set(points.filter((point) => !isAlone(point)).map((point) => point.label))];
  const curves = curvesOf(points, axis).map((curve) => {
    const [{ label, settings }] = curve;
    const router = Object.keys(settings).length ? label : curve[0].router; // who looks back is not who routes
    const k = labels.indexOf(label);
    return {
      label,
      router,
      points: curve,
      isAlone: false,
      isFirst: FIRST.includes(router) || label === best,
      hasLine: curve.length > 1,
      tone: toneOf(router),
      dash: DASH_NAMES[k % DASH_NAMES.length],
      symbol: SYMBOLS[k % SYMBOLS.length],
    };
  });
  return [...alone, ...curves];
}

/**
 * @param {Series[]} shown
 * @param {EvidencePoint[]} points whose places in this list `customdata` names
 * @param {AxisName} axis
 * @param {ChartPalette} palette
 */
export function curvesFigure(shown, points, axis, palette) {
  const { title, isShare } = AXES[axis];
  const curves = shown.filter((series) => !series.isAlone).flatMap((series) => series.points);
  const most = Math.max(0, ...curves.map((point) => Number(point[axis]))) || 1;
  const data = shown.map((series) =>
    series.isAlone ? lineOf(series, most, palette) : curveOf(series, points, axis, palette),
  );
  const shares = { tickformat: ".0%" };
  /** Of an empty chart plotly would invent axes. @param {number} end */
  const upTo = (end) => (data.length ? {} : { range: [0, end] });
  return {
    data,
    layout: layoutOf(
      palette,
      { title, rangemode: "tozero", ...(isShare ? shares : {}), ...upTo(most) },
      { title: "right answers, with 95% intervals", ...shares, ...upTo(1) },
      { height: 400, hovermode: "closest", showlegend: false },
    ),
  };
}

/** @param {Series} series @param {number} most @param {ChartPalette} palette */
function lineOf({ label, points: [point], tone, dash }, most, palette) {
  return scatter("lines", label, [0, most * 1.04], [point.accuracy, point.accuracy], {
    line: { color: palette[tone], width: 1.5, dash },
    hovertemplate: `${sentenceOf(point)}<extra></extra>`,
  });
}

/** @param {Series} series @param {EvidencePoint[]} points @param {AxisName} axis @param {ChartPalette} palette */
function curveOf({ label, points: curve, hasLine, tone, dash, symbol }, points, axis, palette) {
  const color = palette[tone];
  const of = (/** @type {"accuracy"|"low"|"high"} */ name) => curve.map((point) => point[name]);
  const costs = curve.map((point) => point[axis]);
  return scatter(hasLine ? "lines+markers" : "markers", label, costs, of("accuracy"), {
    customdata: curve.map((point) => points.indexOf(point)),
    error_y: errorBars(of("accuracy"), of("low"), of("high"), { thickness: 1, width: 3 }),
    line: { color, width: 2, dash },
    marker: { color, size: 9, symbol },
    text: curve.map((point) => sentenceOf(point)),
    hovertemplate: "%{text}<extra></extra>",
  });
}

/** Four decimals are enough to be read; what it opens has them all. @param {number} tau */
const tauText = (tau) => formatTau(Number(tau.toFixed(4)));

/** The settings beside tau. @param {EvidencePoint} point */
const settingsText = (point) =>
  Object.entries(point.settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

/** A point in words. @param {EvidencePoint} point */
export function sentenceOf(point) {
  const where = point.share === null ? "" : `, ${percent(point.share)} LLM tokens`;
  const others = settingsText(point);
  const tau = others ? ` with ${others}` : point.tau === null ? "" : ` at τ = ${tauText(point.tau)}`;
  const right = `${Math.round(point.right * 10) / 10} of ${point.n} right`;
  const seeds = point.seeds > 1 ? `, mean of ${point.seeds} training seeds` : "";
  return (
    `${point.label}${tau}: ${right} (${percent(point.accuracy)}, ` +
    `${percent(point.low)} to ${percent(point.high)})${where}${seeds}`
  );
}

/** What a point opens in Explore. @param {string} base @param {EvidencePoint} point @param {Asked} problem */
export function addressOf(base, point, problem) {
  const settings = { ...problem.settings, ...point.settings, threshold: point.tau ?? 0 };
  return buildLink(base, {
    preset: null,
    problem: { ...problem, router: point.router, settings },
    dials: point.tau === null ? {} : { threshold: point.tau },
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
  ["settings", "other settings"],
]);
const FOR_MACHINES = ["router", "seeds", "share_wanted"];
const SHARES = ["share", "accuracy", "low", "high", "bytes_share"];

/** Heading and cells of the chart's table; what was not measured says so. @param {EvidencePoint[]} points */
export function tableOf(points) {
  /** @param {EvidencePoint} point @param {keyof EvidencePoint} name */
  const cell = (point, name) => {
    const value = point[name];
    if (value === null) return "not measured";
    if (name === "settings") return settingsText(point);
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

/**
 * The same as CSV; a field that was not measured is empty. A quotient has 15 digits (0.9, not 0.8999999999999999), tau
 * all.
 * @param {EvidencePoint[]} points
 */
export function csvOf(points) {
  const names = /** @type {(keyof EvidencePoint)[]} */ ([...COLUMNS.map(([name]) => name), ...FOR_MACHINES]);
  return csvText(
    names,
    points.map((point) =>
      names.map((name) => {
        const value = name === "settings" ? settingsText(point) : point[name];
        return typeof value === "number" && name !== "tau" ? Number(value.toPrecision(15)) : value;
      }),
    ),
  );
}
