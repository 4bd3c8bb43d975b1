/**
 * The four charts as plotly's data and layout, and as the numbers of the table below each.
 *
 * Pure: must not know the DOM or plotly itself. Colours come in as a palette, so one figure serves both themes; series
 * differ by dash, marker or pattern too, never by colour alone.
 *
 * @typedef {ChartPalette & {risk: string, waste: string, slmFill: string, llmFill: string}} Palette
 * @typedef {import("./analysis.js").Curves} Curves
 * @typedef {import("./verdict.js").Confusion} Confusion
 * @typedef {{x: number, y: number, tau: number}} CurvePoint
 * @typedef {Figure & {table: {head: string[], rows: string[][]}}} ChartFigure
 *
 * @typedef {Object} FigureView
 * @property {Curves[]} curves
 * @property {string[]} names of the routers, one for each of `curves`
 * @property {Confusion} now of the first router
 * @property {Confusion} best of the first router
 * @property {number} tau
 * @property {number} bestTau
 * @property {number} easyShare
 * @property {boolean} showShift
 * @property {Palette} palette
 */

import { formatTau, percent, probability } from "../run/format.js";
import { layoutOf } from "../viewer/plot_look.js";

const SMALL = { height: 270, margin: { l: 48, r: 10, t: 8, b: 40 } };

/** @param {number} value */
const share = (value) => percent(value, 1);

const unit = { range: [-0.02, 1.02], tickformat: ".0%" };

/**
 * Two marked points on a curve: where tau stands and where it costs least.
 * @param {Palette} palette
 * @param {CurvePoint} now
 * @param {CurvePoint} best
 */
function marks(palette, now, best) {
  /** @param {string} name @param {CurvePoint} at @param {string} symbol @param {string} color */
  const mark = (name, at, symbol, color) => ({
    type: "scatter",
    mode: "markers",
    name,
    x: [at.x],
    y: [at.y],
    marker: { size: 11, symbol, color, line: { width: 2, color: palette.surface } },
    hovertemplate: `${name}<br>τ ${formatTau(at.tau)}<extra></extra>`,
  });
  return [mark("τ now", now, "circle", palette.cost), mark("least cost", best, "star-diamond", palette.risk)];
}

/**
 * @param {Palette} palette
 * @param {boolean} first
 * @param {string} name
 * @param {number[][]} points
 * @param {number} x
 * @param {number} y
 * @param {string} words
 */
function line(palette, first, name, points, x, y, words) {
  return {
    type: "scatter",
    mode: "lines",
    name,
    x: points.map((p) => p[x]),
    y: points.map((p) => p[y]),
    line: { color: first ? palette.slm : palette.llm, width: 2, dash: first ? "solid" : "dash" },
    text: points.map((p) => formatTau(p[0])),
    hovertemplate: words,
  };
}

/** Shares at one tau, from a confusion. @param {Confusion} counts */
const rates = (counts) => ({
  wasted: counts.waste / Math.max(1, counts.waste + counts.kept),
  caught: counts.caught / Math.max(1, counts.caught + counts.risk),
  precision: counts.caught / Math.max(1, counts.caught + counts.waste),
});

/** @param {FigureView} view @returns {ChartFigure} */
export function rocFigure({ curves, names, now, best, tau, bestTau, palette }) {
  /** @param {Confusion} counts @param {number} t */
  const at = (counts, t) => ({ x: rates(counts).wasted, y: rates(counts).caught, tau: t });
  return {
    data: [
      {
        type: "scatter",
        mode: "lines",
        name: "chance",
        x: [0, 1],
        y: [0, 1],
        line: { color: palette.muted, width: 1, dash: "dot" },
        hoverinfo: "skip",
        showlegend: false,
      },
      ...curves.map((c, k) =>
        line(palette, k === 0, names[k], c.roc, 1, 2, "τ %{text}<br>caught %{y:.1%}<br>wasted %{x:.1%}<extra></extra>"),
      ),
      ...marks(palette, at(now, tau), at(best, bestTau)),
    ],
    layout: layoutOf(
      palette,
      { title: "easy tokens wasted", ...unit },
      { title: "critical tokens caught", ...unit },
      SMALL,
    ),
    table: {
      head: ["router", "τ", "easy wasted", "critical caught"],
      rows: curves.flatMap((c, k) => c.roc.map((p) => [names[k], formatTau(p[0]), share(p[1]), share(p[2])])),
    },
  };
}

/** @param {FigureView} view @returns {ChartFigure} */
export function prFigure({ curves, names, now, best, tau, bestTau, palette }) {
  /** @param {Confusion} counts @param {number} t */
  const at = (counts, t) => ({ x: rates(counts).caught, y: rates(counts).precision, tau: t });
  return {
    data: [
      ...curves.map((c, k) =>
        line(
          palette,
          k === 0,
          names[k],
          c.pr,
          1,
          2,
          "τ %{text}<br>critical among LLM tokens %{y:.1%}<br>caught %{x:.1%}<extra></extra>",
        ),
      ),
      ...marks(palette, at(now, tau), at(best, bestTau)),
    ],
    layout: layoutOf(
      palette,
      { title: "critical tokens caught (recall)", ...unit },
      { title: "critical among LLM tokens", ...unit },
      SMALL,
    ),
    table: {
      head: ["router", "τ", "caught (recall)", "precision"],
      rows: curves.flatMap((c, k) => c.pr.map((p) => [names[k], formatTau(p[0]), share(p[1]), share(p[2])])),
    },
  };
}

