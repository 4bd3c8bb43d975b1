/**
 * The tab's two charts as plotly's data and layout.
 *
 * Pure: must not know the DOM or plotly itself. Series differ by dash and marker too, never by colour alone.
 *
 * @typedef {Object} ProfileShares costs over the share of tokens by the LLM; LLM alone is 1
 * @property {number[]} share
 * @property {number[]} time
 * @property {number[]} bytes
 * @property {{share: number, time: number}[]} measured
 * @property {{time: number|null, bytes: number|null}} break_even by the fit
 * @property {{at: number, low: number, high: number}|null} crossing of the measured runs
 *
 * @typedef {Object} ProfilePass a model's forward passes
 * @property {"SLM"|"LLM"} name
 * @property {number[]} n_new
 * @property {number[]} measured_ms
 * @property {number[]} fitted_ms
 */

import { errorBars, layoutOf, scatter, standingOut } from "../viewer/plot_look.js";

/** Of a logarithmic axis, in whole: plotly writes 0.5 as "5". */
const MS_TICKS = [0.1, 1, 10, 100, 1000].flatMap((power) => [power, 2 * power, 5 * power]);

/**
 * Cost of a routed token, of that of the LLM alone, over the share of LLM tokens.
 * @param {ProfileShares} shares
 * @param {ChartPalette} palette
 */
export function sharesFigure(shares, palette) {
  const { crossing } = shares;
  const bars = { color: palette.text, thickness: 2, width: 8 };
  const measured = [...shares.measured].sort((a, b) => a.share - b.share);
  const [at, took] = [measured.map((p) => p.share), measured.map((p) => p.time)];
  /** @param {string} name @param {number[]} values @param {string} color @param {string} dash */
  const line = (name, values, color, dash) => {
    const hovertemplate = `${name}<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>`;
    return scatter("lines", name, shares.share, values, { line: { color, width: 2, dash }, hovertemplate });
  };
  /** @param {string} name @param {number|null} at @param {string} color @param {string} symbol */
  const even = (name, at, color, symbol) => {
    const hovertemplate = `${name}: %{x:.0%}<extra></extra>`;
    const look = standingOut(symbol, color, palette, 12);
    return scatter("markers", name, [at], [1], { showlegend: false, ...look, hovertemplate });
  };
  return {
    data: [
      scatter("lines", "LLM alone", [0, 1], [1, 1], { line: { color: palette.muted, width: 1.5, dash: "dot" } }),
      scatter("lines+markers", "time, measured", at, took, {
        line: { color: palette.llm, width: 2.5 },
        marker: { size: 9, symbol: "square", color: palette.llm },
        hovertemplate: "measured<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>",
      }),
      line("time, fitted", shares.time, palette.llm, "dot"),
      line("bytes, estimated", shares.bytes, palette.cost, "dash"),
      ...(crossing
        ? [
            {
              ...even("measured runs cross", crossing.at, palette.text, "circle"),
              error_x: errorBars([crossing.at], [crossing.low], [crossing.high], bars),
            },
          ]
        : []),
      even("the fit crosses", shares.break_even.time, palette.llm, "diamond-open"),
      even("bytes cross", shares.break_even.bytes, palette.cost, "diamond-open"),
    ],
    layout: layoutOf(
      palette,
      { title: "tokens written by the LLM", range: [-0.02, 1.02], tickformat: ".0%" },
      { title: "cost, LLM alone = 1", rangemode: "tozero" },
    ),
  };
}

/**
 * Milliseconds of a pass over the tokens that it feeds, both axes logarithmic.
 * @param {ProfilePass[]} passes
 * @param {ChartPalette} palette
 */
export function passesFigure(passes, palette) {
  const colors = { SLM: palette.slm, LLM: palette.llm };
  return {
    data: passes.flatMap((model, k) => [
      scatter("markers", `${model.name} measured`, model.n_new, model.measured_ms, {
        marker: { size: 9, symbol: k ? "square" : "circle", color: colors[model.name] },
        hovertemplate: `${model.name}<br>%{x} tokens: %{y:.3f} ms<extra></extra>`,
      }),
      scatter("lines", `${model.name} fitted`, model.n_new, model.fitted_ms, {
        line: { color: colors[model.name], width: 1.5, dash: k ? "dash" : "solid" },
      }),
    ]),
    layout: layoutOf(
      palette,
      { title: "tokens fed by one pass", type: "log", tickvals: passes[0]?.n_new ?? [] },
      { title: "ms", type: "log", tickvals: MS_TICKS },
    ),
  };
}
