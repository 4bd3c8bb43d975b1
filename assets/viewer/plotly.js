/** plotly.js, fetched once and only when a chart is wanted. Must not know what is drawn. */

/** @type {Promise<PlotlyLibrary>|null} */
let loading = null;

/**
 * @param {string} url of plotly.js, relative to the page
 * @returns {Promise<PlotlyLibrary>} the library
 */
export function loadPlotly(url) {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: new URL(url, document.baseURI).href });
    script.onload = () =>
      globalThis.Plotly ? resolve(globalThis.Plotly) : reject(new Error("plotly could not be started"));
    script.onerror = () => reject(new Error("plotly could not be fetched"));
    document.head.append(script);
  });
  return loading;
}
