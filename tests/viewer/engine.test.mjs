import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";

import fc from "fast-check";

import { decode } from "../../assets/engine/decode.js";
import { Kernel } from "../../assets/engine/kernel.js";
import { readModelConfig } from "../../assets/engine/model_config.js";
import { BrowserPair } from "../../assets/engine/pair.js";
import { copyRow, putMatrix } from "../../assets/engine/matrices.js";
import { randomOf } from "../../assets/engine/randomness.js";
import { readSafetensors } from "../../assets/engine/safetensors.js";
import { drawnAt, refuseUnknownSettings } from "../../assets/engine/sampling.js";
import { inHex, sha256, sha512 } from "../../assets/engine/sha2.js";
import { TextStream } from "../../assets/engine/text_stream.js";
import { Tokenizer } from "../../assets/engine/tokenizer.js";
import { fewOrAll } from "./sampling.mjs";
import { PROMPT, SETTINGS, fetchAsset, fresh, loadBundled, withoutSeconds } from "./engine_files.mjs";

/** Numbers from -1 to 1 that are always the same, as bfloat16. */
function someHalves(n, seed) {
  let state = seed;
  return Uint16Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return new Uint32Array(new Float32Array([state / 2 ** 31 - 1]).buffer)[0] >>> 16;
  });
}
const widened = (halves) => new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
const loaded = loadBundled();

test("products of odd shapes, of floats and of halves, in any number of rows", async () => {
  for (const [nIn, nOut, nRows] of [
    [2, 1, 1],
    [99, 198, 3],
    [96, 160, 2],
    [256, 33, 5],
  ]) {
    const kernel = await Kernel.create();
    const halves = someHalves(nIn * nOut, 7);
    const weights = widened(halves);
    const matrices = [
      { shape: [nOut, nIn], halves },
      { shape: [nOut, nIn], floats: weights },
    ].map((tensor) => putMatrix(kernel, [tensor]));
    const [width, rows] = [matrices[0].nIn, widened(someHalves(nIn * nRows, 3))];
    const x = kernel.alloc(width * nRows);
    for (let r = 0; r < nRows; r++) kernel.floats.set(rows.subarray(r * nIn, (r + 1) * nIn), x + r * width);
    const found = matrices.map((matrix) => {
      const y = kernel.alloc(matrix.nOut * nRows);
      kernel.multiply(x, width, matrix, y, matrix.nOut, nRows, false);
      const together = kernel.view(y, matrix.nOut * nRows).slice();
      for (let r = 0; r < nRows; r++) {
        kernel.multiply(x + r * width, width, matrix, y, matrix.nOut, 1, false);
        assert.deepEqual(kernel.view(y, matrix.nOut), together.subarray(r * matrix.nOut, (r + 1) * matrix.nOut));
      }
      kernel.multiply(x, width, matrix, y, matrix.nOut, 1, true);
      assert.ok(Math.abs(kernel.floats[y] - (together[0] + together[(nRows - 1) * matrix.nOut])) < 1e-4 || nRows > 1);
      return together;
    });
    assert.deepEqual(found[0], found[1]);
    for (let r = 0; r < nRows; r++) {
      for (let o = 0; o < nOut; o++) {
        let sum = 0;
        for (let i = 0; i < nIn; i++) sum += rows[r * nIn + i] * weights[o * nIn + i];
        assert.ok(Math.abs(sum - found[0][r * matrices[0].nOut + o]) < 1e-5, `${nIn} ${nOut} ${r} ${o}`);
      }
    }
    const row = kernel.alloc(width);
    for (const matrix of matrices) {
      copyRow(kernel, matrix, nOut - 1, row);
      assert.deepEqual(kernel.view(row, nIn), weights.subarray((nOut - 1) * nIn));
    }
  }
});

test("powers of e, softmax and the gate, to seven digits; NaN stays NaN", async () => {
  const kernel = await Kernel.create();
  const [x, y] = [kernel.alloc(400), kernel.alloc(400)];
  const values = Float32Array.from({ length: 400 }, (_, i) => -100 + i * 0.45);
  kernel.floats.set(values, x);
  kernel.exponentials(x, y, 400, 0);
  values.forEach((value, i) => {
    if (value < -87) assert.equal(kernel.floats[y + i], 0);
    else if (value < 88) assert.ok(Math.abs(kernel.floats[y + i] / Math.exp(value) - 1) < 2e-7, `e^${value}`);
  });
  for (const n of [1, 2, 3, 4, 7, 64]) {
    kernel.floats.set(values.subarray(200, 200 + n), x);
    kernel.softmax(x, n, 0.25);
    const weights = [...values.subarray(200, 200 + n)].map((value) => Math.exp(value / 4));
    const sum = weights.reduce((a, b) => a + b);
    weights.forEach((weight, i) => assert.ok(Math.abs(kernel.floats[x + i] - weight / sum) < 1e-6));
  }
  kernel.floats.set([-90, -1, 0, 100], x);
  kernel.floats.set([2, 2, 2, 2], y);
  kernel.gate(x, y, 4);
  [0, -2 / (1 + Math.E), 0, 200].forEach((value, i) => assert.ok(Math.abs(kernel.floats[x + i] - value) < 1e-5));
  kernel.floats.set([NaN, 0, 0, 0], x);
  kernel.exponentials(x, y, 4, 0);
  assert.ok(Number.isNaN(kernel.floats[y]));
});

