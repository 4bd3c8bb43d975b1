import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { BranchBook } from "../../assets/run/branch_book.js";
import { diffTokens, traceKey } from "../../assets/run/branch_diff.js";
import { leastEntropy, marginOf, splitStep } from "../../assets/run/cost_split.js";
import { isForced, replay } from "../../assets/run/decision.js";
import { CostModel } from "../../assets/run/cost.js";
import { seriesOf } from "../../assets/run/series.js";
import { BUDGETS, solveTau } from "../../assets/run/solve.js";
import { DEVICE, LLM, SLM, finished, makeEvents } from "./fixtures.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const python = existsSync(`${ROOT}.venv/bin/python`) ? `${ROOT}.venv/bin/python` : "python3";
const inPython = (script, input) =>
  JSON.parse(
    execFileSync(python, ["-c", script], {
      input: JSON.stringify(input),
      cwd: ROOT,
      env: { ...process.env, PYTHONPATH: ROOT },
    }),
  );
const traceOf = (ids, parent = null) => ({
  prompt: { text: "p" },
  parent,
  events: ids.map((token_id, index) => ({
    index,
    token_id,
    text: `${token_id}`,
    source: token_id % 2 ? "llm" : "slm",
  })),
});

test("a diff keeps what both have in order, from the fork on", () => {
  assert.deepEqual(diffTokens([1, 2, 3, 4], [1, 9, 3, 4, 5]), {
    ours: Uint8Array.of(0, 1, 0, 0),
    theirs: Uint8Array.of(0, 1, 0, 0, 1),
  });
  assert.deepEqual(diffTokens([1, 2], [1, 2]), { ours: Uint8Array.of(0, 0), theirs: Uint8Array.of(0, 0) });
  assert.deepEqual(diffTokens([], [7]), { ours: new Uint8Array(0), theirs: Uint8Array.of(1) });
  assert.deepEqual(diffTokens([5, 6, 1, 2, 3], [1, 2, 3, 9]).ours, Uint8Array.of(1, 1, 0, 0, 0));
});

test("branches know their parent; deleting one hands its children on", () => {
  const book = new BranchBook();
  const root = traceOf([1, 2, 3, 4, 5]);
  book.reset(root);
  const first = traceOf([1, 2, 3, 8, 9], { key: traceKey(root), fork: 3 });
  const one = book.add(first, book.parentOf(first));
  const second = traceOf([1, 2, 3, 8, 7], { key: traceKey(first), fork: 4 });
  const two = book.add(second, book.parentOf(second));
  assert.deepEqual([book.shownId, two.parentId, [...book.changes(two)]], [two.id, one.id, [0, 0, 0, 0, 1]]);
  assert.equal(book.parentOf(traceOf([1], { key: "unknown", fork: 0 })), null);
  book.rename(one.id, "  mine ");
  assert.equal(one.name, "mine");
  assert.equal(book.remove(one.id), true);
  assert.deepEqual([two.parentId, two.fork, [...book.changes(two)]], [0, 3, [0, 0, 0, 1, 1]]);
  assert.equal(book.remove(0), false);
  book.remove(two.id);
  assert.deepEqual([book.entries.length, book.shownId], [1, 0]);
});

test("a token that a person forced says so, even where the rule would have chosen the same", () => {
  const [event] = makeEvents([0.9], 0.5);
  assert.deepEqual([isForced(event), isForced({ ...event, forced: true })], [false, true]);
  assert.equal(replay([{ ...event, forced: true }], 1).isFlipped[0], 0);
});

test("the tau for a budget reaches every point that the run can reach, and names its neighbours", () => {
  // Two equal confidences, two that differ in the fourth decimal, one sure token and one chosen by hand.
  const confidences = [0.2, 0.2, 0.61231, 0.61239, 0.9, 1, 0.35, 0.35001];
  const view = finished(confidences);
  view.events[4] = { ...view.events[4], forced: true };
  for (const budget of Object.keys(BUDGETS)) {
    // Every point by brute force: one tau between any two neighbours, which is all that can be told apart.
    const edges = [...new Set(confidences)].sort((a, b) => a - b);
    const taus = [0, ...edges.slice(1).map((edge, i) => (edges[i] + edge) / 2), 1];
    const points = [
      ...new Set(
        taus.map((tau) => BUDGETS[budget].of(seriesOf(view.costModel, view.events, replay(view.events, tau)))),
      ),
    ].sort((a, b) => a - b);
    assert.ok(points.length >= 7, budget);
    for (const [i, point] of points.entries()) {
      const at = solveTau(view, budget, point);
      assert.deepEqual([at.value, at.isExact, at.next], [point, true, points[i + 1] ?? null], `${budget} ${point}`);
      assert.equal(BUDGETS[budget].of(seriesOf(view.costModel, view.events, replay(view.events, at.tau))), point);
      if (i === 0) continue;
      const below = solveTau(view, budget, (point + points[i - 1]) / 2);
      assert.deepEqual([below.value, below.isExact, below.next], [points[i - 1], false, point]);
    }
  }
  assert.equal(solveTau(view, "share", 100).tau, 1);
  assert.equal(solveTau(view, "gigabytes", 0).tau, null);
});

test("the tau for a budget counts what the LLM reads for a router that looks at both models", () => {
  const view = finished([0.2, 0.4, 0.6, 0.8]);
  Object.defineProperty(view, "facts", { value: { ...view.facts, readsLlm: true } });
  for (const limit of [1e-9, 1, 10, 1e9]) {
    const { tau, value } = solveTau(view, "gigabytes", limit);
    if (tau === null) continue;
    const shown = seriesOf(view.costModel, view.events, replay(view.events, tau, view.facts));
    assert.equal(value, BUDGETS.gigabytes.of(shown));
  }
  const alone = BUDGETS.gigabytes.of(seriesOf(view.costModel, view.events, replay(view.events, 0)));
  assert.ok(solveTau(view, "gigabytes", 1e9).least > alone, "the LLM reads along at tau 0 too");
});

test("the split of a step adds up to the step", () => {
  const model = new CostModel({ slm: SLM, llm: LLM, device: DEVICE, routerParams: 77 });
  for (const event of makeEvents([0.9, 0.9, 0.1, 0.1], 0.5)) {
    const rows = splitStep(model, event, event.llm_tokens_fed).filter((row) => !row.within);
    const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
    assert.deepEqual([sum("bytes"), sum("flops")], [model.step(event).bytes, model.step(event).flops]);
  }
});

test("entropy from a few candidates is a lower bound, exact where they are all", () => {
  assert.equal(
    leastEntropy([
      [1, "a", 0.5],
      [2, "b", 0.5],
    ]),
    Math.log(2),
  );
  assert.ok(leastEntropy([[1, "a", 0.25]]) < 2 * Math.log(2));
  assert.deepEqual(
    [
      marginOf([
        [1, "a", 0.75],
        [2, "b", 0.25],
      ]),
      marginOf([[1, "a", 1]]),
    ],
    [0.5, null],
  );
});

test("Python names a run the same", () => {
  const trace = { ...traceOf([5, 1234, 0]), prompt: { text: "héllo \\boxed{} 🎉\n" } };
  const script = `
import json, sys
from types import SimpleNamespace as N
from citer_core.trace import RoutingTrace
t = json.load(sys.stdin)
print(json.dumps(RoutingTrace.key.fget(N(prompt=N(**t["prompt"]), events=[N(**e) for e in t["events"]]))))
`;
  assert.equal(traceKey(trace), inPython(script, trace));
});
