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

import { layoutOf } from "../viewer/plot_look.js";

/** Of a logarithmic axis, in whole: plotly writes 0.5 as "5". */
const MS_TICKS = [0.1, 1, 10, 100, 1000].flatMap((power) => [power, 2 * power, 5 * power]);

/**
 * Cost of a routed token, of that of the LLM alone, over the share of LLM tokens.
 * @param {ProfileShares} shares
 * @param {ChartPalette} palette
 */
export function sharesFigure(shares, palette) {
  const { crossing } = shares;
  const measured = [...shares.measured].sort((a, b) => a.share - b.share);
  /** @param {string} name @param {number[]} values @param {string} color @param {string} dash */
  const line = (name, values, color, dash) => ({
    type: "scatter",
    mode: "lines",
    name,
    x: shares.share,
    y: values,
    line: { color, width: 2, dash },
    hovertemplate: `${name}<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>`,
  });
  /** @param {string} name @param {number|null} at @param {string} color @param {string} symbol */
  const even = (name, at, color, symbol) => ({
    type: "scatter",
    mode: "markers",
    name,
    x: [at],
    y: [1],
    showlegend: false,
    marker: { size: 12, symbol, color, line: { width: 2, color: palette.surface } },
    hovertemplate: `${name}: %{x:.0%}<extra></extra>`,
  });
  return {
    data: [
      {
        type: "scatter",
        mode: "lines",
        name: "LLM alone",
        x: [0, 1],
        y: [1, 1],
        line: { color: palette.muted, width: 1.5, dash: "dot" },
        hoverinfo: "skip",
      },
      {
        type: "scatter",
        mode: "lines+markers",
        name: "time, measured",
        x: measured.map((p) => p.share),
        y: measured.map((p) => p.time),
        line: { color: palette.llm, width: 2.5 },
        marker: { size: 9, symbol: "square", color: palette.llm },
        hovertemplate: "measured<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>",
      },
      line("time, fitted", shares.time, palette.llm, "dot"),
      line("bytes, estimated", shares.bytes, palette.cost, "dash"),
      ...(crossing
        ? [
            {
              ...even("measured runs cross", crossing.at, palette.text, "circle"),
              error_x: {
                type: "data",
                symmetric: false,
                array: [crossing.high - crossing.at],
                arrayminus: [crossing.at - crossing.low],
                color: palette.text,
                thickness: 2,
                width: 8,
              },
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
      {
        type: "scatter",
        mode: "markers",
        name: `${model.name} measured`,
        x: model.n_new,
        y: model.measured_ms,
        marker: { size: 9, symbol: k ? "square" : "circle", color: colors[model.name] },
        hovertemplate: `${model.name}<br>%{x} tokens: %{y:.3f} ms<extra></extra>`,
      },
      {
        type: "scatter",
        mode: "lines",
        name: `${model.name} fitted`,
        x: model.n_new,
        y: model.fitted_ms,
        line: { color: colors[model.name], width: 1.5, dash: k ? "dash" : "solid" },
        hoverinfo: "skip",
      },
    ]),
    layout: layoutOf(
      palette,
      { title: "tokens fed by one pass", type: "log", tickvals: passes[0]?.n_new ?? [] },
      { title: "ms", type: "log", tickvals: MS_TICKS },
    ),
  };
}
