import assert from "node:assert/strict";
import test from "node:test";

import { countStops, findMatches, findStop, targetOf } from "../../assets/run/navigate.js";
import { advanceLive } from "../../assets/viewer/playback.js";
import { finished } from "./fixtures.mjs";

test("stops: LLM tokens, hand-offs and low confidence, under the tau that is looked at", () => {
  const view = finished([0.9, 0.2, 0.3, 0.9, 0.45, 0.9]);
  assert.deepEqual(
    ["llm", "handOff", "low"].map((kind) => countStops(view, kind)),
    [3, 4, 3],
  );
  assert.equal(findStop(view, "llm", 2, 1), 4);
  assert.equal(findStop(view, "llm", 4, 1), null);
  assert.equal(findStop(view, "handOff", 3, -1), 1);
  view.setWhatIf(0.25);
  assert.deepEqual(
    ["llm", "handOff", "low"].map((kind) => countStops(view, kind)),
    [1, 2, 3],
  );
});

test("keys lead from the pinned token, or to the one that has the focus", () => {
  const view = finished([0.9, 0.2, 0.3, 0.9]);
  assert.equal(targetOf(view, "next", 2), 2);
  assert.equal(targetOf(view, "nextLlm", null), 1);
  assert.equal(targetOf(view, "previousLow", null), 2);
  view.pinned = 1;
  assert.deepEqual(
    ["next", "previous", "first", "last", "nextLlm", "nextHandOff", "previousLlm"].map((a) => targetOf(view, a, null)),
    [2, 0, 0, 3, 2, 3, null],
  );
});

test("a search finds text over several tokens, whatever its case, and does not overlap", () => {
  const events = [" Tom", " has 1", "2", " apples. İ", "tom"].map((text) => ({ text }));
  assert.deepEqual(findMatches(events, "TOM"), [
    { from: 0, to: 0 },
    { from: 4, to: 4 },
  ]);
  assert.deepEqual(findMatches(events, "12 a"), [{ from: 1, to: 3 }]);
  assert.deepEqual(findMatches(events, "om has"), [{ from: 0, to: 1 }]);
  assert.deepEqual(findMatches([{ text: "aaaa" }], "aa"), [
    { from: 0, to: 0 },
    { from: 0, to: 0 },
  ]);
  assert.deepEqual(findMatches(events, ""), []);
  assert.deepEqual(findMatches([{ text: "" }, { text: "x" }, { text: "" }, { text: "y" }], "xy"), [{ from: 1, to: 3 }]);
  assert.deepEqual(findMatches([], "x"), []);
});

test("playing at the pace of generation takes each token's own time", () => {
  const times = [0, 1, 1.5, 4];
  const timeOf = (k) => times[k];
  assert.deepEqual(advanceLive(0, 1.6, 3, timeOf), { shown: 2, left: 0.10000000000000009 });
  assert.deepEqual(advanceLive(2, 2.4, 3, timeOf), { shown: 2, left: 2.4 });
  assert.equal(advanceLive(2, 99, 3, timeOf).shown, 3);
});
