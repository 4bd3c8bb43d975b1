/** The Lab's recipe, what it is held against, and the stages of a router in the making, without a browser. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { accuracyAt, baselinesOf, tauAt } from "../../assets/lab/baselines.js";
import { LabProblems } from "../../assets/lab/lab_problems.js";
import { LabRun, SHARES } from "../../assets/lab/lab_run.js";
import { kindOf } from "../../assets/lab/label_panel.js";
import { BREAKS, CHOICES, RULES_IN_WORDS, USUAL, inAddress, readRecipe } from "../../assets/lab/recipe.js";
import { actionsOf, ownPoints } from "../../assets/lab/stages.js";
import { interval } from "../../assets/run/interval.js";

test("a recipe comes back from its address, and what it does not know is as usual", () => {
  const recipe = { n: 25, of: "mc", rule: "rollouts", truth: "llm", net: "mlp-32", share: 0.1, ask: "math" };
  assert.deepEqual(readRecipe(`?view=lab&${inAddress(recipe)}`), { recipe, broken: null });
  assert.deepEqual(readRecipe("?view=lab").recipe, USUAL);
  const kind = readRecipe("?of=math/garden").recipe;
  assert.deepEqual([kind.of, kind.ask], ["math/garden", "math"]);
  assert.equal(readRecipe("?of=mc").recipe.ask, "mc");
  const odd = "?n=1e9&of=math/<b>&rule=__proto__&truth=&net=4096&share=2&ask=open";
  assert.deepEqual(readRecipe(odd).recipe, USUAL);
});

test("every experiment opens by its link and changes what it says", () => {
  for (const [name, { changes }] of Object.entries(BREAKS)) {
    const { recipe, broken } = readRecipe(`?break=${name}&n=10`);
    assert.equal(broken, name);
    assert.deepEqual(recipe, { ...USUAL, ...changes });
    for (const [part, value] of Object.entries(changes)) {
      assert.notEqual(USUAL[part], value, `${name}: ${part}`);
      assert.ok(
        CHOICES[part].some(([choice]) => choice === value),
        `${name}: ${part}`,
      );
    }
  }
  assert.equal(readRecipe("?break=constructor").broken, null);
  assert.deepEqual(Object.keys(RULES_IN_WORDS).sort(), CHOICES.rule.map(([rule]) => rule).sort());
});

const point = (router, share, accuracy, more = {}) => ({ router, share, accuracy, tau: share, settings: {}, ...more });
const POINTS = [
  point("always-slm", 0, 0.5),
  point("always-llm", 1, 0.9),
  point("max-probability", 0.2, 0.8),
  point("max-probability", 0.1, 0.6),
  point("max-probability", 0.05, 0.9, { settings: { take_back: 0.2 } }),
  point("citer-outcome", 0.1, 0.88),
];

test("others are read between what was measured of them, without looking back", () => {
  const { free, slm, llm } = baselinesOf(POINTS);
  assert.deepEqual([slm, llm], [0.5, 0.9]);
  assert.ok(Math.abs(accuracyAt(free, 0.05) - 0.55) < 1e-12);
  assert.ok(Math.abs(accuracyAt(free, 0.15) - 0.7) < 1e-12);
  assert.equal(accuracyAt(free, 0), 0.5);
  assert.ok(Number.isNaN(accuracyAt(free, 0.5)));
  assert.equal(tauAt(free, 0.16), 0.2);
});

test("the interval is Wilson's", () => {
  // Newcombe 1998, table I: 81 of 263 and 0 of 20
  const [some, none] = [interval(81, 263), interval(0, 20)];
  assert.deepEqual([some.low.toFixed(4), some.high.toFixed(4)], ["0.2553", "0.3662"]);
  assert.deepEqual([none.low.toFixed(4), none.high.toFixed(4)], ["0.0000", "0.1611"]);
});

test("a fork is shown as what its two ends came to", () => {
  const fork = (label, slm, llm) => kindOf({ at: 0, label, slm: { isRight: slm }, llm: { isRight: llm } });
  assert.equal(fork(0, false, true), "llm");
  assert.equal(fork(0, true, true), "llm", "where ties go to the LLM");
  assert.equal(fork(1, true, true), "both");
  assert.equal(fork(1, true, false), "slm");
  assert.equal(fork(null, false, false), "neither");
  assert.equal(fork(1, null, null), "both", "where nothing was tried");
});

const PROBLEMS = Array.from({ length: 6 }, (_, i) => ({ question: `${i}` }));
const UNSEEN = Array.from({ length: 8 }, (_, i) => ({ question: `new ${i}` }));

/** A client whose labels are all the SLM's but the third of every problem. */
class FakeClient {
  why = "";
  asked = [];
  labels = [1, 1, 0];
  async load() {
    return this.why === "";
  }

  async *label(problems, how, signal) {
    this.asked.push(problems.length);
    for (const index of problems.keys()) {
      yield { index, tokens: ["a", "b", "c"], labels: this.labels, forks: [], features: index };
      if (signal.aborted) return;
    }
  }

  async *train(labelled) {
    this.learned = labelled.length;
    yield { pass: 0, loss: 1, validationLoss: 1, auc: 0.5, histogram: [[1], [1]] };
    yield { file: new Uint8Array([1, 2]), best: 0, nPreferSlm: 2, nPreferLlm: 1, seconds: 0.1 };
  }

