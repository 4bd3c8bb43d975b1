import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import {
  countsAtTaus,
  labelledTokens,
  longestCatchUp,
  paperCurves,
  printedConfidence,
  shareFor,
  textStaysAbove,
} from "../../assets/learn/handout_numbers.js";
import { RunView } from "../../assets/run/run_view.js";
import { DEVICE, LLM, finished } from "./fixtures.mjs";

const read = (path) => JSON.parse(readFileSync(new URL(`../../assets/${path}`, import.meta.url), "utf8"));

function recorded(name) {
  const trace = read(`traces/${name}.json`);
  const view = new RunView(1, trace, { device: DEVICE });
  view.append(trace.events);
  view.finish(trace.finish_reason, trace.answer);
  return view;
}

test("a person who counts what is printed below a printed tau finds what the router decided", () => {
  for (const name of ["trip", "qwen-umbrella", "qwen-library", "bakery"]) {
    const view = recorded(name);
    const counts = countsAtTaus(view);
    assert.equal(counts.length, 4);
    for (const { tau, n } of counts) {
      assert.equal(view.events.filter((event) => printedConfidence(event.slm_confidence) < tau).length, n, name);
    }
    const own = counts.find(({ isOwn }) => isOwn);
    assert.equal(own.n, view.events.filter(({ source }) => source === "llm").length);
  }
  assert.equal(printedConfidence(0.29), 0.29);
  assert.equal(printedConfidence(0.2999), 0.29);
});

test("above the highest confidence of a decisive token the text stays", () => {
  const view = recorded("trip");
  const above = textStaysAbove(view);
  view.setWhatIf(above + 1e-6);
  assert.equal(view.decisions.nExact, view.n);
  view.setWhatIf(above - 1e-6);
  assert.ok(view.decisions.nExact < view.n);
  assert.equal(textStaysAbove(recorded("capital")), null);
});

test("the longest catch-up costs its weights once, and as many calls cost them each time", () => {
  const view = finished([0.1, 0.9, 0.9, 0.9, 0.2, 0.9, 0.1]);
  const call = longestCatchUp(view);
  assert.equal(call.fed, 4);
  assert.equal(call.event.index, 4);
  // By hand: parameters without the input table, two bytes each, and 2 × 6 × 2 × 8 × 2 bytes of cache a token.
  const [weights, cache] = [(LLM.n_params - 50 * 32) * 2, 2 * 6 * 2 * 8 * 2];
  assert.equal(call.bytes, weights + cache * (call.cached + 4));
  assert.equal(
    call.each,
    [1, 2, 3, 4].reduce((sum, k) => sum + weights + cache * (call.cached + k), 0),
  );
  assert.equal(longestCatchUp(finished([0.9, 0.9])), null);
});

test("a curve is read along straight lines, and what it does not reach is not made up", () => {
  const point = (router, share_wanted, share, accuracy) => ({
    router,
    label: router,
    share_wanted,
    share,
    accuracy,
    n: 9,
  });
  const points = [
    point("always-slm", null, 0, 0.5),
    point("always-llm", null, 1, 0.9),
    point("citer", 0.1, 0.1, 0.7),
    point("citer", 0.2, 0.2, 0.9),
    point("citer", null, 0.05, 0.95),
    point("citer-outcome", 0.1, 0.1, 0.8),
  ];
  const { curves, slm, llm } = paperCurves({ points, title: "" });
  assert.deepEqual([slm, llm], [0.5, 0.9]);
  assert.deepEqual(
    curves.map(({ name }) => name),
    ["citer", "citer-outcome"],
  );
  assert.ok(Math.abs(shareFor(curves[0], 0.8) - 0.15) < 1e-12);
  assert.equal(shareFor(curves[1], 0.85), null);
});

test("the tokens to be labelled are of three cases, as recorded", () => {
  const found = labelledTokens(read("labelled/bundled-pair-math.json"));
  assert.deepEqual(
    found.map(({ kind }) => kind),
    [1, 2, 2, 3],
  );
  for (const { truth, slm, llm, kind } of found) {
    assert.equal(kind, slm === truth ? 1 : llm === truth ? 2 : 3);
    assert.notEqual(truth, "");
  }
});
