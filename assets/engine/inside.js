/**
 * What a router computes where a token of a finished text was decided; the mirror of `citer_core/routing/inside.py`.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 */

import { checkIds } from "./probe.js";

/**
 * @param {BrowserPair} pair
 * @param {import("./features.js").Router} router
 * @param {number[]} promptIds
 * @param {number[]} writtenIds the completion's tokens before the one that is decided
 * @param {boolean} afterLlm the LLM wrote the last of them
 * @returns {Inside}
 * @throws {import("./fork.js").RequestProblem}
 */
export function inside(pair, router, promptIds, writtenIds, afterLlm) {
  const { slm, llm, kernel, hiddenSize } = pair;
  const ids = [...promptIds, ...writtenIds];
  checkIds(pair, promptIds, [...writtenIds, ids[ids.length - 1]]);
  const hidden = slm.decoder.at.normed;
  let promptHidden = null;
  if (router.usesPrompt) {
    slm.read(promptIds);
    promptHidden = kernel.view(hidden, hiddenSize).slice();
  }
  slm.read(ids);
  let llmEntropy = null;
  if (router.usesLlmEntropy && afterLlm) {
    llm.read(ids.slice(0, -1));
    llmEntropy = llm.distribution.entropy;
  }
  if (router.readsLlm) llm.read(ids);
  const features = {
    slm: slm.distribution,
    hidden,
    promptHidden,
    promptIds,
    position: writtenIds.length,
    llmEntropy,
    llm: router.readsLlm ? llm.distribution : null,
  };
  return {
    max_probability: slm.distribution.maxProbability,
    entropy: slm.distribution.entropy,
    margin: slm.distribution.margin,
    llm_entropy: llmEntropy,
    confidence: router.confidence(features),
    layers: router.layers?.(features) ?? null,
  };
}
