import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";

import { decode } from "../../assets/engine/decode.js";
import { Desk } from "../../assets/engine/desk.js";
import { sharedUnder } from "../../assets/engine/fork.js";
import { probe } from "../../assets/engine/probe.js";
import { settle } from "../../assets/run/decision.js";
import { dialsOf } from "../../assets/run/dials.js";
import { RunReceiver } from "../../assets/run/stream.js";
import { checkTrace } from "../../assets/run/trace_file.js";
import { PROMPT, SETTINGS, fresh, loadBundled, withoutSeconds } from "./engine_files.mjs";
import { fewOrAll } from "./sampling.mjs";

const MAKER = { version: "0", hardware: "node" };
const loaded = loadBundled();

/** A desk, and what it has answered. */
async function openDesk() {
  const pair = await loaded;
  const replies = [];
  const waiting = [];
  const desk = new Desk(
    pair,
    (reply) => {
      replies.push(reply);
      for (const check of waiting) check();
    },
    MAKER,
  );
  const until = (found) =>
    new Promise((resolve) => {
      const check = () => replies.some(found) && resolve(replies.find(found));
      waiting.push(check);
      check();
    });
  const ended = (run) => until((reply) => reply.run === run && reply.end);
  const eventsOf = (run) => replies.filter((reply) => reply.run === run).flatMap((reply) => reply.tokens);
  return { pair, desk, replies, until, ended, eventsOf };
}

const request = (changes = {}) => ({ router: "citer", settings: SETTINGS, prompt: PROMPT, ...changes });

test("a desk's messages make a trace, through the page's own receiver", async () => {
  const { desk, replies, ended } = await openDesk();
  desk.take({ kind: "start", run: "one", request: request() });
  const { end } = await ended("one");
  const trace = { events: [] };
  const receiver = new RunReceiver({
    fetchRun: () => assert.fail("nothing is missing"),
    start: (head) => Object.assign(trace, head),
    append: (tokens) => trace.events.push(...tokens),
    end: ({ finish_reason: reason }) => (trace.finish_reason = reason),
    lost: assert.fail,
  });
  for (const reply of structuredClone(replies)) receiver.receive(reply);
  assert.equal(end.error, null);
  assert.equal(checkTrace(trace).events.length, trace.events.length);
  assert.equal(trace.finish_reason, end.finish_reason);
  assert.ok(trace.events.length > 10);
});

test("tau moved over a run gives what a new run at that tau gives, and the last position wins", async () => {
  const { pair, desk, replies, ended, eventsOf } = await openDesk();
  desk.take({ kind: "start", run: "base", request: request() });
  await ended("base");
  const taus = fewOrAll([0.1, 0.95, 0.4, 0.7], [0.1, 0.95, 0.4, 1, 0, 0.7]);
  for (const [i, threshold] of taus.entries())
    desk.take({ kind: "move", run: `tau ${i}`, base: "base", dials: dialsOf({ threshold }) });
  await ended(`tau ${taus.length - 1}`);
  assert.deepEqual(
    taus.slice(0, -1).map((_, i) => replies.find(({ run, end }) => run === `tau ${i}` && end).end.finish_reason),
    taus.slice(0, -1).map(() => "cancelled"),
  );
  const router = await pair.router("citer");
  const ids = pair.tokenizer.encode(PROMPT.text);
  for (const threshold of taus) {
    desk.take({ kind: "move", run: `again ${threshold}`, base: "base", dials: dialsOf({ threshold }) });
    await ended(`again ${threshold}`);
    const own = [...decode(pair, router, ids, { ...SETTINGS, threshold })];
    assert.deepEqual(withoutSeconds(eventsOf(`again ${threshold}`)), withoutSeconds(own));
    assert.equal(replies.filter(({ run }) => run === `again ${threshold}`).length, 2); // the whole text, and its end
  }
  // Every text so far is known: where all decisions stay those of one of them, only its last token is written anew.
  const { slm } = pair;
  const nWritten = [];
  slm.read = (ids) => nWritten.push(ids.length) && Object.getPrototypeOf(slm).read.call(slm, ids);
  desk.take({ kind: "move", run: "near", base: "base", dials: dialsOf({ threshold: taus[1] + 1e-9 }) });
  await ended("near");
  delete slm.read;
  assert.equal(nWritten.length, 1);
  const texts = ["near", `again ${taus[1]}`].map((run) => eventsOf(run).map(({ token_id: id }) => id));
  assert.deepEqual(texts[0], texts[1]);
});