  async *measure(file, { problems, shares }, signal) {
    this.measured = file;
    yield { taus: shares.map((share) => share / 2) };
    for (const index of problems.keys()) {
      yield {
        index,
        results: shares.map((share, k) => ({ right: index % (k + 2) > 0, nTokens: 100, nLlm: 100 * share, bytes: 7 })),
      };
      if (signal.aborted) return;
    }
  }
}

test("labels, a router, and its answers on what it has not seen", async () => {
  const client = new FakeClient();
  const stages = new Set();
  const run = new LabRun(client, () => stages.add(run.stage));
  await run.start(USUAL, PROBLEMS, UNSEEN);
  assert.deepEqual([...stages], ["load", "label", "train", "measure", "done"]);
  assert.deepEqual([run.nLabelled, run.nLabels(0), run.nLabels(1)], [6, 6, 12]);
  assert.equal(client.learned, 6);
  assert.deepEqual([...client.measured], [1, 2]);
  const [first] = ownPoints(run.points, SHARES[1]);
  assert.deepEqual([first.share, first.accuracy, first.isChosen], [SHARES[0], 0.5, false]);
  assert.ok(first.low < 0.5 && first.high > 0.5);
  assert.deepEqual(run.answers[1], [true, true, true, true]);
});

test("what was labelled stays: when it is stopped, and for another router", async () => {
  const client = new FakeClient();
  const run = new LabRun(client, () => {
    if (run.stage === "label" && run.nLabelled === 2) run.cancel();
  });
  await run.start(USUAL, PROBLEMS, UNSEEN);
  assert.deepEqual([run.stage, run.nLabelled, run.isGoing], ["stopped", 2, false]);
  await run.start(USUAL, PROBLEMS, UNSEEN, true);
  assert.deepEqual([run.stage, client.learned, client.asked], ["done", 2, [6]]);
  run.told = () => {};
  await run.start({ ...USUAL, net: "mlp-32" }, PROBLEMS, UNSEEN);
  assert.deepEqual([run.stage, client.learned, client.asked], ["done", 6, [6, 4]]);
  await run.start({ ...USUAL, rule: "shortcut" }, PROBLEMS, UNSEEN);
  assert.deepEqual(client.asked, [6, 4, 6], "another rule has labels of its own");
});

test("labels of one kind teach nothing, and an error is said", async () => {
  const client = new FakeClient();
  client.labels = [1, 1, 1];
  const run = new LabRun(client, () => {});
  await run.start(USUAL, PROBLEMS, UNSEEN);
  assert.deepEqual([run.stage, run.why, run.trained], ["failed", "", null]);
  const { first, said } = actionsOf({ run, recipe: { ...USUAL, n: 10 }, broken: null });
  assert.deepEqual([first.label, said], ["Take 25 problems", "Nothing to learn from these labels."]);
  client.why = "The pair could not be fetched.";
  await run.start(USUAL, PROBLEMS, UNSEEN);
  assert.deepEqual([run.stage, run.why], ["failed", client.why]);
  assert.equal(actionsOf({ run, recipe: USUAL, broken: null }).first.label, "Try again");
});

test("who leaves while labels are made hears no more of them, and they stay", async () => {
  const client = new FakeClient();
  let nTold = 0;
  const run = new LabRun(client, () => {
    nTold++;
    if (run.stage === "label" && run.nLabelled === 2) run.leave();
  });
  await run.start(USUAL, PROBLEMS, UNSEEN);
  const before = nTold;
  assert.deepEqual([run.stage, run.isGoing, run.trained], ["idle", false, null]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(nTold, before);
  assert.equal(run.known(USUAL, PROBLEMS).filter(Boolean).length, 2);
  run.told = () => {};
  const loading = run.start(USUAL, PROBLEMS, UNSEEN);
  run.leave(); // before the pair is there
  await loading;
  assert.equal(run.stage, "idle");
});

test("problems that could not be fetched are said in words, and asked for again", async () => {
  const { fetch } = globalThis;
  const book = new LabProblems({ root: "http://localhost/assets/" });
  try {
    globalThis.fetch = () => Promise.reject(new TypeError("Failed to fetch"));
    await assert.rejects(book.unseen("math"), /could not be fetched.*try again/);
    globalThis.fetch = async () => new Response("", { status: 404 });
    await assert.rejects(book.unseen("math"), /could not be fetched.*try again/);
    globalThis.fetch = async () => new Response('{"problem": "1+1?", "solution": "\\\\boxed{2}"}\n');
    assert.equal((await book.unseen("math"))[0].true_answer, "2");
  } finally {
    globalThis.fetch = fetch;
  }
  const run = new LabRun(new FakeClient(), () => {});
  run.fail("No connection.");
  assert.deepEqual([run.stage, run.why, run.isGoing], ["failed", "No connection.", false]);
  assert.equal(actionsOf({ run, recipe: USUAL, broken: null }).first.label, "Try again");
});

test("another recipe may begin while one is on its way", async () => {
  const client = new FakeClient();
  const run = new LabRun(client, () => {});
  const first = run.start(USUAL, PROBLEMS, UNSEEN);
  await run.start({ ...USUAL, rule: "agreement" }, PROBLEMS.slice(3), UNSEEN);
  await first;
  assert.deepEqual([run.stage, run.nLabelled, run.isGoing], ["done", 3, false]);
});
