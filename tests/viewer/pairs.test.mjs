/** What the pair picker says, from what the server gives. */

import assert from "node:assert/strict";
import test from "node:test";

import {
  buttonWords,
  bytesInWords,
  countInWords,
  dtypeOf,
  factsOf,
  planOf,
  progressOf,
  whyNot,
} from "../../assets/app/pair_words.js";

const variant = (more = {}) => ({
  memory_bytes: 5.4e9,
  peak_bytes: 5.4e9,
  converts: false,
  room: "beside",
  is_loaded: false,
  ...more,
});
const row = (more = {}) => ({
  name: "q",
  title: "Qwen",
  n_params: [630_167_424, 1_777_088_000],
  licences: ["Apache-2.0"],
  is_gated: false,
  is_bundled: false,
  n_missing: 0,
  fetch_bytes: 0,
  is_allowed: true,
  routers: [],
  variants: { bfloat16: variant(), float32: variant({ memory_bytes: 10.8e9 }) },
  ...more,
});
const listed = { free_bytes: 14e9, loaded_bytes: 20e6, pairs: [] };
const change = (more = {}) => ({
  stage: "fetch",
  done: 0,
  total: null,
  message: "",
  is_over: false,
  is_cancelling: false,
  n_runs: 0,
  title: "Qwen",
  ...more,
});

test("sizes are short and in the units of data sheets", () => {
  assert.deepEqual([19e6, 491_400_064, 1_608_720_832, 148e9, 5].map(bytesInWords), [
    "19 MB",
    "491 MB",
    "1.6 GB",
    "148 GB",
    "1 MB",
  ]);
  assert.deepEqual([443_520, 4_528_384, 630_167_424, 72_706_203_648].map(countInWords), [
    "0.44 M",
    "4.53 M",
    "0.63 B",
    "72.7 B",
  ]);
});

test("a pair that has no such format is meant in its own", () => {
  const bundled = row({ variants: { float32: variant() } });
  assert.equal(dtypeOf(bundled, "bfloat16"), "float32");
  assert.equal(dtypeOf(row(), "float32"), "float32");
});

test("facts: parameters, place, memory, licence, routers", () => {
  assert.deepEqual(factsOf(row(), "float32"), [
    "SLM 0.63 B, LLM 1.78 B parameters",
    "files are here",
    "10.8 GB memory in float32",
    "Apache-2.0",
    "routers without training only",
  ]);
  assert.equal(factsOf(row({ n_missing: 2, fetch_bytes: 1_608_720_832 }), "bfloat16")[1], "1.6 GB to download");
  assert.equal(
    factsOf(row({ n_missing: 1, fetch_bytes: 491_400_064 }), "bfloat16")[1],
    "491 MB to download, the other model is here",
  );
  assert.equal(factsOf(row({ n_missing: 2, fetch_bytes: null }), "bfloat16")[1], "a download of unknown size");
  assert.equal(factsOf(row({ is_bundled: true, routers: ["citer"] }), "bfloat16")[4], "trained routers: citer");
});

test("why a pair cannot be chosen", () => {
  assert.equal(whyNot(row(), "bfloat16", listed), "");
  assert.equal(
    whyNot(row({ variants: { bfloat16: variant({ is_loaded: true }) } }), "bfloat16", listed),
    "Loaded now.",
  );
  assert.match(whyNot(row({ is_allowed: false }), "bfloat16", listed), /not on this server/);
  const large = row({ variants: { bfloat16: variant({ room: "none", peak_bytes: 160e9 }) } });
  assert.equal(
    whyNot(large, "bfloat16", listed),
    "Too large for this machine: loading it takes 160 GB, and 14.0 GB can be free.",
  );
});

test("the plan says what happens, in order", () => {
  const plan = planOf(
    row({
      n_missing: 2,
      fetch_bytes: 140e9,
      is_gated: true,
      variants: { bfloat16: variant({ converts: true, room: "after" }) },
    }),
    "bfloat16",
  );
  const places = ["140 GB are downloaded first.", "It is gated", "unpacked once", "no room for both"].map((words) =>
    plan.indexOf(words),
  );
  assert.ok(
    places.every((place, i) => place > (places[i - 1] ?? -1)),
    plan,
  );
  assert.match(planOf(row(), "bfloat16"), /^The present pair goes on until this one is ready/);
});

test("progress has a share only while bytes are counted", () => {
  assert.deepEqual(progressOf(change({ done: 4e8, total: 16e8 })), {
    words: "Downloading: 400 MB of 1.6 GB",
    share: 0.25,
  });
  assert.deepEqual(progressOf(change({ done: 17e8, total: 16e8 })), {
    words: "Downloading: 1.6 GB of 1.6 GB",
    share: 1,
  });
  assert.equal(progressOf(change({ done: 5e6 })).share, null);
  assert.equal(progressOf(change()).words, "Looking for the files");
  assert.match(progressOf(change({ stage: "wait", n_runs: 2 })).words, /Waiting for 2 runs/);
  assert.match(progressOf(change({ stage: "load", is_cancelling: true })).words, /cannot be interrupted/);
  assert.deepEqual(progressOf(change({ stage: "failed", is_over: true, message: "No room." })), {
    words: "No room.",
    share: 1,
  });
});

test("the header's button names the pair, or how far the change is", () => {
  assert.equal(buttonWords({ pair: "Bundled pair", change: null }), "Bundled pair");
  assert.equal(buttonWords({ pair: "Qwen", change: change({ stage: "ready", is_over: true }) }), "Qwen");
  assert.equal(buttonWords({ pair: "Bundled pair", change: change({ done: 1, total: 4 }) }), "Changing the pair… 25%");
  assert.equal(buttonWords({ change: null }), "Choose a pair");
});