test("a run under moved dials is what a new run there is, whichever text it goes on from", async () => {
  const { pair, desk, ended, eventsOf } = await openDesk();
  const router = await pair.router("citer-outcome");
  const ids = pair.tokenizer.encode(PROMPT.text);
  const long = { ...SETTINGS, threshold: 0.3, max_new_tokens: 120 };
  desk.take({ kind: "start", run: "base", request: request({ router: "citer-outcome", settings: long }) });
  await ended("base");
  const settled = (told) => {
    const events = [];
    settle(events, told);
    return withoutSeconds(events);
  };
  let [nGone, nWritten, nFresh] = [0, 0, 0];
  const counted = async (work) => {
    let n = 0;
    pair.slm.read = (read) => ++n && Object.getPrototypeOf(pair.slm).read.call(pair.slm, read);
    const result = await work();
    delete pair.slm.read;
    return [result, n];
  };
  const looks = [0.2, 0.5, 0.02, 1, 0, 0.2].map((ratio, i) => ({
    take_back: ratio,
    doubt_budget: [0.35, 0.05][i % 2],
  }));
  const others = [
    { look_every: 9, take_back: 0.2 },
    { take_back: 0.3, final_doubt: 0.02 },
    { threshold: 1 },
    { threshold: 0.3 },
  ];
  const places = fewOrAll([looks[0], looks[3], looks[4]], [...looks, ...others, ...looks.slice(0, 2)]);
  for (const [i, where] of places.entries()) {
    const dials = dialsOf({ threshold: 0, ...where });
    const run = `move ${i}`;
    const [, n] = await counted(async () => {
      desk.take({ kind: "move", run, base: "base", dials });
      await ended(run);
    });
    const [own, nOwn] = await counted(() => [...decode(pair, router, ids, { ...long, ...dials })]);
    const [moved, wanted] = [settled(eventsOf(run)), settled(own)];
    assert.deepEqual(moved, wanted, JSON.stringify(where));
    nGone += wanted.filter(({ discarded }) => discarded).length;
    nWritten += n;
    nFresh += nOwn;
  }
  assert.ok(nGone > 0 && nWritten < nFresh, `${nGone} taken back, ${nWritten} of ${nFresh} positions read`);
});

test("a position of a finished run is answered between runs, or it is said why not", async () => {
  const { desk, until } = await openDesk();
  const asked = { prompt: PROMPT, token_ids: [], settings: { ...SETTINGS, temperature: 1, top_p: 0.9, seed: 3 } };
  desk.take({ kind: "ask", probe: "first", what: "next_tokens", asked: { ...asked, text: " dollars in" } });
  desk.take({ kind: "ask", probe: "second", what: "next_tokens", asked: { ...asked, token_ids: [-1] } });
  const { answer, error } = await until((reply) => reply.probe === "first");
  assert.equal(error, null);
  assert.equal(answer.slm.top.length, 20);
  assert.equal(answer.slm.draw.number, answer.llm.draw.number);
  assert.equal(answer.n_typed, 2);
  assert.match((await until((reply) => reply.probe === "second")).error, /tokens that this pair does not know/);
});

test("of two branches each goes on from its own text when tau moves", async () => {
  const { desk, ended, eventsOf } = await openDesk();
  desk.take({ kind: "start", run: "parent", request: request() });
  await ended("parent");
  const events = eventsOf("parent").slice(0, 6);
  const parent = { key: "0".repeat(16), fork: 6 };
  for (const [i, name] of ["first", "second"].entries()) {
    const fork = { events, source: "llm", tokenId: eventsOf("parent")[6].slm_top[i + 1][0] };
    desk.take({ kind: "start", run: name, request: request({ fork, parent }) });
    await ended(name);
  }
  desk.take({ kind: "move", run: "moved", base: "second", dials: dialsOf(SETTINGS) });
  await ended("moved");
  const [moved, second] = ["moved", "second"].map((name) => eventsOf(name).map(({ token_id: id }) => id));
  assert.deepEqual(moved, second);
});

test("a token that a person forced stays forced when tau moves", async () => {
  const { desk, ended, eventsOf } = await openDesk();
  desk.take({ kind: "start", run: "parent", request: request() });
  await ended("parent");
  const events = eventsOf("parent").slice(0, 6);
  const fork = { events, source: "llm", tokenId: eventsOf("parent")[6].slm_top[1][0] };
  desk.take({ kind: "start", run: "branch", request: request({ fork, parent: { key: "0".repeat(16), fork: 6 } }) });
  await ended("branch");
  const branch = eventsOf("branch");
  assert.ok(branch[6].forced);
  const under = (events, changes = {}) => sharedUnder(events, SETTINGS, dialsOf({ ...SETTINGS, ...changes }), () => 0);
  assert.deepEqual(under(branch), branch);
  assert.equal(under(branch.slice(6, 7), { threshold: 0 })[0].token_id, fork.tokenId);
  assert.ok(under(branch, { take_back: 0.2 }).length <= 7); // what follows may be taken back
});

