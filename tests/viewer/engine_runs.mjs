/**
 * Decodes what standard input asks for with the browser's engine, for tests/core/test_browser_engine.py to compare with
 * Python. In: `{encode, decode, runs, probes, insides, next, truths}`; out: the same, answered.
 */

import { decode } from "../../assets/engine/decode.js";
import { asOurs } from "../../assets/engine/fork.js";
import { solvedProblem, truthOf } from "../../assets/transport/run_truth.js";
import { inside } from "../../assets/engine/inside.js";
import { nextTokens } from "../../assets/engine/next_tokens.js";
import { probe } from "../../assets/engine/probe.js";
import { labelRun } from "../../assets/engine/run_labels.js";
import { traceHead } from "../../assets/engine/trace_head.js";
import { ProblemBook, rowsOf } from "../../assets/tasks/book.js";
import { fetchAsset, loadBundled } from "./engine_files.mjs";

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
  for (; !step.done; step = steps.next()) events.splice(step.value.index, events.length, step.value);
  return { ...head, events, finish_reason: step.value };
}

async function openBook() {
  const names = ["math", "mc"];
  const files = await Promise.all(names.map((name) => fetchAsset(`datasets/${name}.jsonl`)));
  const rows = files.map((file) => rowsOf(new TextDecoder().decode(file)));
  return new ProblemBook(new Map(names.map((name, i) => [name, rows[i]])), []);
}

/** Cases and labels as the page makes them of a probe. */
function truth(book, { prompt, ids }) {
  const problem = solvedProblem(book, prompt);
  if (!problem) return truthOf(null, null);
  const promptIds = tokenizer.encode(prompt.text);
  const steps = labelRun(pair, promptIds, ids, [...probe(pair, promptIds, ids)], problem.solution);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return truthOf(step.value, problem);
}

const runs = [];
for (const order of asked.runs ?? []) runs.push(await run(order));
const insides = [];
for (const { prompt, ids, router, afterLlm } of asked.insides ?? [])
  insides.push(inside(pair, await pair.router(router), tokenizer.encode(prompt), ids, afterLlm));
const book = asked.truths ? await openBook() : null;
const answer = {
  encode: (asked.encode ?? []).map((words) => tokenizer.encode(words)),
  decode: (asked.decode ?? []).map((ids) => tokenizer.decode(ids)),
  runs: asked.brief
    ? runs.map(({ events, finish_reason: reason }) => ({
        ids: events.map((event) => event.token_id),
        writers: events.map((event) => event.source[0]).join(""),
        confidences: events.map((event) => event.slm_confidence),
        fed: events.map((event) => event.llm_tokens_fed),
        gone: events.map((event) => (event.discarded ?? []).map(([id]) => id)),
        tops: events.map((event) => [event.slm_top.slice(0, 2), event.llm_top.slice(0, 2)]),
        reason,
      }))
    : runs,
  truths: (asked.truths ?? []).map((order) => truth(book, order)),
  insides,
  next: (asked.next ?? []).map((order) => nextTokens(pair, order)),
  probes: (asked.probes ?? []).map(({ prompt, ids }) => [...probe(pair, tokenizer.encode(prompt), ids)]),
};
process.stdout.write(JSON.stringify(answer));
