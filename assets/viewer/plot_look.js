/**
 * How plotly's charts look on this page: axes, font and legend in the theme's colours, and these colours.
 *
 * Must not know what is drawn.
 *
 * @typedef {{title: string, [more: string]: unknown}} AxisOptions
 */

/**
 * @param {ChartPalette} palette
 * @param {AxisOptions} x
 * @param {AxisOptions} y
 * @param {Record<string, unknown>} [more] instead of what is usual
 * @returns {Record<string, unknown>}
 */
export function layoutOf(palette, x, y, { height = 300, ...more } = {}) {
  /** @param {AxisOptions} how */
  const axis = ({ title, ...options }) => ({
    title: { text: title, standoff: 8, font: { size: 13 * palette.size } },
    gridcolor: palette.rule,
    linecolor: palette.rule,
    zeroline: false,
    fixedrange: true,
    automargin: true,
    ...options,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: palette.text, size: 12 * palette.size, family: palette.font },
    height: Number(height) * palette.size,
    margin: { l: 52, r: 12, t: 8, b: 42 },
    showlegend: true,
    legend: {
      orientation: "h",
      x: 0,
      y: 1.02,
      yanchor: "bottom",
      font: { size: 12 * palette.size },
      bgcolor: "rgba(0,0,0,0)",
    },
    hoverlabel: { bgcolor: palette.surface, bordercolor: palette.rule, font: { color: palette.text } },
    xaxis: axis(x),
    yaxis: axis(y),
    ...more,
  };
}

/**
 * One series of a chart; of points without a text of their own nothing is said.
 * @param {"lines"|"markers"|"lines+markers"} mode @param {string} name
 * @param {unknown[]} x @param {unknown[]} y @param {Record<string, unknown>} [more]
 */
export const scatter = (mode, name, x, y, more = {}) => ({
  type: "scatter",
  mode,
  name,
  x,
  y,
  ...("hovertemplate" in more ? {} : { hoverinfo: "skip" }),
  ...more,
});

/**
 * Intervals around points.
 * @param {number[]} values @param {number[]} lows @param {number[]} highs @param {Record<string, unknown>} look
 */
export const errorBars = (values, lows, highs, look) => ({
  type: "data",
  symmetric: false,
  array: values.map((value, i) => highs[i] - value),
  arrayminus: values.map((value, i) => value - lows[i]),
  ...look,
});

/**
 * A mark that stands out from the curves.
 * @param {string} symbol @param {string} color @param {ChartPalette} palette
 */
export const standingOut = (symbol, color, palette, size = 11) => ({
  marker: { size, symbol, color, line: { width: 2, color: palette.surface } },
});

/** A colour of the theme as it is where an element stands. @param {Element} root @param {string} name */
export const colorAt = (root, name) => getComputedStyle(root).getPropertyValue(`--cv-${name}`).trim();

/** The theme's colours as they are where an element stands. @param {Element} root @returns {ChartPalette} */
export function paletteOf(root) {
  return {
    text: colorAt(root, "text"),
    muted: colorAt(root, "muted"),
    rule: colorAt(root, "rule"),
    surface: colorAt(root, "surface"),
    slm: colorAt(root, "slm-ink"),
    llm: colorAt(root, "llm-ink"),
    cost: colorAt(root, "cost"),
    font: getComputedStyle(root).fontFamily,
    size: root.currentCSSZoom ?? 1,
  };
}
