/**
 * Decodes what standard input asks for with the browser's engine, for tests/core/test_browser_engine.py to compare with
 * Python. In: `{encode, decode, runs, probes}`; out: the same, answered.
 */

import { decode } from "../../assets/engine/decode.js";
import { asOurs } from "../../assets/engine/fork.js";
import { probe } from "../../assets/engine/probe.js";
import { traceHead } from "../../assets/engine/trace_head.js";
import { loadBundled } from "./engine_files.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const asked = JSON.parse(text);
const pair = await loadBundled();
const { tokenizer } = pair;

async function run({ prompt, router: name, settings, fork }) {
  const router = await pair.router(name);
  const ids = tokenizer.encode(prompt.text);
  const shared = asOurs(fork?.events ?? [], ids.length, tokenizer);
  const head = traceHead(pair, router, { settings, prompt }, ids.length, { version: "0", hardware: "node" });
  const events = [...shared];
  const steps = decode(pair, router, ids, settings, fork ? { ...fork, events: shared } : null);
  let step = steps.next();
  for (; !step.done; step = steps.next()) events.push(step.value);
  return { ...head, events, finish_reason: step.value };
}

const runs = [];
for (const order of asked.runs ?? []) runs.push(await run(order));
const answer = {
  encode: (asked.encode ?? []).map((words) => tokenizer.encode(words)),
  decode: (asked.decode ?? []).map((ids) => tokenizer.decode(ids)),
  runs: asked.brief
    ? runs.map(({ events, finish_reason: reason }) => ({
        ids: events.map((event) => event.token_id),
        writers: events.map((event) => event.source[0]).join(""),
        confidences: events.map((event) => event.slm_confidence),
        fed: events.map((event) => event.llm_tokens_fed),
        tops: events.map((event) => [event.slm_top.slice(0, 2), event.llm_top.slice(0, 2)]),
        reason,
      }))
    : runs,
  probes: (asked.probes ?? []).map(({ prompt, ids }) => [...probe(pair, tokenizer.encode(prompt), ids)]),
};
process.stdout.write(JSON.stringify(answer));
