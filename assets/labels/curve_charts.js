/**
 * The four charts as plotly's data and layout, and as the numbers of the table below each.
 *
 * Pure: must not know the DOM or plotly itself. Colours come in as a palette, so one figure serves both themes; series
 * differ by dash, marker or pattern too, never by colour alone.
 *
 * @typedef {ChartPalette & {risk: string, waste: string, slmFill: string, llmFill: string}} Palette
 * @typedef {import("./label_view.js").LabelView} LabelView
 * @typedef {import("./verdict.js").Confusion} Confusion
 * @typedef {Figure & {table: import("../viewer/table.js").Table}} ChartFigure
 */

import { formatTau, percent, probability } from "../run/format.js";
import { errorBars, layoutOf, scatter, standingOut } from "../viewer/plot_look.js";
import { inDigits } from "../run/kinds.js";

const SMALL = { height: 270, margin: { l: 48, r: 10, t: 8, b: 40 } };
const UNIT = { range: [-0.02, 1.02] };
const SHARE = { ...UNIT, tickformat: ".0%" };

/** What the router's card says of priors; "" where it says nothing. @param {LabelView} view */
export const priorOf = ({ analysis, router }) => analysis.routers.find(({ name }) => name === router)?.prior ?? "";

/**
 * A line that says how something would be, and has no points to look at.
 * @param {string} name
 * @param {number[]} x
 * @param {number[]} y
 * @param {object} line
 */
const guide = (name, x, y, line) => scatter("lines", name, x, y, { line });

/** @param {string} name @param {Palette} palette */
const diagonal = (name, palette) => guide(name, [0, 1], [0, 1], { color: palette.muted, width: 1, dash: "dot" });

/** Rows of numbers as columns. @param {number[][]} rows @param {number} n */
const columnsOf = (rows, n) => Array.from({ length: n }, (_, k) => rows.map((row) => row[k]));

/** The look of the first router's series, or of the second one's. @param {Palette} palette @param {number} k */
const lookOf = (palette, k) => ({ color: k ? palette.llm : palette.slm, dash: k ? "dash" : "solid" });

/**
 * What one thing costs in the other as tau moves: a curve for each router, and where the first one stands on its own.
 * @param {LabelView} view
 * @param {Palette} palette
 * @param {Object} how
 * @param {"roc"|"pr"} how.curve
 * @param {(counts: Confusion) => [number, number]} how.at
 * @param {[string, string]} how.titles
 * @param {[string, string]} how.head of the table
 * @param {string} how.hover
 * @returns {ChartFigure}
 */
function tradeOff({ analysis, names, counts, bestCounts, tau, best }, palette, { curve, at, titles, head, hover }) {
  const curves = names.map((name) => ({ name, points: analysis.curves(name)[curve] }));
  /** @param {string} name @param {Confusion} there @param {number} t @param {string} symbol @param {string} color */
  const mark = (name, there, t, symbol, color) => {
    const [x, y] = at(there);
    const hovertemplate = `${name}<br>τ ${formatTau(t)}<extra></extra>`;
    return scatter("markers", name, [x], [y], { ...standingOut(symbol, color, palette), hovertemplate });
  };
  return {
    data: [
      ...curves.map(({ name, points }, k) => {
        const [taus, x, y] = columnsOf(points, 3);
        const hovertemplate = `τ %{text}<br>${hover}<extra></extra>`;
        const line = { ...lookOf(palette, k), width: 2 };
        return scatter("lines", name, x, y, { line, text: taus.map(formatTau), hovertemplate });
      }),
      mark("τ now", counts, tau, "circle", palette.cost),
      mark("least cost", bestCounts, best.tau, "star-diamond", palette.risk),
    ],
    layout: layoutOf(palette, { title: titles[0], ...SHARE }, { title: titles[1], ...SHARE }, SMALL),
    table: {
      head: ["router", "τ", ...head],
      rows: curves.flatMap(({ name, points }) =>
        points.map(([t, x, y]) => [name, formatTau(t), percent(x), percent(y)]),
      ),
    },
  };
}

/** @param {number} part @param {number} rest */
const shareOf = (part, rest) => part / Math.max(1, part + rest);

/** @param {LabelView} view @param {Palette} palette @returns {ChartFigure} */
export function rocFigure(view, palette) {
  const figure = tradeOff(view, palette, {
    curve: "roc",
    at: ({ kept, waste, risk, caught }) => [shareOf(waste, kept), shareOf(caught, risk)],
    titles: ["easy tokens wasted", "critical tokens caught"],
    head: ["easy wasted", "critical caught"],
    hover: "caught %{y:.1%}<br>wasted %{x:.1%}",
  });
  return { ...figure, data: [{ ...diagonal("chance", palette), showlegend: false }, ...figure.data] };
}

