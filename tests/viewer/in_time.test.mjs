/** A run with look-back in the order of time: doubts, cells and looks, against events whose numbers are known. */

import assert from "node:assert/strict";
import test from "node:test";

import { beforeTakeBack, whereSlipped } from "../../assets/learn/score.js";
import { doubtOf } from "../../assets/run/decision.js";
import { whenItLooks } from "../../assets/viewer/legend.js";
import { timePaths, timeWords, inTime } from "../../assets/viewer/time_strip.js";

const token = (index, text, confidence, more = {}) => ({
  ...{ index, text, source: "slm", slm_confidence: confidence, llm_tokens_fed: 0 },
  ...more,
});
const byLlm = { source: "llm", llm_tokens_fed: 9 };

/**
 * Two tokens stay, three are taken back for the LLM's at place 2; the SLM writes one, the LLM is called and takes
 * nothing back; the SLM writes two that nobody reads.
 */
const EVENTS = [
  token(0, "a", 0.75),
  token(1, "b", 0.5),
  token(2, "C", 0.75, {
    ...byLlm,
    discarded: [
      [7, "x", 0.75],
      [8, "y", 0.5],
      [9, "z", 0.25],
    ],
    read: [
      [0.9, 0.9],
      [0.1, 0.8],
      [0.7, 0.7],
      [0.6, 0.6],
    ],
  }),
  token(3, "d", 0.75),
  token(4, "E", 0.25, byLlm),
  token(5, "f", 0.5, { forced: true }),
  token(6, "g", 0.5),
];
const IS_LLM = [0, 0, 1, 0, 1, 0, 0];

test("a doubt is how probably the LLM is to be preferred, the prior put back in", () => {
  assert.equal(doubtOf(0.75, 0.5), 0.25);
  assert.ok(Math.abs(doubtOf(0.5, 0.99) - 0.01) < 1e-12);
  assert.deepEqual([doubtOf(1, 0), doubtOf(0, 1), doubtOf(0, 0.5), doubtOf(1, 0.5)], [0, 0, 1, 0]);
});

test("what was taken back stands before the look that did it, and doubts begin anew behind each look", () => {
  const { steps, looks } = inTime(EVENTS, 0.5);
  assert.deepEqual(
    steps.map(({ index, place }) => [index, place]),
    [
      ...[0, 1].map((i) => [i, null]),
      ...[0, 1, 2].map((place) => [2, place]),
      ...[2, 3, 4, 5, 6].map((i) => [i, null]),
    ],
  );
  // 1 - confidence each: what the LLM was called for is in the sum, a person's choice is not.
  assert.deepEqual(
    steps.map(({ doubts }) => doubts),
    [0.25, 0.75, 1, 1.5, 2.25, 2.25, 0.25, 1, 0, 0.5],
  );
  assert.deepEqual(looks, [
    { at: 5, from: 0, back: 2, nGone: 3 },
    { at: 7, from: 5, back: null, nGone: 0 },
  ]);
  assert.deepEqual(
    inTime(EVENTS, null).steps.map(({ doubts }) => doubts),
    steps.map(() => 0),
  );
});

test("each kind of cell is where it was written; doubts are drawn up to their budget, or not at all", () => {
  const run = inTime(EVENTS, 0.5);
  const paths = timePaths(run, IS_LLM, 2, 16);
  const starts = (path) => [...path.matchAll(/M([\d.]+)/g)].map(([, x]) => Math.floor(Number(x)));
  assert.deepEqual(starts(paths.slm), [0, 1, 6]);
  assert.deepEqual(starts(paths.gone), [2, 3, 4]);
  assert.deepEqual(starts(paths.llm), [5, 7]);
  assert.deepEqual(starts(paths.unread), [8, 9]);
  assert.deepEqual(starts(paths.look), [5, 7]);
  assert.deepEqual(starts(paths.read), [0, 6]);
  assert.equal(paths.limit, "M0 8H16");
  // From the floor at 30 to the limit at 8; the sum before the first look, 2.25, is a little above it.
  const heights = [...paths.doubts.matchAll(/V([\d.]+)/g)].map(([, y]) => Number(y));
  assert.deepEqual(heights, [27.25, 21.75, 19, 13.5, 5.25, 5.25, 30, 27.25, 19, 30, 30, 24.5, 30]);
  const without = timePaths(run, IS_LLM, 0, 16);
  assert.deepEqual([without.doubts, without.limit, without.slm], ["", "", paths.slm]);
});

test("the strip says in words what it shows", () => {
  assert.equal(
    timeWords(inTime(EVENTS, 0.5), 2),
    "In the order of time: 10 tokens written, 3 of them taken back. 2 looks: at 6, 3 taken back; at 8, none. " +
      "The LLM has not read the last 2. Doubts add up to a budget of 2.00",
  );
  assert.match(timeWords(inTime(EVENTS.slice(0, 1), null), 0), /1 token written, 0 .* 0 looks\. .* the last 1$/);
});

test("the rule is said in the run's own settings", () => {
  assert.equal(whenItLooks({ threshold: 0, doubt_budget: 0.35 }), "When its doubts add up");
  assert.equal(
    whenItLooks({ threshold: 0.1, doubt_budget: 3, look_every: 30 }),
    "When its doubts add up, its confidence is below τ or it has written 30 tokens",
  );
  assert.equal(whenItLooks({ threshold: 0 }), "At the end");
});

test("the slip stands in the text that the LLM saw, with what it gave each token", () => {
  const { tokens, own } = beforeTakeBack(EVENTS);
  assert.equal(tokens.map(({ text }) => text).join(""), "abxyz");
  assert.deepEqual(whereSlipped(tokens), [false, false, true, false, false]);
  assert.deepEqual(
    tokens.map(({ judged }) => judged?.[0]),
    [undefined, 0.9, 0.1, 0.7, 0.6],
  );
  assert.equal(own, "C");
});
