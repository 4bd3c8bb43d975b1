import assert from "node:assert/strict";
import test from "node:test";

import { CostModel, forwardBytes, forwardFlops, weightBytes, fitWords, storedBytes } from "../../assets/run/cost.js";
import { choiceOf, controlsOf, priceOf } from "../../assets/app/page_price.js";
import { speedOf } from "../../assets/viewer/counters.js";
import { RunSeries, samplePoints } from "../../assets/run/series.js";
import { DEVICE, LLM, SLM, makeEvents } from "./fixtures.mjs";

const model = new CostModel({ slm: SLM, llm: LLM, device: DEVICE, routerParams: 77 });
const CONFIDENCES = Array.from({ length: 60 }, (_, i) => ((i * 37) % 60) / 60);

const METRICS = ["bytes", "flops", "seconds"];

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The same totals as `RunSeries` keeps, added up from the start. */
function summarize(events) {
  const total = (cost) =>
    Object.fromEntries(METRICS.map((metric) => [metric, sum(events.map((event) => cost(event)[metric]))]));
  return { routed: total((event) => model.step(event)), llmOnly: total((event) => model.alone(model.llm, event)) };
}

function seriesAsRun(events) {
  const series = new RunSeries(model, 2);
  for (const event of events) series.push(event, event.source === "llm", event.llm_tokens_fed);
  return series;
}

test("an untied input table is not streamed", () => {
  assert.equal(weightBytes(SLM), 2000);
  assert.equal(weightBytes(LLM), (100000 - 50 * 32) * 2);
});

test("one forward: weights once, KV read and written, two operations per parameter and token", () => {
  assert.equal(forwardBytes(SLM, 3, 7), 2000 + 2 * 2 * 2 * 8 * 2 * 10);
  assert.equal(forwardFlops(SLM, 2, 7), 2 * 1000 * 2 + 4 * 2 * 4 * 8 * 2 * 8);
});

test("at tau 1 the router path costs more than the LLM alone, and nothing clips it", () => {
  const series = seriesAsRun(makeEvents(CONFIDENCES, 1));
  assert.ok(series.at("routed", "bytes") > series.at("llmOnly", "bytes"));
});

test("the series is the running sum of the steps", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  const series = seriesAsRun(events);
  const summary = summarize(events);
  for (const metric of METRICS) {
    assert.equal(series.at("routed", metric), summary.routed[metric]);
    assert.equal(series.at("llmOnly", metric), summary.llmOnly[metric]);
  }
  const half = summarize(events.slice(0, 30));
  assert.equal(series.at("routed", "bytes", 30), half.routed.bytes);
  const totals = series.totals();
  assert.equal(totals.nLlmTokens, events.filter((event) => event.source === "llm").length);
  assert.equal(totals.handOffs, events.filter((event, i) => i && event.source !== events[i - 1].source).length);
});

test("thinned lines keep both ends", () => {
  assert.deepEqual(samplePoints(3), [0, 1, 2, 3]);
  const points = samplePoints(5000, 100);
  assert.equal(points[0], 0);
  assert.equal(points.at(-1), 5000);
  assert.ok(points.length <= 102);
});

test("a pair that does not fit the device is said to be one, from the weights of both models", () => {
  const model = (n_params, more = {}) => ({ ...SLM, n_params, bytes_per_element: 2, block_bits: null, ...more });
  const device = { ...DEVICE, name: "A device", memory_bytes: 80e9 };
  assert.equal(fitWords(model(8e9), model(32e9), device), ""); // 80 GB, to the last byte
  assert.match(
    fitWords(model(8e9), model(70e9), device),
    /^Does not fit one A device: the weights take 156 GB, it has 80 GB. At least 2 /,
  );
  assert.match(fitWords(model(8e9), model(405e9), device), /At least 11 are needed/);
  assert.equal(fitWords(model(8e9), model(405e9), { ...device, memory_bytes: null }), "");
  // Both tables of an untied model are stored, though a pass streams one; quantized blocks are as small as they are.
  const tables = SLM.vocab_size * SLM.hidden_size;
  const untied = model(10 * tables, { tied_embeddings: false });
  assert.equal(storedBytes(untied), 20 * tables);
  assert.equal(storedBytes({ ...untied, block_bits: 4 }), 2 * 2 * tables + 8 * tables * 0.5);
});

test("a price is of what was chosen, on what was typed", () => {
  const pair = { label: "Large", slm: { ...SLM, n_params: 8e9 }, llm: { ...LLM, n_params: 70e9 }, routerParams: 5 };
  const list = { device: { ...DEVICE, bandwidth: 2e12, peak_flops: 5e14, memory_bytes: 80e9 }, pairs: [pair] };
  assert.deepEqual(priceOf(list, "This pair", 2000, 500), { pricing: null, said: "" });
  const priced = priceOf(list, "Large", 2000, 500);
  assert.deepEqual(priced.pricing, { ...pair, device: list.device });
  assert.match(priced.said, /^Does not fit/);
  const own = priceOf(list, "Large", 1000, 500); // whose memory is not known
  assert.deepEqual([own.said, own.pricing.device.name, own.pricing.device.bandwidth], ["", "your device", 1e12]);
  assert.equal(priceOf(list, "This pair", 1000, 500).pricing.slm, undefined);
  for (const wrong of [0, -1, NaN, undefined, 1e9 + 1]) {
    const said = priceOf(list, "Large", wrong, 500);
    assert.equal(said.pricing, undefined);
    assert.match(said.said, /above 0/);
  }
});

test("what is left of a price's controls brings them back", () => {
  const list = {
    device: { ...DEVICE, bandwidth: 2e12, peak_flops: 5e14 },
    pairs: [{ label: "Large" }],
    own: "This pair",
  };
  for (const controls of [
    ["This pair", 2000, 500],
    ["Large", 2000, 500],
    ["This pair", 935.5, 500],
    ["Large", 1, 0.5],
  ])
    assert.deepEqual(controlsOf(list, choiceOf(list, ...controls)), controls);
  assert.deepEqual(choiceOf(list, "This pair", 2000, 500), { pair: null, bandwidth: null, compute: null });
});

test("the tokens a second of another price are its own estimate, never the run's measured ones", () => {
  const events = makeEvents(CONFIDENCES, 0.6).map((event) => ({ ...event, slm_s: 0.1, router_s: 0, llm_s: 0 }));
  const series = seriesAsRun(events);
  const view = (pricing, firstFlip = -1) => ({
    series,
    shown: events.length,
    prices: { pricing },
    decisions: { firstFlip },
  });
  const own = speedOf(view(null));
  assert.equal(own.label, "tokens/s, measured");
  assert.equal(own.perSecond, events.length / series.totals().measuredS);
  assert.equal(speedOf(view(null, 3)).perSecond, null);
  const other = speedOf(view({ label: "Large" }));
  assert.equal(other.label, "tokens/s, estimated");
  assert.equal(other.perSecond, events.length / series.at("routed", "seconds"));
  assert.notEqual(other.perSecond, own.perSecond);
});