test("hashes are the platform's, random numbers are Python's", () => {
  for (const n of [0, 1, 55, 56, 63, 64, 111, 112, 127, 128, 300]) {
    const bytes = new Uint8Array(n).fill(n);
    assert.equal(inHex(sha256(bytes)), createHash("sha256").update(bytes).digest("hex"));
    assert.equal(inHex(sha512(bytes)), createHash("sha512").update(bytes).digest("hex"));
  }
  // python3 -c 'import random; print([random.Random(t).random() for t in ("a", "citer:0:0", "citer:-5:4095")])'
  assert.deepEqual(
    ["a", "citer:0:0", "citer:-5:4095"].map(randomOf),
    [0.2720295377534757, 0.6526050011950865, 0.6433977120141585],
  );
});

test("a nucleus leaves out the rest, and ids break ties", () => {
  const logits = Float32Array.from([0, 3, 3, 1, -50]);
  const at = (topP, seeds) =>
    new Set(seeds.map((seed) => drawnAt(logits, { ...SETTINGS, temperature: 1, top_p: topP, seed }, 4).id));
  const seeds = Array.from({ length: 30 }, (_, i) => i);
  assert.deepEqual([...at(0.2, seeds)], [1]);
  assert.deepEqual([...at(0.6, seeds)].sort(), [1, 2]);
  assert.ok(!at(1, seeds).has(4));
});

test("a setting that does nothing here is refused", () => {
  refuseUnknownSettings(SETTINGS);
  assert.throws(() => refuseUnknownSettings({ ...SETTINGS, min_p: 0.5 }), /has no setting min_p/);
});

test("a text reads the same to the bit in one pass, in parts and token by token", async () => {
  const pair = await loaded;
  const ids = pair.tokenizer.encode(PROMPT.text.repeat(3));
  assert.ok(ids.length > 130);
  for (const { decoder } of [pair.slm, pair.llm]) {
    const ways = [[ids.length], [1, 2, 3, 64, ids.length - 70], ids.map(() => 1)];
    const seen = ways.map((sizes) => {
      const cache = decoder.newCache();
      let at = 0;
      for (const size of sizes) decoder.read(ids.slice(at, (at += size)), cache);
      return pair.kernel.view(decoder.at.logits, pair.vocabSize).slice();
    });
    assert.deepEqual(seen[1], seen[0]);
    assert.deepEqual(seen[2], seen[0]);
    const cache = decoder.newCache();
    for (const _ of decoder.readEach(ids, cache)); // eslint-disable-line no-unused-vars
    assert.deepEqual(pair.kernel.view(decoder.at.logits, pair.vocabSize).slice(), seen[0]);
  }
});

test("what another text left in the caches changes nothing", async () => {
  const pair = await loaded;
  const router = await pair.router("bidirectional-entropy");
  const ids = pair.tokenizer.encode(PROMPT.text);
  const write = () => [...decode(pair, router, ids, SETTINGS)];
  fresh(pair);
  const first = write();
  pair.slm.read([...ids.slice(0, 9), 5, 6, 7]);
  assert.deepEqual(withoutSeconds(write()), withoutSeconds(first));
  const fork = { events: first.slice(0, 11), source: null, tokenId: null };
  fresh(pair);
  assert.deepEqual(withoutSeconds([...decode(pair, router, ids, SETTINGS, fork)]), withoutSeconds(first.slice(11)));
});

/** The tokens that a pattern of writers (true: the LLM) writes behind a text, each from a pass over all of it. */
function uncached({ slm, llm, kernel, vocabSize }, caches, pattern, promptIds, n) {
  const ids = promptIds.slice();
  for (let i = 0; i < n; i++) {
    const isLlm = pattern[i % pattern.length];
    const { decoder } = isLlm ? llm : slm;
    const cache = caches[Number(isLlm)];
    cache.rewind(0);
    decoder.read(ids, cache);
    const logits = kernel.view(decoder.at.logits, vocabSize);
    ids.push(logits.indexOf(Math.max(...logits)));
  }
  return ids.slice(promptIds.length);
}

