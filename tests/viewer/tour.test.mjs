import assert from "node:assert/strict";
import test from "node:test";

import { TOUR_STEPS } from "../../assets/learn/tour.js";

const step = TOUR_STEPS.find(({ title }) => title === "Write one yourself");

test("a run that is over before the tour looks again has been written all the same", () => {
  assert.equal(step.isDone({ run: "second" }, { run: "first" }), true);
  assert.equal(step.isDone({ run: "first" }, { run: null }), true);
});

test("neither the run that was there nor a recorded one counts", () => {
  assert.equal(step.isDone({ run: "first" }, { run: "first" }), false);
  assert.equal(step.isDone({ run: null }, { run: "first" }), false);
});

test("every step can be seen to end, and names a target", () => {
  assert.equal(TOUR_STEPS.length, 9);
  for (const { target, isDone, click } of TOUR_STEPS) assert.ok(target && (isDone || click));
});