test("a run is cancelled between two tokens, and a probe waits for its turn", async () => {
  const { desk, until, ended, eventsOf, pair } = await openDesk();
  const long = { ...SETTINGS, threshold: 1, max_new_tokens: 900 };
  desk.take({ kind: "start", run: "long", request: request({ settings: { ...long, temperature: 2, seed: 3 } }) });
  desk.take({ kind: "probe", probe: "p", text: PROMPT.text, tokenIds: [5, 6, 7] });
  await until((reply) => reply.run === "long" && reply.tokens.length);
  desk.cancel("long");
  assert.equal((await ended("long")).end.finish_reason, "cancelled");
  assert.ok(eventsOf("long").length < 900);
  const reply = await until(({ kind }) => kind === "probe");
  assert.deepEqual(reply.tokens, [...probe(pair, pair.tokenizer.encode(PROMPT.text), [5, 6, 7])]);
  assert.equal(reply.cases, null);
  desk.take({ kind: "probe", probe: "q", text: PROMPT.text, tokenIds: [99999] });
  assert.match((await until((answer) => answer.probe === "q")).error, /tokens that this pair does not know/);
});

test("a probe with a known solution gives cases, and where both are wrong how the SLM goes on", async () => {
  const { desk, until, pair } = await openDesk();
  const { tokenizer } = pair;
  const solution = " The total is 4 * 12 + 3 * 5 = 63 dollars. The answer is \\boxed{63}.";
  const truthIds = tokenizer.encode(solution);
  const leaves = 9;
  const tokenIds = [...truthIds.slice(0, leaves), (truthIds[leaves] + 1) % pair.vocabSize, 5, 6];
  desk.take({ kind: "probe", probe: "p", text: PROMPT.text, tokenIds, solution });
  const { tokens, cases } = await until(({ kind }) => kind === "probe");
  assert.equal(tokens.length, tokenIds.length);
  assert.equal(cases.shared, leaves);
  assert.equal(cases.true.join(""), tokenizer.decode(truthIds.slice(0, leaves + 1)));
  assert.match(cases.case, /^[123]{10}$/);
  assert.ok(cases.case.includes("3"));
  for (const [i, ending] of cases.endings.entries()) {
    if (cases.case[i] !== "3") assert.equal(ending, null);
    else assert.ok(ending.startsWith(tokenizer.decode(truthIds.slice(0, i))));
  }
  desk.take({ kind: "probe", probe: "q", text: PROMPT.text, tokenIds, solution: solution.repeat(99) });
  assert.match((await until((answer) => answer.probe === "q")).cases.why, /reads fewer than/);
});

test("a run that breaks off keeps what was written until then", async () => {
  const { pair, desk, ended, eventsOf } = await openDesk();
  fresh(pair);
  const { floats } = pair.kernel;
  const at = pair.llm.decoder.norm;
  const kept = floats[at];
  floats[at] = NaN;
  // The pair's own routers ask the LLM for the first token already.
  const asked = request({ router: "margin", settings: { ...SETTINGS, threshold: 0.05 } });
  desk.take({ kind: "start", run: "broken", request: asked });
  const { end } = await ended("broken");
  pair.kernel.floats[at] = kept;
  fresh(pair);
  assert.match(end.error, /The LLM computed values that are not numbers/);
  assert.ok(eventsOf("broken").length > 0 && eventsOf("broken").every(({ source }) => source === "slm"));
});

test("what is asked wrongly is answered in words, and the desk goes on", async () => {
  const { desk, ended } = await openDesk();
  const cases = {
    router: [request({ router: "../x" }), /There is no router of that name/],
    tau: [request({ settings: { ...SETTINGS, threshold: 2 } }), /threshold is 2; it must be/],
    prompt: [request({ prompt: { ...PROMPT, text: "" } }), /The prompt is empty/],
    broken: [request({ prompt: null }), /The browser could not go on/],
  };
  for (const [run, [asked, words]] of Object.entries(cases)) {
    desk.take({ kind: "start", run, request: asked });
    const { end } = await ended(run);
    assert.equal(end.finish_reason, "error");
    assert.match(end.error, words);
  }
  desk.take({ kind: "move", run: "t", base: "nobody's", dials: dialsOf({}) });
  assert.match((await ended("t")).end.error, /is not known here any more/);
});

test("a worker takes messages and answers with messages", async () => {
  const worker = new Worker(new URL("./engine_worker.mjs", import.meta.url));
  const next = () => new Promise((resolve) => worker.once("message", resolve));
  try {
    worker.postMessage({ kind: "cancel", run: "early" });
    assert.match((await next()).error, /load it first/);
    worker.postMessage({ kind: "load", root: "", ...MAKER });
    const ready = await next();
    assert.equal(ready.kind, "ready", ready.error);
    assert.ok(ready.routers.includes("max-probability") && ready.pair.revision.length > 40);
    worker.postMessage({ kind: "start", run: "w", request: request({ settings: { ...SETTINGS, max_new_tokens: 3 } }) });
    const tokens = [];
    for (let reply = await next(); !reply.end; reply = await next()) tokens.push(...reply.tokens);
    assert.equal(tokens.length, 3);
    worker.postMessage({ kind: "load", root: "nowhere/", ...MAKER });
    assert.match((await next()).error, /could not go on/);
  } finally {
    await worker.terminate();
  }
});
