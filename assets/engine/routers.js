/**
 * The routers that need no training; the mirrors of those in `citer_core/routing/routers`, in the same order.
 *
 * @typedef {import("./features.js").Router} Router
 * @typedef {import("./features.js").RouterFeatures} RouterFeatures
 */

import { EQUAL_PRIORS } from "../run/decision.js";
import { sequenceKey } from "./randomness.js";

const PLAIN = {
  revision: "",
  nParams: 0,
  readsLlm: false,
  usesLlmEntropy: false,
  usesPrompt: false,
  defaultThreshold: 0.7,
  slmPrior: EQUAL_PRIORS,
};

/** e^-entropy, as a float32 in [0, 1]. @param {number} entropy in nats */
const certainty = (entropy) => Math.min(1, Math.max(0, Math.fround(Math.exp(-entropy))));

/** A uniform number that is a function of prompt and position. @param {RouterFeatures} features */
function chance({ promptIds, position }) {
  const wrap = (/** @type {bigint} */ value) => BigInt.asUintN(64, value);
  let z = wrap(keyOf(promptIds) + BigInt(position + 1) * 0x9e3779b97f4a7c15n);
  z = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = wrap((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  z ^= z >> 31n;
  return Number((z >> 40n) & 0xffffffn) / 2 ** 24;
}

/** @type {WeakMap<number[], bigint>} */
const keys = new WeakMap();

/** @param {number[]} promptIds the same list for all of a run */
function keyOf(promptIds) {
  const key = keys.get(promptIds) ?? sequenceKey(promptIds);
  keys.set(promptIds, key);
  return key;
}

/** @type {Router[]} */
const ROUTERS = [
  {
    ...PLAIN,
    name: "max-probability",
    label: "Max probability (no training)",
    confidence: ({ slm }) => slm.maxProbability,
  },
  { ...PLAIN, name: "entropy", label: "Entropy (no training)", confidence: ({ slm }) => certainty(slm.entropy) },
  { ...PLAIN, name: "margin", label: "Margin (no training)", confidence: ({ slm }) => slm.margin },
  {
    ...PLAIN,
    name: "bidirectional-entropy",
    label: "Bidirectional entropy, R-Stitch (no training)",
    usesLlmEntropy: true,
    confidence: ({ slm, llmEntropy }) => certainty(Math.max(slm.entropy, llmEntropy ?? 0)),
  },
  { ...PLAIN, name: "random", label: "Random (no training)", defaultThreshold: 0.3, confidence: chance },
  {
    ...PLAIN,
    name: "disagreement",
    label: "Disagreement oracle (asks both)",
    readsLlm: true,
    defaultThreshold: 0.5,
    confidence: ({ slm, llm }) => Number(slm.greedyId === llm?.greedyId),
  },
  { ...PLAIN, name: "always-slm", label: "Always the SLM", defaultThreshold: 0.5, confidence: () => 1 },
  { ...PLAIN, name: "always-llm", label: "Always the LLM", defaultThreshold: 0.5, confidence: () => 0 },
];

/** By name, in the order of lists. */
export const TRAINING_FREE = new Map(ROUTERS.map((router) => [router.name, router]));
