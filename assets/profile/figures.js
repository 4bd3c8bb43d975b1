/**
 * The tab's two charts as plotly's data and layout.
 *
 * Pure: must not know the DOM or plotly itself. Series differ by dash and marker too, never by colour alone.
 *
 * @typedef {{title: string, [more: string]: unknown}} AxisOptions
 *
 * @typedef {Object} ProfileShares costs over the share of tokens by the LLM; LLM alone is 1
 * @property {number[]} share
 * @property {number[]} time
 * @property {number[]} bytes
 * @property {{share: number, time: number}[]} measured
 * @property {{time: number|null, bytes: number|null}} break_even
 *
 * @typedef {Object} ProfilePass a model's forward passes
 * @property {"SLM"|"LLM"} name
 * @property {number[]} n_new
 * @property {number[]} measured_ms
 * @property {number[]} fitted_ms
 */

/** @param {ChartPalette} palette @param {AxisOptions} x @param {AxisOptions} y */
function layoutOf(palette, x, y) {
  /** @param {AxisOptions} how */
  const axis = ({ title, ...more }) => ({
    title: { text: title, standoff: 8, font: { size: 13 } },
    gridcolor: palette.rule,
    linecolor: palette.rule,
    zeroline: false,
    fixedrange: true,
    automargin: true,
    ...more,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: palette.text, size: 12, family: palette.font },
    height: 300,
    margin: { l: 52, r: 12, t: 8, b: 42 },
    showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: palette.surface, bordercolor: palette.rule, font: { color: palette.text } },
    xaxis: axis(x),
    yaxis: axis(y),
  };
}

/**
 * Cost of a routed token, of that of the LLM alone, over the share of LLM tokens.
 * @param {ProfileShares} shares
 * @param {ChartPalette} palette
 */
export function sharesFigure(shares, palette) {
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
      line("time (predicted)", shares.time, palette.llm, "solid"),
      line("bytes (estimated)", shares.bytes, palette.cost, "dash"),
      {
        type: "scatter",
        mode: "markers",
        name: "time (measured)",
        x: shares.measured.map((p) => p.share),
        y: shares.measured.map((p) => p.time),
        marker: { size: 9, symbol: "square-open", color: palette.text, line: { width: 2 } },
        hovertemplate: "measured<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>",
      },
      even("break-even of time", shares.break_even.time, palette.llm, "diamond"),
      even("break-even of bytes", shares.break_even.bytes, palette.cost, "diamond"),
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
      { title: "ms", type: "log", dtick: "D2" },
    ),
  };
}