/**
 * What a router that is honest at equal priors shows where a share `easy` of all tokens prefers the SLM.
 * @param {number} confidence
 * @param {number} easy
 */
export function shifted(confidence, easy) {
  const odds = (confidence / (1 - confidence)) * (easy / (1 - easy));
  return odds / (1 + odds);
}

/** @param {FigureView} view @returns {ChartFigure} */
export function reliabilityFigure({ curves, names, easyShare, showShift, palette }) {
  const grid = Array.from({ length: 49 }, (_, i) => (i + 1) / 50);
  return {
    data: [
      {
        type: "scatter",
        mode: "lines",
        name: "honest",
        x: [0, 1],
        y: [0, 1],
        line: { color: palette.muted, width: 1, dash: "dot" },
        hoverinfo: "skip",
      },
      ...(showShift && easyShare > 0 && easyShare < 1
        ? [
            {
              type: "scatter",
              mode: "lines",
              name: "honest at equal priors",
              x: grid,
              y: grid.map((c) => shifted(c, easyShare)),
              line: { color: palette.muted, width: 1.5, dash: "dashdot" },
              hoverinfo: "skip",
            },
          ]
        : []),
      ...curves.map((c, k) => ({
        type: "scatter",
        mode: "lines+markers",
        name: names[k],
        x: c.reliability.map((r) => r[0]),
        y: c.reliability.map((r) => r[1]),
        error_y: {
          type: "data",
          symmetric: false,
          array: c.reliability.map((r) => r[3] - r[1]),
          arrayminus: c.reliability.map((r) => r[1] - r[2]),
          thickness: 1,
          width: 3,
          color: k ? palette.llm : palette.slm,
        },
        line: { color: k ? palette.llm : palette.slm, width: 1.5, dash: k ? "dash" : "solid" },
        marker: { size: 7, symbol: k ? "square" : "circle" },
        text: c.reliability.map((r) => String(r[4])),
        hovertemplate: "confidence %{x:.2f}<br>label 1: %{y:.1%}<br>%{text} tokens<extra></extra>",
      })),
    ],
    layout: layoutOf(
      palette,
      { title: "confidence in the SLM", range: [-0.02, 1.02] },
      { title: "share with label 1", ...unit },
      SMALL,
    ),
    table: {
      head: ["router", "mean confidence", "label 1", "95% interval", "tokens"],
      rows: curves.flatMap((c, k) =>
        c.reliability.map((r) => [
          names[k],
          probability(r[0]),
          share(r[1]),
          `${share(r[2])} to ${share(r[3])}`,
          r[4].toLocaleString("en-US"),
        ]),
      ),
    },
  };
}

/** @param {FigureView} view @returns {ChartFigure} */
export function histogramFigure({ curves, names, tau, palette }) {
  const { easy, critical } = curves[0];
  const width = 1 / easy.length;
  const middle = easy.map((_, i) => (i + 0.5) * width);
  /** @param {string} name @param {number[]} counts @param {string} color @param {string} pattern */
  const bars = (name, counts, color, pattern) => ({
    type: "bar",
    name,
    x: middle,
    y: counts.map((n) => n || null),
    width: width * 0.42,
    offset: pattern ? 0 : -width * 0.42,
    marker: {
      color,
      line: { width: 1, color: pattern ? palette.llm : palette.slm },
      pattern: { shape: pattern, fgcolor: palette.llm, bgcolor: palette.llmFill, size: 5, solidity: 0.35 },
    },
    hovertemplate: `${name}: %{y}<br>confidence near %{x:.2f}<extra></extra>`,
  });
  const layout = layoutOf(
    palette,
    { title: `confidence of ${names[0]}`, range: [-0.02, 1.02] },
    {
      title: "tokens, log scale",
      type: "log",
      dtick: 1,
      range: [-0.3, Math.log10(Math.max(10, ...easy, ...critical)) + 0.15],
    },
    SMALL,
  );
  layout.barmode = "overlay";
  layout.shapes = [
    { type: "line", x0: tau, x1: tau, yref: "paper", y0: 0, y1: 1, line: { color: palette.cost, width: 2 } },
  ];
  layout.annotations = [
    {
      x: tau,
      y: 1,
      yref: "paper",
      text: `τ ${formatTau(tau)}`,
      showarrow: false,
      xanchor: tau > 0.5 ? "right" : "left",
      yanchor: "top",
      xshift: tau > 0.5 ? -5 : 5,
      font: { color: palette.cost },
    },
  ];
  return {
    data: [
      bars("easy (label 1)", easy, palette.slmFill, ""),
      bars("critical (label 0)", critical, palette.llmFill, "/"),
    ],
    layout,
    table: {
      head: ["confidence", "easy", "critical"],
      rows: easy.map((n, i) => [
        `${(i * width).toFixed(2)} to ${((i + 1) * width).toFixed(2)}`,
        n.toLocaleString("en-US"),
        critical[i].toLocaleString("en-US"),
      ]),
    },
  };
}
