/** The page's way to the worker that decodes, and a run under moving dials: who is asked what, and what comes of it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { EngineClient, browserName, canCompute, isSamePair } from "../../assets/transport/engine_client.js";
import { LiveDials } from "../../assets/transport/live_dials.js";
import { serveEngine } from "../../assets/engine/serve.js";
import { traceKey } from "../../assets/run/branch_diff.js";
import { dialsOf } from "../../assets/run/dials.js";
import { checkTrace } from "../../assets/run/trace_file.js";
import { checkAnswer } from "../../assets/tasks/answers.js";
import { ASSETS, fetchAsset } from "./engine_files.mjs";

const recorded = (name) => JSON.parse(readFileSync(`${ASSETS}traces/${name}.json`, "utf8"));
const FACTS = { name: "Bundled pair", revision: "", root: "", script: "", bytes: 1, version: "0", thresholds: {} };

/** A worker that is none: the engine itself, on files of this clone, or on none. */
class FakeWorker {
  constructor(files = fetchAsset) {
    this.sent = [];
    this.isOver = false;
    const take = serveEngine(
      (reply) => this.isOver || this.onmessage({ data: structuredClone(reply) }),
      () => files,
    );
    this.postMessage = (request) => {
      this.sent.push(request.kind);
      take(structuredClone(request));
    };
  }
  terminate() {
    this.isOver = true;
  }
}

const openClient = (files) => {
  const worker = new FakeWorker(files);
  return { worker, client: new EngineClient(FACTS, { hardware: "node", makeWorker: () => worker }) };
};
/** One for the tests that leave it as it is. */
const shared = openClient();
const at = (threshold) => dialsOf({ threshold });
const judge = (completion, origin) =>
  checkAnswer(completion, { data_type: "math", choices: [], true_answer: origin.answer.true_answer });

/** A run under tau, and promises of what is shown of it. */
function openLive(client) {
  const shown = [];
  const refusals = [];
  const waiting = [];
  const told = () => {
    for (const check of waiting) check();
  };
  const live = new LiveDials(client, {
    judge,
    onText: (trace) => {
      shown.push(trace);
      told();
    },
    onRefused: (why) => {
      refusals.push(why);
      told();
    },
  });
  const until = (found) =>
    new Promise((resolve) => {
      const check = () => found() && resolve();
      waiting.push(check);
      check();
    });
  const showsAt = (tau) => until(() => shown.at(-1)?.settings.threshold === tau && !live.isBusy);
  return { live, shown, refusals, until, showsAt };
}

test("a recorded run under tau 0 and 1 is what was recorded of either model alone", async () => {
  const { client, worker } = shared;
  assert.equal(await client.load(), true);
  assert.equal(client.state, "ready");
  const origin = recorded("bakery");
  const { live, shown, showsAt } = openLive(client);
  for (const [tau, name] of Object.entries({ 0: "bakery-slm", 1: "bakery-llm" })) {
    assert.equal(live.move(origin, at(Number(tau))), true);
    await showsAt(Number(tau));
    const trace = shown.at(-1);
    const alone = recorded(name);
    assert.equal(traceKey(trace), traceKey(alone));
    assert.deepEqual(trace.answer, alone.answer);
    assert.equal(checkTrace(structuredClone(trace)).parent.key, traceKey(origin));
    const { fork } = trace.parent;
    const isSame = (i) =>
      origin.events[i].token_id === trace.events[i].token_id && origin.events[i].source === trace.events[i].source;
    assert.ok(Array.from({ length: fork }, (_, i) => isSame(i)).every(Boolean) && !isSame(fork));
  }
  assert.equal(worker.sent.filter((kind) => kind === "know").length, 1);
  const nSent = worker.sent.length;
  live.move(origin, at(0)); // the way back
  assert.equal(shown.at(-1).settings.threshold, 0);
  assert.equal(worker.sent.length, nSent);
});

