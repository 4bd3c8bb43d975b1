import assert from "node:assert/strict";
import test from "node:test";

import { decode } from "../../assets/engine/decode.js";
import { Desk } from "../../assets/engine/desk.js";
import { MAX_ROUTER_BYTES, readRouterFile } from "../../assets/engine/router_file.js";
import { readSafetensors } from "../../assets/engine/safetensors.js";
import { tauAtShare } from "../../assets/run/own_router.js";
import { EngineClient } from "../../assets/transport/engine_client.js";
import { PROMPT, SETTINGS, fetchAsset, fresh, loadBundled, withoutSeconds } from "./engine_files.mjs";
import { fewOrAll } from "./sampling.mjs";
import { ROUTERS, cardOf, inOneFile } from "./router_files.mjs";

const loaded = loadBundled();

for (const shipped of ["citer", "citer-plus", "query-level"]) {
  test(`${shipped} from one file scores every token as from its two`, async () => {
    const pair = await loaded;
    const card = await cardOf(shipped);
    const name = pair.addRouter(await inOneFile(shipped));
    assert.equal(name, `own-${card.revision.slice(0, 8)}`);
    const { used } = pair.kernel;
    assert.equal(pair.addRouter(await inOneFile(shipped)), name);
    assert.equal(pair.kernel.used, used); // it is here already
    const [own, two] = [await pair.router(name), await pair.router(shipped)];
    assert.deepEqual(
      [own.revision, own.label, own.defaultThreshold, own.slmPrior],
      [card.revision, card.label, card.recommended_threshold, two.slmPrior],
    );
    const ids = pair.tokenizer.encode(PROMPT.text);
    const settings = { ...SETTINGS, max_new_tokens: fewOrAll(14, 40) };
    const [ours, theirs] = [own, two].map((router) => {
      fresh(pair);
      return withoutSeconds([...decode(pair, router, ids, settings)]);
    });
    assert.deepEqual(ours, theirs);
    assert.ok(new Set(ours.map((event) => event.slm_confidence)).size > (shipped === "query-level" ? 0 : 10));
  });
}

/** What is done to a file, and what is then said. */
const DAMAGED = {
  "is empty": [() => new ArrayBuffer(0), /not a whole safetensors file \(it is too short\)/],
  "is a picture": [(file) => new Uint8Array(file.byteLength).fill(200).buffer, /its header is cut off/],
  "has a header that is no JSON": [
    (file) => new Uint8Array(file).map((byte, i) => (i === 8 ? 65 : byte)).buffer,
    /its header is no JSON/,
  ],
  "is cut off": [(file) => file.slice(0, -4), /an entry is cut off/],
  "is too large": [() => new ArrayBuffer(MAX_ROUTER_BYTES + 1), /has 400,001 bytes, and at most 400,000 are read/],
};
/** What its header says instead, and what is then said. */
const HEADERS = {
  "holds no card": [{ about: {} }, /holds no card/],
  "says nothing of itself": [{ about: undefined }, /holds no card/],
  "has a card that is a list": [{ about: { card: "[1, 2]" } }, /schema_version is nothing; it must be 1/],
  "has a card that is no JSON": [{ about: { card: "{" } }, /This is not JSON/],
  "has a card of endless depth": [{ about: { card: "[".repeat(10_000) } }, /inside each other/],
  "is of a later version": [{ card: { schema_version: 2 } }, /schema_version is 2; it must be 1/],
  "has no label": [{ card: { label: undefined } }, /its card.label is missing; it must be a text of 1 to 200/],
  "has a label that is none": [{ card: { label: ["x"] } }, /its card.label is a list of 1; it must be/],
  "has a tau beyond 1": [
    { card: { recommended_threshold: 7 } },
    /recommended_threshold is 7; it must be a number from 0/,
  ],
  "has shares that fall": [
    { card: { training: { llm_shares_at_tau: [0, 0.9, ...Array(98).fill(0.5), 1] } } },
    /of its card's training fall/,
  ],
  "is of another pair": [{ card: { pair_revision: "a-b" } }, /trained for a pair with other weights/],
  "reads prompts of another form": [{ card: { prompt_form: "chat" } }, /with other weights or prompts/],
  "reads other states": [{ card: { hidden_size: 64 } }, /reads hidden states of 64 numbers/],
  "is of an unknown kind": [{ card: { kind: "oracle" } }, /of a kind or version that this page does not know/],
  "is of another kind than its card says": [{ card: { kind: "citer-plus" } }, /do not fit its card/],
  "names other weights": [{ card: { revision: "0".repeat(16) } }, /not those that its card names/],
  "has a tensor of another shape": [
    { entries: { "0.bias": (entry) => ({ ...entry, shape: [2, entry.shape[0] / 2] }) } },
    /do not fit its card \(0.bias\)/,
  ],
  "has a tensor in whole numbers": [
    { entries: { "0.bias": (entry) => ({ ...entry, dtype: "I32" }) } },
    /neither bfloat16 nor float32/,
  ],
  "has a tensor that begins before the file": [
    { entries: { "0.bias": (entry) => ({ ...entry, data_offsets: [-4, entry.shape[0] * 4 - 4] }) } },
    /an entry has no shape or place/,
  ],
  "has one tensor more": [
    { entries: { more: () => ({ dtype: "F32", shape: [0], data_offsets: [0, 0] }) } },
    /not those/,
  ],
  "has very many tensors": [
    { entries: Object.fromEntries([...Array(40).keys()].map((n) => [`t${n}`, () => ({})])) },
    /more than 32 tensors/,
  ],
};