test("any decisions, cut back anywhere and gone on, are the loop without caches", async () => {
  const bundled = await loaded;
  const pair = Object.create(bundled, { endIds: { value: new Set() } });
  const caches = [pair.slm, pair.llm].map(({ decoder }) => decoder.newCache());
  const [n, promptIds] = [10, [11, 402, 77]];
  const pattern = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
  const cuts = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.nat(9)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(pattern, cuts, (isLlm, asked) => {
      const doubt = (confidence) => 1 - confidence;
      const router = {
        name: "pattern",
        doubt,
        confidence: ({ position }) => (isLlm[position % isLlm.length] ? 0.1 : 0.9),
      };
      const settings = { ...SETTINGS, max_new_tokens: n };
      let events = [];
      const written = (most, source, tokenId) => {
        const steps = decode(pair, router, promptIds, settings, { events, source, tokenId });
        const nMore = Math.min(most, n - events.length);
        return Array.from({ length: nMore }, () => steps.next().value);
      };
      for (const [nSteps, length] of [...asked, [n, n]]) {
        written(nSteps, "llm", 500 + nSteps); // of which nothing stays
        events = [...events, ...written(nSteps, null, null)].slice(0, length);
      }
      assert.deepEqual(
        events.map((event) => event.token_id),
        uncached(pair, caches, isLlm, promptIds, n),
      );
      let read = 0;
      for (const [i, event] of events.entries()) {
        assert.equal(event.source === "llm", isLlm[i % isLlm.length]);
        assert.equal(event.llm_tokens_fed, event.source === "llm" ? promptIds.length + i - read : 0);
        if (event.source === "llm") read = promptIds.length + i;
      }
    }),
    { numRuns: fewOrAll(5, 25), seed: 14 },
  );
});

test("weights that are no numbers end a run in words", async () => {
  const pair = await loaded;
  const router = await pair.router("max-probability");
  const { floats } = pair.kernel;
  const at = pair.llm.decoder.norm;
  const kept = floats[at];
  floats[at] = NaN;
  const run = decode(pair, router, [5, 6], { ...SETTINGS, threshold: 1 });
  assert.throws(() => run.next(), /The LLM computed values that are not numbers/);
  floats[at] = kept;
  fresh(pair);
});

test("what cannot be followed says why", async () => {
  const pair = await loaded;
  const router = await pair.router("citer");
  const start = (ids, fork, settings = SETTINGS) => decode(pair, router, ids, settings, fork).next();
  const fork = (events, source = null, tokenId = null) => ({ events, source, tokenId });
  const event = start([5]).value;
  assert.throws(() => start([]), /The prompt is empty/);
  assert.throws(() => start(Array(1024).fill(5)), /The prompt has 1,024 tokens; this pair reads at most 1,023/);
  assert.throws(() => start([5], fork([{ ...event, token_id: 99999 }])), /tokens that this pair does not know/);
  assert.throws(() => start([5], fork([{ ...event, token_id: [...pair.endIds][0] }])), /The text ends before/);
  assert.throws(() => start([5], fork([event, event]), { ...SETTINGS, max_new_tokens: 2 }), /2 tokens already/);
  assert.throws(() => start([5], fork([event], null, 4)), /A forced token needs a model/);
  await assert.rejects(pair.router("../secret"), /There is no router of that name/);
});

test("files that are not what they should be are refused in words", async () => {
  const file = await fetchAsset("models/slm/model.safetensors");
  assert.throws(() => readSafetensors(file.slice(0, 4), "x"), /x is not a whole safetensors file \(it is too short\)/);
  assert.throws(() => readSafetensors(file.slice(0, 100), "x"), /its header is cut off/);
  assert.throws(() => readSafetensors(file.slice(0, -10), "x"), /an entry is cut off/);
  const config = JSON.parse(new TextDecoder().decode(await fetchAsset("models/slm/config.json")));
  const refused = {
    architectures: ["GPT2"],
    hidden_act: "gelu",
    layer_types: ["sliding_attention"],
    head_dim: 20,
    hidden_size: 100,
  };
  for (const [key, value] of Object.entries(refused)) {
    assert.throws(() => readModelConfig({ ...config, [key]: value }, "config.json"), /does not compute: it needs/, key);
  }
  const document = JSON.parse(new TextDecoder().decode(await fetchAsset("models/tokenizer/tokenizer.json")));
  assert.throws(() => new Tokenizer({ ...document, normalizer: { type: "NFC" } }), /a normalizer/);
  assert.throws(() => new Tokenizer({ ...document, pre_tokenizer: { type: "Whitespace" } }), /the split Whitespace/);
  const wider = (path) =>
    fetchAsset(path).then((bytes) =>
      path === "models/slm/config.json"
        ? new TextEncoder().encode(JSON.stringify({ ...config, intermediate_size: 128 })).buffer
        : bytes,
    );
  await assert.rejects(BrowserPair.load(wider), /does not fit its configuration: .*gate_proj.weight must be 128 x 96/);
});

test("characters of several tokens come out whole, and what is cut off as a mark", async () => {
  const { tokenizer } = await loaded;
  const text = "5 € 👩‍👧 \ufeffdone";
  const stream = new TextStream(tokenizer);
  const ids = tokenizer.encode(text);
  const deltas = ids.map((id) => stream.push(id));
  assert.equal(deltas.join("") + stream.flush(), text);
  assert.ok(deltas.every((delta) => !delta.includes("\ufffd")));
  const cut = new TextStream(tokenizer);
  assert.equal(cut.push(tokenizer.encode("€")[0]) + cut.flush(), "\ufffd");
});
