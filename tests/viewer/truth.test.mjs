import assert from "node:assert/strict";
import test from "node:test";

import { truthLines } from "../../assets/viewer/truth.js";
import { finished } from "./fixtures.mjs";

// At τ 0.5: slm, llm, slm, llm, slm, slm.
const view = finished([0.9, 0.1, 0.8, 0.2, 0.7, 0.9]);

test("case, label and what the decision on the screen makes of them", () => {
  view.truth = { shared: 4, case: "12213", label: "10011", true: ["a", "b", "c", "d", "e"] };
  const lines = (index) => truthLines(view, index).filter(Boolean);
  assert.match(lines(0).join(" "), /Case 1.*Label 1.*At τ 0\.50 the SLM writes: an easy token kept/);
  assert.match(lines(1).join(" "), /Case 2.*Label 0.*the LLM writes: a critical token caught/);
  assert.match(lines(2).join(" "), /Case 2.*Label 0.*the SLM writes: a risk/);
  assert.match(lines(3).join(" "), /Case 1.*Label 1.*the LLM writes: a waste/);
  assert.match(lines(4).join(" "), /Case 3.*Label 1: the SLM, going on alone/);
  assert.deepEqual(lines(5), [
    "Not defined here: the run left the known solution at token 5, and after it nothing says what " +
      "would have been right.",
  ]);
  view.setWhatIf(0.85);
  assert.match(lines(2).join(" "), /At τ 0\.85 the LLM writes: a critical token caught/);
  view.setWhatIf(null);
});

test("a label that is not known is said to be so, and no decision is judged by it", () => {
  view.truth = { shared: 1, case: "13", label: "1?", true: ["a", "b"] };
  const [said, ...others] = truthLines(view, 1).filter(Boolean);
  assert.match(said, /Case 3.*Label not known here: the SLM, going on alone, ends with an answer that only the server/);
  assert.deepEqual(others, []);
});

test("what a person chose is no decision of the router", () => {
  view.events[1] = { ...view.events[1], forced: true };
  assert.equal(truthLines(view, 1).filter(Boolean).length, 1);
});

test("where no solution is known it says so", () => {
  view.truth = { why: "It is unknown." };
  assert.deepEqual(truthLines(view, 0), ["Not defined for this run. It is unknown."]);
});
