import assert from "node:assert/strict";
import test from "node:test";

import { asRecorded, certaintyStep, isForced, prefersLlm, replay, runFacts } from "../../assets/run/decision.js";
import { makeEvents } from "./fixtures.mjs";

const CONFIDENCES = [0.9, 0.2, 0.7, 0.7, 0.4, 1.0, 0.6];

test("the LLM writes strictly below tau, and everything at tau 1", () => {
  assert.equal(prefersLlm(0.5, 0.5), false);
  assert.equal(prefersLlm(0.4999, 0.5), true);
  assert.equal(prefersLlm(0, 0), false);
  assert.equal(prefersLlm(1, 1), true);
});

test("the recorded decisions stand, whatever the confidences say, and so does what the LLM read for the router", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  events[0].source = "llm";
  events[2].llm_tokens_fed = 1;
  const recorded = asRecorded(events);
  assert.deepEqual([recorded.isLlm[0], recorded.llmFed[2], recorded.nExact], [1, 1, events.length]);
});

test("the text stays exact where both models write the same token, and no further", () => {
  const events = makeEvents(CONFIDENCES, 0.5); // the LLM writes tokens 1 and 4
  events[4].slm_token_id = 99; // where the SLM would have written another one
  const low = replay(events, 0.3);
  assert.deepEqual([low.firstFlip, low.nExact, low.doubt], [4, 4, "other"]);
  assert.deepEqual([...low.decisive], [0, 0, 0, 0, 0, 0, 0]);
  const none = replay(events, 0);
  assert.deepEqual([none.firstFlip, none.nExact, none.doubt], [1, 4, "other"]);
  assert.deepEqual([...asRecorded(events).decisive], [0, 0, 0, 0, 1, 0, 0]);
});

test("what the LLM would write is known from a probe of a greedy run only, and not from a tie", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  const probe = events.map((event) => ({
    llm_top: [
      [event.token_id, "", 0.6],
      [90, "", 0.3],
    ],
  }));
  const facts = (settings, said = probe) => runFacts({ settings }, events, said);
  const at = (known) => {
    const { firstFlip, nExact, doubt } = replay(events, 0.8, known);
    return [firstFlip, nExact, doubt];
  };
  assert.deepEqual(at(facts({ temperature: 0 }, null)), [2, 2, "unknown"]);
  assert.deepEqual(at(facts({ temperature: 0.8 })), [2, 2, "unknown"]);
  assert.deepEqual(at(facts({ temperature: 0 })), [2, 7, null]);
  const tied = probe.map((token, i) =>
    i === 3
      ? {
          llm_top: [
            [3, "", 0.4],
            [90, "", 0.4],
          ],
        }
      : token,
  );
  assert.deepEqual(at(facts({ temperature: 0 }, tied)), [2, 3, "unknown"]);
  const other = probe.map((token, i) =>
    i === 6
      ? {
          llm_top: [
            [90, "", 0.6],
            [6, "", 0.3],
          ],
        }
      : token,
  );
  assert.deepEqual(at(facts({ temperature: 0 }, other)), [2, 6, "other"]);
  assert.deepEqual([...replay(events, 0.8, facts({ temperature: 0 }, other)).decisive], [0, 0, 0, 0, 0, 0, 1]);
});

test("a router that looks at who wrote before is exact to its first flip", () => {
  const events = makeEvents(CONFIDENCES, 0.5);
  for (const router of [{ name: "bidirectional-entropy" }, { name: "any", depends_on_writers: true }]) {
    const { firstFlip, nExact, doubt } = replay(events, 0, runFacts({ router }, events, null));
    assert.deepEqual([firstFlip, nExact, doubt], [1, 2, "confidence"]);
  }
});

test("a router that reads the LLM has it called at every token", () => {
  const events = makeEvents(CONFIDENCES, 1).map((event) => ({
    ...event,
    source: event.slm_confidence < 0.5 ? "llm" : "slm",
    threshold: 0.5,
  }));
  for (const router of [{ name: "disagreement" }, { name: "any", reads_llm: true }]) {
    const facts = runFacts({ router }, events, null);
    for (const tau of [0, 0.5, 1])
      assert.deepEqual(
        [...replay(events, tau, facts).llmFed],
        events.map((event) => event.llm_tokens_fed),
      );
  }
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
