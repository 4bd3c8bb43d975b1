/**
 * Both models' KV caches on one axis: a column is a token, a row a layer, strong what enters now.
 *
 * Must not know routers. Few elements, however many tokens: a band is one box under a grid.
 */

import { svg } from "../viewer/dom.js";

const MOST_ROWS = 66; // px of all layers together
const MOST_NAMED = 14;
const NAME = 38; // px of one

/**
 * @typedef {Object} CacheLook
 * @property {number} context tokens that are there
 * @property {number} nPrompt of them
 * @property {number} slmNew read by the SLM now
 * @property {number} llmHad in the LLM's cache before
 * @property {boolean} reads whether the LLM reads the others now
 * @property {string[]} texts of the tokens that were written, to be named
 * @property {[number, number]} layers of both models
 */

/** @param {CacheLook} look @param {number} width in px @param {string} words what it says */
export function cachePicture({ context, nPrompt, slmNew, llmHad, reads, texts, layers }, width, words) {
  const isNarrow = width < 560;
  const left = isNarrow ? 0 : 52;
  const nWritten = context - nPrompt;
  const inner = width - left - 6;
  const promptCell = Math.min(3.2, (nWritten ? 0.35 : 1) * (inner / nPrompt));
  const cell = Math.min(16, (inner - nPrompt * promptCell) / Math.max(1, nWritten));
  /** @param {number} i */
  const at = (i) => left + (i < nPrompt ? i * promptCell : nPrompt * promptCell + (i - nPrompt) * cell);
  const root = svg("svg", { class: "ci-cache", role: "img", "aria-label": words });
  let y = isNarrow ? 18 : 4;
  const top = y;
  /** @param {string} name @param {number} nLayers @param {[number, number, string][]} bands */
  const cache = (name, nLayers, bands) => {
    const row = Math.min(11, MOST_ROWS / nLayers);
    const high = row * nLayers;
    root.append(svg("text", isNarrow ? { x: 0, y: y - 5 } : { x: 0, y: y + 13 }, name));
    for (const [from, to, look] of bands)
      if (to > from) root.append(svg("rect", { class: look, x: at(from), y, width: at(to) - at(from), height: high }));
    let grid = "";
    for (let r = 1; r < nLayers && row >= 4; r++) grid += `M${left} ${y + r * row}H${at(context)}`;
    for (let i = 1; i < context; i++)
      if ((i < nPrompt ? promptCell : cell) >= 2.5) grid += `M${at(i).toFixed(1)} ${y}v${high}`;
    root.append(svg("path", { class: "ci-grid", d: grid }));
    y += high;
  };
  cache("SLM", layers[0], [
    [0, context - slmNew, "ci-slm-had"],
    [context - slmNew, context, "ci-slm-new"],
  ]);
  y += isNarrow ? 26 : 18;
  cache("LLM", layers[1], [
    [0, llmHad, "ci-llm-had"],
    [llmHad, context, reads ? "ci-llm-new" : "ci-missing"],
  ]);
  const now = at(context) + 1;
  root.append(svg("line", { class: "ci-now", x1: now, x2: now, y1: top - 4, y2: y + 2 }));

  // The tokens that the LLM reads, or has not read, by name: the latest ones; of those before them how many.
  const room = width - left;
  const nNamed = Math.min(context - Math.max(llmHad, nPrompt), MOST_NAMED, Math.floor((room - 70) / NAME));
  const first = context - nNamed;
  const nMore = first - llmHad;
  const least = left + (nMore > 0 ? 70 : 0);
  const start = Math.max(least, Math.min(width - NAME * nNamed, (at(first) + at(context) - NAME * nNamed) / 2));
  if (nMore > 0) root.append(svg("text", { x: start - 4, y: y + 34, "text-anchor": "end" }, `${nMore} before`));
  for (let i = first; i < context; i++) {
    const x = start + (i - first + 0.5) * NAME;
    const from = at(i) + cell / 2;
    const word = texts[i - nPrompt].trim() || "␣";
    const name = word.length > 5 ? `${word.slice(0, 4)}…` : word;
    const lead = `M${from} ${y + 1}C${from} ${y + 12} ${x} ${y + 8} ${x} ${y + 20}`;
    root.append(svg("path", { class: "ci-lead", d: lead }));
    root.append(svg("text", { class: "ci-token", x, y: y + 34, "text-anchor": "middle" }, name));
  }
  const height = y + (context > llmHad ? 42 : 8);
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("height", String(height));
  root.dataset.reads = String(reads);
  return root;
}
