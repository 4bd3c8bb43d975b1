/**
 * The lower half of an inside: what the LLM reads first and what enters its cache, and the memory that the step moved.
 *
 * All of it follows from the run and the page's cost model. Must not know routers.
 */

import { kvBytesPerToken, llmContext, weightBytes } from "../run/cost.js";
import { splitStep } from "../run/cost_split.js";
import { percent, plural, quantity } from "../run/format.js";
import { html, svg } from "../viewer/dom.js";
import { tableOf } from "../viewer/table.js";
import { heading, note } from "./decision_parts.js";
import { inDigits } from "../run/kinds.js";

const MOST_ROWS = 66; // px of all layers together
const MOST_NAMED = 14;
const NAME = 38; // px of one

/**
 * Both models' KV caches on one axis: a column is a token, a row a layer, strong what enters now.
 *
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
function cachePicture({ context, nPrompt, slmNew, llmHad, reads, texts, layers }, width, words) {
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

const BESIDE = 540; // px of the other column
const LOOKS = ["ci-slm-had", "ci-slm-new", "ci-router-bytes", "ci-llm-had", "ci-llm-new"];

/**
 * How many tokens the LLM had in its cache before a step.
 * @param {RunView} view @param {number} index
 */
export function cachedBefore({ events, decisions: { llmFed } }, index) {
  if (llmFed[index]) return llmContext(events[index]) - llmFed[index];
  for (let i = index - 1; i >= 0; i--) if (llmFed[i]) return events[i].context_len;
  return 0;
}

/** @param {RunView} view @param {number} index @param {string[]} texts of its tokens @param {number} width of both */
export function catchUpPart(view, index, texts, width) {
  const { context_len: context, slm_tokens_fed: slmNew } = view.events[index];
  const { slm, llm } = view.costModel;
  const fed = view.decisions.llmFed[index];
  const had = cachedBefore(view, index);
  const perToken = kvBytesPerToken(llm);
  const missed = fed > 1 ? "First the LLM reads what it has missed" : "The LLM has missed nothing";
  const title = fed ? missed : "The LLM is not called";
  const small = fed
    ? `${plural(fed, "token")} in one pass; the keys and values enter its cache`
    : `${plural(context - had, "token")} wait${context - had === 1 ? "s" : ""} until it is`;
  const sizes = `2 × ${llm.n_layers} layers × ${llm.n_kv_heads} heads × ${llm.head_dim} × ${llm.bytes_per_element} B`;
  const columns = "A column is a token, a row a layer.";
  const look = { context, nPrompt: context - index, slmNew, llmHad: had, reads: fed > 0, texts };
  const words = `${title}: ${small}. The LLM’s cache held ${had} of ${context} tokens.`;
  const room = width < 900 ? width : width - BESIDE;
  const caption = fed
    ? note(
        `${columns} It held ${inDigits(had)}; now ${inDigits(context)}. ` +
          `Each column is ${sizes} = ${inDigits(perToken)} B, so `,
      )
    : note(
        `${columns} Its cache holds ${inDigits(had)} of ${plural(context, "token")}; ` +
          "nothing is moved for the others yet.",
      );
  if (fed) caption.append(html("strong", {}, `${quantity("bytes", perToken * fed)} enter`), ".");
  return html("div", {}, [
    heading(title, small),
    cachePicture({ ...look, layers: [slm.n_layers, llm.n_layers] }, room, words),
    caption,
  ]);
}

/** @param {RunView} view @param {number} index */
export function costPart({ costModel, decisions, events, priceLabel }, index) {
  const event = events[index];
  const { slm, llm, routerParams, routerBytesPerParam } = costModel;
  const fed = decisions.llmFed[index];
  const rows = splitStep(costModel, event, fed);
  const late = rows.find(({ within }) => within);
  const parts = rows.filter((row) => row !== late);
  const total = costModel.step(event, fed).bytes;
  const alone = costModel.alone(llm, event).bytes;
  /** @param {ModelSpec} model */
  const weights = (model) => {
    const { bytes_per_element: each, block_bits: bits } = model;
    return bits == null ? `${inDigits(weightBytes(model) / each)} × ${each} B` : `${bits} bits each`;
  };
  /** @param {ModelSpec} model @param {number} n @param {number} context */
  const kv = (model, n, context) =>
    `${inDigits(kvBytesPerToken(model))} B × (${inDigits(context - n)} read + ${inDigits(n)} new)`;
  const nGone = Math.max(0, (event.discarded?.length ?? 0) - 1);
  const more = nGone ? `, and of ${plural(nGone, "pass", "passes")} for tokens taken back` : "";
  const router = `${inDigits(routerParams)} × ${routerBytesPerParam} B`;
  const slmKv = kv(slm, event.slm_tokens_fed, event.context_len);
  const how = [weights(slm) + more, slmKv + more, router + more, weights(llm), kv(llm, fed, llmContext(event))];
  const catching =
    late && `catching up adds ${quantity("bytes", late.bytes)}: the weights stream once, for all of them`;
  const bars = parts.map(({ bytes }, i) => {
    const style = { width: percent(bytes / Math.max(total, alone), 2) };
    return html("i", { class: LOOKS[i], hidden: bytes === 0, style });
  });
  const lines = parts.map(({ name, bytes }, i) => {
    const key = html("span", {}, html("i", { class: `ci-swatch ${LOOKS[i]}` }), name);
    const nothing = i === 2 ? "has no weights" : "not called";
    return [key, bytes ? how[i] : nothing, bytes ? quantity("bytes", bytes) : "–"];
  });
  const byLlm = `by the LLM alone: ${quantity("bytes", alone)}`;
  const title = heading("Memory moved for this token: ", catching ?? (fed ? "nothing to catch up" : byLlm));
  title.firstChild?.after(html("span", { class: "ci-cost" }, quantity("bytes", total)));
  const together = [html("span", {}, "Together"), byLlm, quantity("bytes", total)];
  const looks = [...lines.map(() => null), "ci-together"];
  return html("div", {}, [
    title,
    html("div", { class: "ci-stack", "aria-hidden": "true" }, ...bars),
    tableOf({ head: [], rows: [...lines, together] }, { isNamed: true, look: "ci-table", looks }),
    priceLabel ? note(priceLabel) : null,
  ]);
}