test("while tau moves on, one text is written at a time, and the last position is the one that stays", async () => {
  const { client, worker } = openClient();
  await client.load();
  const { live, shown, showsAt } = openLive(client);
  const origin = recorded("trip");
  const taus = Array.from({ length: 30 }, (_, i) => i / 30);
  for (const tau of taus) live.move(origin, at(tau));
  await showsAt(taus.at(-1));
  const nAsked = worker.sent.filter((kind) => kind === "move").length;
  assert.ok(nAsked <= 3, `${nAsked} texts were asked for`);
  live.move(origin, at(0.87));
  live.move(origin, at(0.87)); // the slider's own event and the page may both say so
  await showsAt(0.87);
  assert.equal(worker.sent.filter((kind) => kind === "move").length, nAsked + 1);
  live.move(origin, at(0.12));
  live.rest();
  live.move(origin, at(0.12)); // what was ended is written again
  await showsAt(0.12);
  live.move(origin, at(0.31));
  live.rest(); // tau is back
  live.move(recorded("bakery"), at(0.5));
  await showsAt(0.5);
  assert.equal(shown.at(-1).prompt.question, recorded("bakery").prompt.question);
  assert.ok(!shown.some((trace) => trace.settings.threshold === 0.31));
});

test("a run of another edition of its router, or of none that is here, is left as it was recorded", async () => {
  const { client } = shared;
  await client.load();
  const { live, refusals, until } = openLive(client);
  const recordedRun = recorded("bakery");
  const other = { ...recordedRun, router: { ...recordedRun.router, revision: "0".repeat(16) } };
  assert.equal(live.move(other, at(0.2)), true);
  await until(() => refusals.length === 1);
  assert.match(refusals[0], /another edition/);
  assert.equal(live.move(other, at(0.3)), false);
  const unknown = { ...recordedRun, router: { ...recordedRun.router, name: "nobody" } };
  live.move(unknown, at(0.2));
  await until(() => refusals.length === 2);
  assert.equal(live.isBusy, false);
});

test("a pair that cannot be loaded says why, and is tried again when it is asked for again", async () => {
  let isThere = false;
  const { client } = openClient(async (path) => {
    if (!isThere) throw new Error("no network");
    return fetchAsset(path);
  });
  assert.equal(await client.load(), false);
  assert.equal(client.state, "failed");
  assert.match(client.why, /no network/);
  isThere = true;
  client.makeWorker = () => new FakeWorker();
  assert.equal(await client.load(), true);
  const { prompt, events } = recorded("bakery");
  const reply = await client.probe(
    prompt.text,
    events.map((event) => event.token_id),
  );
  assert.equal(reply.tokens.length, events.length);
});

test("a worker that throws at once is tried again too", async () => {
  const { client } = openClient();
  const { makeWorker } = client;
  client.makeWorker = () => {
    throw new Error("no workers today");
  };
  assert.deepEqual([await client.load(), client.why], [false, "no workers today"]);
  client.makeWorker = makeWorker;
  assert.equal(await client.load(), true);
});

test("a worker that stops ends every run and every question", async () => {
  const { client, worker } = shared;
  await client.load();
  const ends = [];
  const { prompt, settings } = recorded("bakery");
  client.start({ router: "citer", settings, prompt }, ({ end }) => end && ends.push(end));
  const probed = client.probe(prompt.text, [1]);
  worker.onerror();
  assert.deepEqual(
    ends.map((end) => end.finish_reason),
    ["error"],
  );
  assert.match((await probed).error, /has stopped/);
});

test("weights are the same where their names say so, as in Python", () => {
  for (const [one, other, isSame] of [
    ["a.1-b.2", "a.1-b.2", true],
    ["a-b", "a.1-b.2", true],
    ["a.1-b", "a.1-b.2", true],
    ["a.1-b.2", "a.9-b.2", false],
    ["a.1-b.2", "c.1-b.2", false],
    ["a.1", "a.1-b.2", false],
    ["fake-revision", "a.1-b.2", false],
    ["", "a.1-b.2", false],
  ]) {
    assert.equal(isSamePair(one, other), isSame, `${one} and ${other}`);
    assert.equal(isSamePair(other, one), isSame);
  }
});

test("a browser is called by its name; one without workers computes nothing", () => {
  const agents = {
    "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36": "Chrome 130",
    "Mozilla/5.0 (Windows) AppleWebKit/537.36 (KHTML) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0": "Edge 130",
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0": "Firefox 128",
    "Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 (KHTML) Version/17.4 Mobile/15E148 Safari/604.1": "Safari 17",
    "something else": "unknown",
  };
  for (const [agent, name] of Object.entries(agents)) {
    assert.equal(browserName(agent), `a browser (${name}, WebAssembly, 1 thread)`);
  }
  assert.equal(canCompute(), false); // node has no Worker of this kind
  globalThis.Worker = class {};
  assert.equal(canCompute(), true);
  delete globalThis.Worker;
});
