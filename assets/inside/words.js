/**
 * Routers without layers, in words: what each reads, and what its confidence is of that. By name, as both engines have
 * them; of any other router nothing is said but what came of it.
 */

import { probability, significant } from "../run/format.js";

/**
 * @typedef {Object} RouterWords
 * @property {string} says
 * @property {[string, string][]} reads what, and how much
 * @property {string} is what the confidence is
 */

/** @param {number|null} value */
const nats = (value) => (value === null ? "not used: the SLM wrote it" : `${significant(value)} nats`);

/** @type {Record<string, (inside: Inside) => RouterWords>} */
const WORDS = {
  "max-probability": ({ max_probability: p }) => ({
    says: "It has no layers: it takes one number of the SLM as it is.",
    reads: [["probability of the SLM’s first choice", probability(p)]],
    is: "that probability",
  }),
  margin: ({ max_probability: p, margin }) => ({
    says: "It has no layers: it takes the first choice against the second.",
    reads: [
      ["probability of the SLM’s first choice", probability(p)],
      ["of its second", probability(p - margin)],
    ],
    is: `${probability(p)} − ${probability(p - margin)}`,
  }),
  entropy: ({ entropy }) => ({
    says: "It has no layers: a wide distribution gives little confidence.",
    reads: [["entropy of the SLM’s distribution", nats(entropy)]],
    is: `e to the power of −${significant(entropy)}`,
  }),
  "bidirectional-entropy": ({ entropy, llm_entropy: llm }) => ({
    says: "It has no layers: the greater of two entropies counts.",
    reads: [
      ["entropy of the SLM’s distribution", nats(entropy)],
      ["of the LLM’s, at the token before", nats(llm)],
    ],
    is: `e to the power of −${significant(Math.max(entropy, llm ?? 0))}`,
  }),
  random: () => ({
    says: "It reads neither model.",
    reads: [],
    is: "a number drawn from the prompt and the position, the same in every run",
  }),
  disagreement: ({ confidence }) => ({
    says: "It has the LLM read every token too, which is counted, and compares.",
    reads: [["first choices of both models", confidence === 1 ? "the same" : "different"]],
    is: confidence === 1 ? "1, because they are the same" : "0, because they differ",
  }),
  "always-slm": () => ({ says: "It reads nothing.", reads: [], is: "1, always" }),
  "always-llm": () => ({ says: "It reads nothing.", reads: [], is: "0, always" }),
};

/** @param {string} name of the router @param {Inside} inside @returns {RouterWords} */
export const wordsOf = (name, inside) =>
  Object.hasOwn(WORDS, name)
    ? WORDS[name](inside)
    : { says: "How this router computes is not known to this page.", reads: [], is: "what it gave" };