/** @param {LabelView} view @param {Palette} palette @returns {ChartFigure} */
export const prFigure = (view, palette) =>
  tradeOff(view, palette, {
    curve: "pr",
    at: ({ waste, risk, caught }) => [shareOf(caught, risk), shareOf(caught, waste)],
    titles: ["critical tokens caught (recall)", "critical among LLM tokens"],
    head: ["caught (recall)", "precision"],
    hover: "critical among LLM tokens %{y:.1%}<br>caught %{x:.1%}",
  });

/**
 * What a router that is honest at equal priors shows where a share `easy` of all tokens prefers the SLM.
 * @param {number} confidence
 * @param {number} easy
 */
export function shifted(confidence, easy) {
  const odds = (confidence / (1 - confidence)) * (easy / (1 - easy));
  return odds / (1 + odds);
}

/** @param {LabelView} view @param {Palette} palette @returns {ChartFigure} */
export function reliabilityFigure(view, palette) {
  const { analysis, names, easyShare: easy } = view;
  const curves = names.map((name) => ({ name, points: analysis.curves(name).reliability }));
  const grid = Array.from({ length: 49 }, (_, i) => (i + 1) / 50);
  const honest = [diagonal("honest", palette)];
  if (priorOf(view) !== "" && easy > 0 && easy < 1) {
    const expected = grid.map((confidence) => shifted(confidence, easy));
    honest.push(guide("honest at equal priors", grid, expected, { color: palette.muted, width: 1.5, dash: "dashdot" }));
  }
  return {
    data: [
      ...honest,
      ...curves.map(({ name, points }, k) => {
        const [means, shares, lows, highs, n] = columnsOf(points, 5);
        const look = lookOf(palette, k);
        return scatter("lines+markers", name, means, shares, {
          error_y: errorBars(shares, lows, highs, { thickness: 1, width: 3, color: look.color }),
          line: { ...look, width: 1.5 },
          marker: { size: 7, symbol: k ? "square" : "circle" },
          text: n.map(String),
          hovertemplate: "confidence %{x:.2f}<br>label 1: %{y:.1%}<br>%{text} tokens<extra></extra>",
        });
      }),
    ],
    layout: layoutOf(
      palette,
      { title: "confidence in the SLM", ...UNIT },
      { title: "share with label 1", ...SHARE },
      SMALL,
    ),
    table: {
      head: ["router", "mean confidence", "label 1", "95% interval", "tokens"],
      rows: curves.flatMap(({ name, points }) =>
        points.map(([mean, share, low, high, n]) => [
          name,
          probability(mean),
          percent(share),
          `${percent(low)} to ${percent(high)}`,
          inDigits(n),
        ]),
      ),
    },
  };
}

/** @param {LabelView} view @param {Palette} palette @returns {ChartFigure} */
export function histogramFigure({ analysis, router, tau }, palette) {
  const { easy, critical } = analysis.curves(router);
  const width = 1 / easy.length;
  /** @param {string} name @param {number[]} counts @param {string} color @param {string} pattern */
  const bars = (name, counts, color, pattern) => ({
    type: "bar",
    name,
    x: counts.map((_, i) => (i + 0.5) * width),
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
  const highest = Math.log10(Math.max(10, ...easy, ...critical));
  const atTau = { yref: "paper", y0: 0, y1: 1 };
  return {
    data: [
      bars("easy (label 1)", easy, palette.slmFill, ""),
      bars("critical (label 0)", critical, palette.llmFill, "/"),
    ],
    layout: layoutOf(
      palette,
      { title: `confidence of ${router}`, ...UNIT },
      { title: "tokens, log scale", type: "log", dtick: 1, range: [-0.3, highest + 0.15] },
      {
        ...SMALL,
        barmode: "overlay",
        shapes: [{ type: "line", x0: tau, x1: tau, ...atTau, line: { color: palette.cost, width: 2 } }],
        annotations: [
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
        ],
      },
    ),
    table: {
      head: ["confidence", "easy", "critical"],
      rows: easy.map((n, i) => [
        `${(i * width).toFixed(2)} to ${((i + 1) * width).toFixed(2)}`,
        inDigits(n),
        inDigits(critical[i]),
      ]),
    },
  };
}
