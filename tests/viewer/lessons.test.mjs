import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { readLink } from "../../assets/app/link.js";
import { filled, readLesson } from "../../assets/learn/lesson_file.js";
import { LESSON_TRUTHS, isFound, truthOf, truthWords } from "../../assets/learn/lesson_truths.js";
import { byRouter } from "../../assets/learn/score.js";
import { RunView } from "../../assets/run/run_view.js";
import { fewOrAll } from "./sampling.mjs";

const ASSETS = fileURLToPath(new URL("../../assets", import.meta.url));
const LESSONS = path.join(ASSETS, "lessons");
const names = JSON.parse(readFileSync(path.join(LESSONS, "index.json"), "utf8"));
const textOf = (name) => readFileSync(path.join(LESSONS, `${name}.json`), "utf8");
const lessons = names.map((name) => readLesson(textOf(name)));
const BORNE_OUT = { group: "math, the LLM going on", label: "case 2", value: 0.374, n: 484 };
const CLAIMS = [{ name: "shortcut", figures: [{ rows: [BORNE_OUT] }] }];

/** The run of a recorded file, as the page has it. */
function runOf(file, tau = null) {
  const trace = JSON.parse(readFileSync(path.join(ASSETS, "traces", `${file}.json`), "utf8"));
  const view = new RunView(1, trace, {});
  view.append(trace.events);
  view.finish(trace.finish_reason, trace.answer);
  view.setWhatIf(tau);
  return view;
}

/** What a lesson's page shows. */
function factsOf({ open }) {
  const link = readLink(`?${open}`);
  const { label } = JSON.parse(readFileSync(path.join(ASSETS, "labelled", "bundled-pair-math.json"), "utf8"));
  const view = runOf(link?.preset ?? "bakery", link?.dials.threshold ?? null);
  return { view, labels: label, claims: CLAIMS };
}

test("the list has every lesson, and each is named as its file", () => {
  const files = readdirSync(LESSONS).filter((name) => name !== "index.json");
  assert.deepEqual(files.sort(), names.map((name) => `${name}.json`).sort());
  assert.deepEqual(
    lessons.map(({ id }) => id),
    names,
  );
  assert.equal(names.length, 6);
});

test("every lesson opens what is there, with nothing in its address left out", () => {
  const views = readFileSync(path.join(ASSETS, "..", "citer_core", "ui", "views.py"), "utf8");
  for (const { id, open } of lessons) {
    const query = new URLSearchParams(open);
    const link = readLink(`?${open}`);
    assert.ok(link || query.get("view"), id);
    if (link) {
      assert.deepEqual(link.refused, [], id);
      assert.ok(existsSync(path.join(ASSETS, "traces", `${link.preset}.json`)), `${id} opens ${link.preset}`);
    } else assert.match(views, new RegExp(`View\\("${query.get("view")}"`), id);
  }
});

test("no number of a lesson is typed, and every one can be computed", () => {
  for (const lesson of lessons) {
    const { guess, look, find, notes } = lesson;
    const facts = factsOf(lesson);
    for (const words of [guess.ask, look, find.ask, ...notes]) {
      assert.doesNotMatch(words.replaceAll(/\{[\w.]+\}/g, ""), /\d/, `${lesson.id}: ${words}`);
      const own = { truth: "1", guess: "2", most: "3" };
      assert.doesNotMatch(filled(words, facts, own).join(""), /[{}]|NaN|undefined|–/, lesson.id);
    }
    const number = truthOf(find.truth, facts);
    assert.ok(Number.isFinite(number));
    // What the page prints is taken for an answer, and another number is not.
    assert.ok(isFound(find.truth, parseFloat(truthWords(find.truth, number).replaceAll(",", "")), number), lesson.id);
    assert.ok(!isFound(find.truth, number + 3, number));
    if (guess.kind === "number") {
      const truth = truthOf(guess.truth, facts);
      assert.ok(guess.low <= truth && truth <= guess.high, `${lesson.id}: ${truth} is on the scale`);
      const middle = (guess.low + guess.high) / 2;
      assert.notEqual(Math.round(truth), Math.round(middle), "the slider does not stand at the answer");
    } else {
      const n = byRouter(facts.view.events).filter(Boolean).length;
      assert.ok(n >= guess.most && guess.most < facts.view.n / 2);
    }
    assert.doesNotMatch(guess.ask, new RegExp(`\\{${guess.truth}\\}`), "the question does not tell");
  }
});

