/**
 * One step's cost by what causes it: each model's weights and KV cache, the router, and what catching up adds.
 *
 * Pure: must not know the DOM. The parts of `cost.js` taken apart; their sum is the step's cost there.
 */

import { forwardFlops, kvBytesPerToken, llmContext, weightBytes } from "./cost.js";

/**
 * @param {CostModel} costModel
 * @param {TokenEvent} event
 * @param {number} llmFed tokens in the LLM's forward, 0 where it is not called
 * @returns {{name: string, bytes: number, flops: number|null, within?: boolean}[]} rows; one with `within` is part of
 *   the row
 *   before it. `flops` is null where arithmetic does not belong to the row.
 */
export function splitStep(costModel, event, llmFed) {
  const parts = costModel.parts(event, llmFed);
  const { slm, llm } = costModel;
  const nRead = llmContext(event); // by the LLM
  const cached = nRead - llmFed;
  // The SLM's passes: its own here, and those for tokens that were taken back.
  const contexts = (event.discarded ?? [0]).map((_, k) => event.context_len + k);
  const kv = kvBytesPerToken(slm) * contexts.reduce((sum, context) => sum + context, 0);
  /** @type {{name: string, bytes: number, flops: number|null, within?: boolean}[]} */
  const rows = [
    {
      name: "SLM weights",
      bytes: event.slm_tokens_fed ? weightBytes(slm) * contexts.length : 0,
      flops: parts.slm.flops,
    },
    { name: "SLM KV", bytes: event.slm_tokens_fed ? kv : 0, flops: null },
    { name: "Router", bytes: parts.router.bytes, flops: parts.router.flops },
    { name: "LLM weights", bytes: llmFed ? weightBytes(llm) : 0, flops: parts.llm.flops },
    { name: "LLM KV", bytes: llmFed ? kvBytesPerToken(llm) * nRead : 0, flops: null },
  ];
  if (llmFed > 1) {
    // What belongs to the tokens that the LLM missed: their arithmetic, and the keys and values that are written of
    // them. Its weights are read for the last token anyway.
    const missed = llmFed - 1;
    const flops = forwardFlops(llm, missed, cached);
    rows.push({ name: "of it catch-up", bytes: kvBytesPerToken(llm) * missed, flops, within: true });
  }
  return rows;
}

/**
 * Entropy in nats of a distribution of which only the most probable tokens are known: at least this, with the rest
 * taken as one token.
 * @param {[number, string, number][]} top
 */
export function leastEntropy(top) {
  const known = top.reduce((sum, [, , p]) => sum + p, 0);
  /** @param {number} p */
  const term = (p) => (p > 0 ? -p * Math.log(p) : 0);
  return top.reduce((sum, [, , p]) => sum + term(p), 0) + term(Math.max(0, 1 - known));
}

/** The first probability less the second, or null where there are not two. @param {Candidate[]} top */
export function marginOf(top) {
  return top?.length > 1 ? top[0][2] - top[1][2] : null;
}
