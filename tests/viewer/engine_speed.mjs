/**
 * How fast the browser's engine decodes here, in node: `node tests/viewer/engine_speed.mjs`. No test: times depend on
 * what else the machine does, so processor time is said beside them.
 */

import { decode } from "../../assets/engine/decode.js";
import { sharedAtTau } from "../../assets/engine/fork.js";
import { loadBundled } from "./engine_files.mjs";

const N_TOKENS = 150;
const ROUNDS = 8;
const started = performance.now();
const pair = await loadBundled();
console.log(`loaded in ${(performance.now() - started).toFixed(0)} ms`);
pair.endIds.clear(); // every run is as long as the others
const prompt = pair.tokenizer.encode(
  "Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}.\nQuestion: Tom buys 4 books at 12 " +
    "dollars each and 3 pens at 5 dollars each. How many dollars does Tom spend?\nSolution:",
);
const settings = { threshold: 0, max_new_tokens: N_TOKENS, temperature: 0, top_p: 1, seed: 0 };

async function measure(name, router, changes) {
  const chosen = await pair.router(router);
  let [best, share, leastCpu] = [Infinity, 0, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    for (const model of [pair.slm, pair.llm]) model.read([1]); // forgets the text
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    const events = [...decode(pair, chosen, prompt, { ...settings, ...changes })];
    const { user, system } = process.cpuUsage(cpu);
    best = Math.min(best, performance.now() - start);
    leastCpu = Math.min(leastCpu, (user + system) / 1000);
    share = events.filter(({ source }) => source === "llm").length / events.length;
  }
  const [wall, own] = [best, leastCpu].map((ms) => ((1000 * N_TOKENS) / ms).toFixed(0));
  console.log(`${name}: ${wall} tokens/s, ${own} per second of processor; LLM ${(100 * share).toFixed(0)}%`);
}

console.log(`prompt of ${prompt.length} tokens and ${N_TOKENS} new ones, best of ${ROUNDS}`);
await measure("SLM alone", "always-slm", { threshold: 0.5 });
await measure("LLM alone", "always-llm", { threshold: 0.5 });
await measure("routed, a fifth by chance", "random", { threshold: 0.2 });
await measure("routed, citer at 0.93", "citer", { threshold: 0.93 });
await measure("sampled, citer at 0.93", "citer", { threshold: 0.93, temperature: 0.8 });

const router = await pair.router("citer");
const base = [...decode(pair, router, prompt, { ...settings, threshold: 0.93, max_new_tokens: 100 })];
const moves = Array.from({ length: 41 }, (_, i) => i / 40).map((threshold) => {
  const start = performance.now();
  const fork = { events: sharedAtTau(base, threshold).slice(0, 99), source: null, tokenId: null };
  const written = [...decode(pair, router, prompt, { ...settings, threshold, max_new_tokens: 100 }, fork)];
  return written.length ? performance.now() - start : 0;
});
console.log(`tau moved over a run of 100 tokens: ${moves.sort((a, b) => a - b)[20].toFixed(1)} ms in the median`);