test("numbers of a run are those of the recorded file", () => {
  const trip = { view: runOf("trip"), labels: null, claims: [] };
  const { events } = trip.view;
  const calls = events.filter(({ source }) => source === "llm");
  assert.equal(truthOf("run.tokens", trip), events.length);
  assert.equal(truthOf("run.llmTokens", trip), calls.length);
  assert.equal(
    truthWords("run.llmShare", truthOf("run.llmShare", trip)),
    `${Math.round((100 * calls.length) / events.length)}%`,
  );
  assert.equal(truthOf("run.firstRead", trip), calls[0].llm_tokens_fed);
  assert.equal(truthOf("run.decisive", trip), calls.filter((event) => event.slm_token_id !== event.token_id).length);
  const parts = ["run.slmBytes", "run.routerBytes", "run.llmBytes"].map((name) => truthOf(name, trip));
  assert.ok(Math.abs(parts[0] + parts[1] + parts[2] - truthOf("run.bytesShare", trip)) < 1e-9);
  const marbles = { view: runOf("marbles"), labels: null, claims: [] };
  const taken = marbles.view.events.filter(({ discarded }) => discarded);
  assert.equal(truthOf("run.takenBack", marbles), taken.flatMap(({ discarded }) => discarded).length);
  assert.equal(truthOf("run.lookRead", marbles), taken[0].llm_tokens_fed);
});

test("the limit of what pays is where one more token would cost more than the LLM alone", () => {
  const file = "qwen-library";
  const limit = truthOf("run.breakEven", { view: runOf(file), labels: null, claims: [] });
  // Independently: tau by tau in small steps.
  let best = 0;
  for (let tau = 0; tau <= 1; tau += fewOrAll(0.01, 0.002)) {
    const { bytesShare, llmShare } = runOf(file, tau).series.totals();
    if (bytesShare <= 1) best = Math.max(best, 100 * llmShare);
  }
  assert.ok(Math.abs(limit - best) < 2 && limit > 50 && limit < 80, `${limit} and ${best}`);
});

test("a number that is not here is an error, and never a zero", () => {
  const none = { view: null, labels: null, claims: [] };
  for (const name of Object.keys(LESSON_TRUTHS))
    assert.throws(() => truthOf(name, none), /is not here|none is on/, name);
});

test("a file that is no lesson is refused with what is allowed", () => {
  const good = JSON.parse(textOf(names[1]));
  const refused = (change, words) => assert.throws(() => readLesson(JSON.stringify({ ...good, ...change })), words);
  assert.doesNotThrow(() => readLesson(JSON.stringify({ ...good, more: "is left out" })));
  refused({ schema: "citer-trace" }, /"schema": "citer-lesson" and "version": 1/);
  refused({ version: 2 }, /must have/);
  refused({ id: "../secret" }, /letters a to z/);
  refused({ hide: ["everything"] }, /writers, bytes/);
  refused({ guess: { ...good.guess, truth: "run.secret" } }, /guess\.truth is "run\.secret"; it must be one of run\./);
  refused({ guess: { ...good.guess, kind: "essay" } }, /number, marks/);
  refused({ guess: { ...good.guess, low: 9, high: 9 } }, /less than/);
  refused({ look: "It is {run.everything}." }, /a name in braces is "run\.everything"/);
  refused({ notes: [] }, /a list of 3/);
  refused({ find: undefined }, /find is missing/);
  assert.throws(() => readLesson("{"), /not JSON/);
  assert.throws(() => readLesson("null"), /is not a lesson/);
  assert.throws(() => readLesson(" ".repeat(30_000)), /at most 20,000/);
});
