/**
 * The lower half of an inside: what the LLM reads first and what enters its cache, and the memory that the step moved.
 *
 * All of it follows from the run and the page's cost model. Must not know routers.
 */

import { kvBytesPerToken, llmContext, weightBytes } from "../run/cost.js";
import { splitStep } from "../run/cost_split.js";
import { percent, plural, quantity } from "../run/format.js";
import { html } from "../viewer/dom.js";
import { tableOf } from "../viewer/table.js";
import { cachePicture } from "./cache_picture.js";
import { heading, note } from "./decision_parts.js";

const BESIDE = 540; // px of the other column
const LOOKS = ["ci-slm-had", "ci-slm-new", "ci-router-bytes", "ci-llm-had", "ci-llm-new"];

/** @param {number} n */
const whole = (n) => n.toLocaleString("en-US");

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
        `${columns} It held ${whole(had)}; now ${whole(context)}. Each column is ${sizes} = ${whole(perToken)} B, so `,
      )
    : note(
        `${columns} Its cache holds ${whole(had)} of ${plural(context, "token")}; nothing is moved for the others yet.`,
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
    return bits == null ? `${whole(weightBytes(model) / each)} × ${each} B` : `${bits} bits each`;
  };
  /** @param {ModelSpec} model @param {number} n @param {number} context */
  const kv = (model, n, context) =>
    `${whole(kvBytesPerToken(model))} B × (${whole(context - n)} read + ${whole(n)} new)`;
  const nGone = Math.max(0, (event.discarded?.length ?? 0) - 1);
  const more = nGone ? `, and of ${plural(nGone, "pass", "passes")} for tokens taken back` : "";
  const router = `${whole(routerParams)} × ${routerBytesPerParam} B`;
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
