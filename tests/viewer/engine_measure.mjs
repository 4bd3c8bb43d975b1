/** How fast the browser's engine decodes: the same measurement in node and in a browser's worker. */

import { decode } from "../../assets/engine/decode.js";
import { sharedUnder } from "../../assets/engine/fork.js";
import { dialsOf } from "../../assets/run/dials.js";

const N_TOKENS = 150;
const ROUNDS = 8;
const N_MOVED = 100;
const N_MOVES = 41;
const PROMPT =
  "Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}.\nQuestion: Tom buys 4 books at 12 " +
  "dollars each and 3 pens at 5 dollars each. How many dollars does Tom spend?\nSolution:";
const SETTINGS = { threshold: 0, max_new_tokens: N_TOKENS, temperature: 0, top_p: 1, seed: 0 };
/** Name, router, what is not usual about the run. */
const CASES = [
  ["SLM alone", "always-slm", { threshold: 0.5 }],
  ["LLM alone", "always-llm", { threshold: 0.5 }],
  ["routed, a fifth by chance", "random", { threshold: 0.2 }],
  ["routed, citer at 0.93", "citer", { threshold: 0.93 }],
  ["sampled, citer at 0.93", "citer", { threshold: 0.93, temperature: 0.8 }],
];

/**
 * @param {import("../../assets/engine/pair.js").BrowserPair} pair whose runs no longer end before their limit
 * @param {() => number} processorMs of this process so far; the clock where that cannot be known
 * @returns {AsyncGenerator<Record<string, string|number>>} a case each, the best of some rounds; then moves of tau
 */
export async function* measure(pair, processorMs = () => performance.now()) {
  pair.endIds.clear();
  const prompt = pair.tokenizer.encode(PROMPT);
  for (const [name, routerName, changes] of CASES) {
    const router = await pair.router(routerName);
    let [best, least, share] = [Infinity, Infinity, 0];
    for (let round = 0; round < ROUNDS; round++) {
      for (const model of [pair.slm, pair.llm]) model.read([1]); // forgets the text
      const [cpu, start] = [processorMs(), performance.now()];
      const events = [...decode(pair, router, prompt, { ...SETTINGS, ...changes })];
      best = Math.min(best, performance.now() - start);
      least = Math.min(least, processorMs() - cpu);
      share = events.filter(({ source }) => source === "llm").length / events.length;
    }
    const [perSecond, perProcessorSecond] = [best, least].map((ms) => Math.round((1000 * N_TOKENS) / ms));
    yield { name, prompt: prompt.length, tokens: N_TOKENS, perSecond, perProcessorSecond, share };
  }
  const router = await pair.router("citer");
  const settings = { ...SETTINGS, max_new_tokens: N_MOVED };
  const base = [...decode(pair, router, prompt, { ...settings, threshold: 0.93 })];
  const moves = Array.from({ length: N_MOVES }, (_, i) => {
    const threshold = i / (N_MOVES - 1);
    const start = performance.now();
    const fork = {
      events: sharedUnder(base, settings, dialsOf({ threshold }), () => 0).slice(0, N_MOVED - 1),
      source: null,
      tokenId: null,
    };
    const written = [...decode(pair, router, prompt, { ...settings, threshold }, fork)];
    return written.length ? performance.now() - start : 0;
  });
  const medianMs = moves.sort((a, b) => a - b)[Math.floor(N_MOVES / 2)];
  yield { name: "tau moved", tokens: N_MOVED, medianMs: Math.round(medianMs) };
}

/** One result in words. @param {Record<string, string|number>} found */
export const inWords = ({ name, prompt, tokens, perSecond, perProcessorSecond, share, medianMs }) =>
  medianMs === undefined
    ? `${name}: ${perSecond} tokens/s, ${perProcessorSecond} per second of processor; ` +
      `LLM ${(100 * share).toFixed(0)}% (prompt of ${prompt} tokens, ${tokens} new ones, best of ${ROUNDS})`
    : `tau moved over a run of ${tokens} tokens: ${medianMs} ms in the median`;
