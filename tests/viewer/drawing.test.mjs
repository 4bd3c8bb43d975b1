import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { niceTicks, spreadLabels } from "../../assets/viewer/chart.js";
import { formatTau, percent, probability, quantity } from "../../assets/run/format.js";
import { binConfidences } from "../../assets/viewer/histogram.js";
import { actionOf } from "../../assets/viewer/pointing.js";
import { makeEvents } from "./fixtures.mjs";
import { inDigits } from "../../assets/run/kinds.js";

const ASSETS = new URL("../../assets/", import.meta.url);
const MODULES = readdirSync(ASSETS, { recursive: true }).filter((name) => /^\w+\/\w+\.js$/.test(name));

test("a number is grouped as the browser groups it", () => {
  for (const n of [0, 7, 999, 1000, 12345, -1234567, 0.5, 1234.5625, 1e12]) {
    assert.equal(inDigits(n), n.toLocaleString("en", { maximumFractionDigits: 15 }));
  }
});

test("a histogram counts every token once, a confidence of 1 in the last bin", () => {
  const bins = binConfidences(makeEvents([0, 0.24, 0.25, 0.5, 1, 1], 0.5), 4);
  assert.deepEqual(bins, { counts: [2, 1, 1, 2], max: 2 });
});

test("numbers read as a person would write them", () => {
  assert.equal(quantity("bytes", 17_600_000_000), "17.6 GB");
  assert.equal(quantity("bytes", 512), "512 B");
  assert.equal(quantity("seconds", 0.0123), "12.3 ms");
  assert.equal(percent(1.0214), "102.1%");
  assert.equal(probability(0.9999), ">0.99");
  assert.equal(probability(0.001), "<0.01");
  assert.equal(formatTau(0.7), "0.70");
  assert.equal(formatTau(0.625), "0.625");
  assert.deepEqual([0.444285144139, 0.61235, 0.1 + 0.2, 0.999999, 1].map(formatTau), [
    "0.4443",
    "0.6123",
    "0.30",
    "0.999999",
    "1.00",
  ]);
});

test("axis ticks are round and start at zero; labels keep apart and inside", () => {
  assert.deepEqual(niceTicks(334, 4), [0, 100, 200, 300]);
  assert.deepEqual(niceTicks(0), [0]);
  const spread = spreadLabels([100, 98, 20], 30, 10, 110);
  assert.deepEqual(spread, [110, 80, 20]);
});

test("keys leave the focused control its own", () => {
  const key = (name, more = {}) => ({ key: name, target: null, ...more });
  assert.equal(actionOf(key("]")), "nextLlm");
  assert.equal(actionOf(key(" ")), "play");
  assert.equal(actionOf(key("ArrowRight", { ctrlKey: true })), null);
  assert.equal(actionOf(key("x")), null);
});

test("no module parses text as markup or code", () => {
  assert.ok(MODULES.length > 200);
  for (const name of MODULES) {
    const source = readFileSync(new URL(name, ASSETS), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    assert.doesNotMatch(source, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
  }
});