test("a file that is damaged, foreign or none is refused in a sentence, and the pair goes on", async () => {
  const pair = await loaded;
  const before = [...pair.routers.keys()];
  const whole = await inOneFile("citer");
  const cases = [
    ...Object.entries(DAMAGED).map(([what, [damage, said]]) => [what, damage(whole), said]),
    ...(await Promise.all(
      Object.entries(HEADERS).map(async ([what, [how, said]]) => [what, await inOneFile("citer", how), said]),
    )),
  ];
  for (const [what, file, said] of cases) {
    assert.throws(
      () => pair.addRouter(file),
      ({ name, message }) => name === "Error" && said.test(message) && message.length < 300,
      what,
    );
  }
  assert.deepEqual([...pair.routers.keys()], before);
});

test("weights that are no numbers, or give none, are refused", async () => {
  const pair = await loaded;
  for (const [key, value, said] of [
    ["0.weight", NaN, /values that are not numbers/],
    ["1.running_var", -1e6, /scores that are not numbers/],
  ]) {
    const file = await inOneFile("citer", { change: [key, value] });
    assert.throws(() => pair.addRouter(file), said);
  }
});

test("a card is read by the table that Python checks with", async () => {
  for (const name of fewOrAll(["citer"], ROUTERS)) {
    const { card, weights } = readRouterFile(await inOneFile(name));
    const shipped = await cardOf(name);
    assert.equal(card.label, shipped.label);
    assert.deepEqual(card.training.confidence_quantiles, shipped.training.confidence_quantiles);
    const two = readSafetensors(await fetchAsset(`routers/embedded/${name}.safetensors`), name);
    assert.deepEqual([...weights], [...two]);
  }
});

test("a desk takes a router in between runs, and says in words why it does not", async () => {
  const pair = await loaded;
  const replies = [];
  const desk = new Desk(pair, (reply) => replies.push(reply), { version: "0", hardware: "node" });
  const ask = (probe, asked) => desk.take({ kind: "ask", probe, what: "add_router", asked });
  ask("good", await inOneFile("citer-outcome"));
  ask("bad", new ArrayBuffer(3));
  const router = `own-${(await cardOf("citer-outcome")).revision.slice(0, 8)}`;
  desk.take({ kind: "start", run: "own", request: { router, settings: SETTINGS, prompt: PROMPT } });
  desk.take({ kind: "start", run: "away", request: { router: "own-00000000", settings: SETTINGS, prompt: PROMPT } });
  const deadline = Date.now() + 20_000;
  while (!replies.some(({ run, end }) => run === "away" && end) && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const [good, bad] = ["good", "bad"].map((id) => replies.find(({ probe }) => probe === id));
  assert.deepEqual([good.answer, good.error], [router, null]);
  assert.match(bad.error, /not a whole safetensors file/);
  assert.match(replies.find(({ run, end }) => run === "away" && end).end.error, /is not here.*Get its file/);
});

test("a pair that is loaded anew is given the routers again, before any run", async () => {
  const posted = [];
  const makeWorker = () => ({ postMessage: (message) => posted.push(message), terminate() {} });
  const client = new EngineClient({ root: "", script: "", version: "", thresholds: {} }, { hardware: "", makeWorker });
  const file = await inOneFile("citer");
  client.routerFiles.push(file);
  for (let round = 1; round <= 2; round++) {
    const isReady = client.load();
    client.worker.onmessage({ data: { kind: "ready" } });
    assert.ok(await isReady);
    client.start({}, () => {});
    assert.deepEqual(
      posted.splice(0).map(({ kind, what, asked }) => [kind, what, asked === file]),
      [
        ["load", undefined, false],
        ["ask", "add_router", true],
        ["start", undefined, false],
      ],
    );
    client.worker.onerror();
  }
});

test("a share becomes a tau between a card's quantiles, as in Python", () => {
  // The values of `test_a_share_becomes_a_tau_between_the_cards_quantiles`.
  const quantiles = [0.1, 0.2, 0.4, 0.8, 0.9];
  for (const [share, tau] of [
    [0, 0.1],
    [0.1, 0.14],
    [0.5, 0.4],
    [0.625, 0.6],
    [0.75, 0.8],
    [1, 0.9],
  ])
    assert.ok(Math.abs((tauAtShare(quantiles, share) ?? NaN) - tau) < 1e-12, `${share}`);
  assert.equal(tauAtShare([], 0.5), null);
});
