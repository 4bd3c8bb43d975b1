import assert from "node:assert/strict";
import test from "node:test";

import { certaintyStep, isForced, prefersLlm, replay } from "../../assets/viewer/decision.js";
import { makeEvents } from "./fixtures.mjs";

const CONFIDENCES = [0.9, 0.2, 0.7, 0.7, 0.4, 1.0, 0.6];

test("the LLM writes strictly below tau, and everything at tau 1", () => {
  assert.equal(prefersLlm(0.5, 0.5), false);
  assert.equal(prefersLlm(0.4999, 0.5), true);
  assert.equal(prefersLlm(0, 0), false);
  assert.equal(prefersLlm(1, 1), true);
});

test("replaying at the recorded tau reproduces decisions and catch-up lengths", () => {
  for (const tau of [0, 0.5, 0.65, 1]) {
    const events = makeEvents(CONFIDENCES, tau);
    const again = replay(events, tau);
    assert.deepEqual([...again.isLlm], events.map((event) => Number(event.source === "llm")));
    assert.deepEqual([...again.llmFed], events.map((event) => event.llm_tokens_fed));
    assert.equal(again.firstFlip, -1);
    assert.equal(again.nFlips, 0);
  }
});

test("replaying at another tau equals a run that was made there, on the same confidences", () => {
  const replayed = replay(makeEvents(CONFIDENCES, 0.5), 0.65);
  const made = makeEvents(CONFIDENCES, 0.65);
  assert.deepEqual([...replayed.isLlm], made.map((event) => Number(event.source === "llm")));
  assert.deepEqual([...replayed.llmFed], made.map((event) => event.llm_tokens_fed));
  assert.equal(replayed.firstFlip, 6);
  assert.deepEqual([...replayed.isFlipped], [0, 0, 0, 0, 0, 0, 1]);
});

test("without a tau the recorded decisions stand, whatever the confidences say", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  events[0].source = "llm";
  assert.equal(replay(events, null).isLlm[0], 1);
});

test("a token that a person forced stays forced at another tau", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  events[0].source = "llm";
  assert.equal(isForced(events[0]), true);
  assert.equal(isForced(events[1]), false);
  assert.equal(replay(events, 0.1).isFlipped[0], 0);
});

test("an empty run replays to nothing", () => {
  assert.deepEqual(replay([], 0.3).firstFlip, -1);
});

test("certainty is the distance to tau over the room on that side", () => {
  assert.equal(certaintyStep(0.5, 0.5), 0);
  assert.equal(certaintyStep(1, 0.5), 3);
  assert.equal(certaintyStep(0, 0.5), 3);
  assert.equal(certaintyStep(0.62, 0.7), 0);
  assert.equal(certaintyStep(0.4, 0.7), 1);
  assert.equal(certaintyStep(1, 1), 3);
  assert.equal(certaintyStep(0, 0), 0);
});
