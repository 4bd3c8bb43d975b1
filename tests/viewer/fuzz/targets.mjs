/**
 * Every reader of the browser's, each as one entry: what to feed it, how to call it, with which errors it may refuse.
 *
 * To add a reader, add an entry: `inputs` makes the odd things (an arbitrary of fast-check), `read` calls the reader
 * and looks at what it gave, `calm` are the errors that it may throw. All else is a finding.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import fc from "fast-check";

import { answerOfCode, codeOf } from "../../../assets/class/answer_code.js";
import { lineOf, readAnswers } from "../../../assets/class/read_answers.js";
import { AnalysisError, unpack } from "../../../assets/labels/analysis.js";
import { GateError, excerpt, parseJson, readKind } from "../../../assets/run/gate.js";
import { buildLink, readLink } from "../../../assets/app/link.js";
import { TraceFileError, parseTrace, traceToJson } from "../../../assets/run/trace_file.js";
import { readLesson } from "../../../assets/learn/lesson_file.js";
import { RunReceiver } from "../../../assets/run/stream.js";
import { SETTINGS_TABLE } from "../../../assets/run/trace_schema.js";

const RECORDED = fileURLToPath(new URL("../../../assets/traces/capital.json", import.meta.url));
const CAPITAL = JSON.parse(readFileSync(RECORDED, "utf8"));
const TRACE = { ...CAPITAL, events: CAPITAL.events.slice(0, 3) };
const float = (...values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");
const ANALYSIS = {
  analysis: "id",
  title: "t",
  problems: [{ id: null, kind: "math", question: "q", answer: "1", n: 2 }],
  routers: [{ name: "r", label: "R", tau: 0.5, prior: "" }],
  text: [0, 1],
  slm: [0, -1],
  llm: [1, -1],
  words: ["a", "b"],
  case: "12",
  label: "01",
  slm_probability: float(0, 1),
  llm_probability: float(0, 1),
  slm_truth_probability: float(0, 1),
  llm_truth_probability: float(0, 1),
  confidence: { r: float(0.2, 0.9) },
};
const ODD = [
  null,
  true,
  false,
  0,
  1,
  -1,
  0.5,
  4096,
  2 ** 31,
  1e15,
  1e99,
  -0,
  "",
  "x",
  "\ud800",
  "🎉",
  "x".repeat(1001),
  [],
  {},
  [[]],
  [1, "a", 0.5],
  { path: "x" },
  undefined,
  "__proto__",
  "constructor",
];
const PIECES = [
  "[".repeat(70),
  "9".repeat(50),
  "1e400",
  "NaN",
  '"',
  "\\",
  "\\ud800",
  "}",
  "]",
  ",",
  "null",
  "</script>",
  "\u202e",
];

/** One choice after another out of a list of numbers, so that fast-check can shrink what was chosen. */
function chooser(numbers) {
  let next = 0;
  return (length) => numbers[next++ % numbers.length] % Math.max(1, length);
}

/** A copy with one value replaced by an odd one, or taken away. */
function changed(value, choose) {
  const copy = structuredClone(value);
  let place = copy;
  for (;;) {
    const keys = Object.keys(place);
    if (keys.length === 0) return copy;
    const key = keys[choose(keys.length)];
    const isInner = typeof place[key] === "object" && place[key] !== null;
    if (isInner && choose(5) > 0) place = place[key];
    else if (!Array.isArray(place) && choose(6) === 0) {
      delete place[key];
      return copy;
    } else {
      place[key] = ODD[choose(ODD.length)];
      return copy;
    }
  }
}

const numbers = fc.array(fc.nat(1e6), { minLength: 12, maxLength: 12 });
const near = (value) =>
  fc.tuple(fc.nat(2), numbers).map(([times, drawn]) => {
    const choose = chooser(drawn);
    let made = value;
    for (let i = 0; i < times; i++) made = changed(made, choose);
    return made;
  });

function garbled(text, choose) {
  const at = choose(text.length + 1);
  const end = Math.min(text.length, at + choose(40));
  return text.slice(0, at) + PIECES[choose(PIECES.length)] + text.slice(end);
}

/** JSON texts near a document: with values changed, garbled, or nothing of it at all. */
const documents = (value) =>
  fc.oneof(
    { arbitrary: near(value).map((made) => JSON.stringify(made)), weight: 4 },
    {
      arbitrary: fc.tuple(near(value), numbers).map(([made, drawn]) => garbled(JSON.stringify(made), chooser(drawn))),
      weight: 2,
    },
    fc.json(),
    fc.string({ unit: "binary" }),
  );

const message = near({ run: "a", head: { prompt: {} }, base: 0, tokens: [{ index: 0 }, { index: 1 }], end: null });

/** Feeds a receiver; whatever comes, its tokens are counted right, and it throws nothing. */
async function receiveAll([messages, repairs]) {
  let count = 0;
  let next = 0;
  const receiver = new RunReceiver(
    {
      fetchRun: () => {
        const answer = repairs[next++ % repairs.length];
        return answer === null ? Promise.reject(new Error("gone")) : Promise.resolve(answer);
      },
      start: () => (count = 0),
      append: (tokens) => (count += tokens.length),
      end: () => {},
      lost: () => {},
    },
    [0],
  );
  for (const entry of messages) {
    receiver.receive(entry);
    if (receiver.run !== null && receiver.started) assert.equal(receiver.n, count);
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
}

const settingKeys = Object.values(SETTINGS_TABLE).map((row) => row.link);
const queryKeys = ["preset", "q", "type", "router", ...settingKeys, "tau", "tok", "else"];
const queryValues = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.double().map(String),
  fc.constantFrom("math", "mc", "1e999", "-1", "0x10", "+", "%ff", "😀".repeat(9000)),
);
const links = fc
  .array(fc.tuple(fc.constantFrom(...queryKeys), queryValues), { maxLength: 8 })
  .map((pairs) => `?${pairs.map(([key, value]) => `${key}=${value}`).join("&")}`);

function readAnyLink(search) {
  const state = readLink(search, ["Large"]);
  if (state === null) return;
  for (const [name, value] of Object.entries(state.dials)) readKind(SETTINGS_TABLE[name].kind, value, name);
  assert.ok(state.token === null || (Number.isInteger(state.token) && state.token >= 0));
  if (state.problem) {
    const { problem } = state;
    assert.ok(["math", "mc", "open"].includes(problem.data_type) && problem.question.length <= 20_000);
    for (const [name, row] of Object.entries(SETTINGS_TABLE)) readKind(row.kind, problem.settings[name], name);
  }
  const again = readLink(new URL(buildLink("http://h/", { ...state })).search, ["Large"]);
  const kept = ({ preset, dials, look, branches }) => ({ preset, dials, look, branches });
  assert.deepEqual(again && kept(again), kept(state));
}

const LESSON = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../../assets/lessons/what-a-call-costs.json", import.meta.url)), "utf8"),
);
const SUBJECTS = ["what-a-call-costs", "run/trip", "lab"];
const NOTHING = { guess: null, marks: null, curve: null, number: null };
const ANSWERS = [
  { ...NOTHING, of: SUBJECTS[0], key: "a1b2c3", guess: 29, number: 64 },
  { ...NOTHING, of: SUBJECTS[1], key: "00ff00", marks: [1, 5, 40] },
  { ...NOTHING, of: SUBJECTS[2], key: "abcdef", curve: { n: 1000, points: [[0.05, 738]] } },
];
/** What is read of an answer says the same in both of its forms. @param {string} text */
function readAnyAnswers(text) {
  const { answers, wrong } = readAnswers(text, SUBJECTS);
  for (const words of wrong) assert.ok(words.length < 300, words);
  for (const answer of answers) {
    const again = answerOfCode(codeOf(answer), SUBJECTS);
    assert.deepEqual([again.of, again.key, again.marks], [answer.of, answer.key, answer.marks]);
  }
}
const codes = fc.tuple(fc.constantFrom(...ANSWERS.map(codeOf)), fc.string({ maxLength: 3 }), fc.nat(30));
const damagedCode = codes.map(([code, piece, at]) => code.slice(0, at) + piece + code.slice(at + piece.length));

export const TARGETS = [
  { name: "lesson", inputs: documents(LESSON), calm: [GateError], read: readLesson },
  {
    name: "answers of a class",
    inputs: fc.oneof(damagedCode, documents(JSON.parse(lineOf(ANSWERS[0]))), fc.string({ unit: "binary" })),
    calm: [],
    read: readAnyAnswers,
  },
  {
    name: "trace file",
    inputs: documents(TRACE),
    calm: [TraceFileError],
    read: (text) => {
      const once = traceToJson(parseTrace(text));
      assert.equal(traceToJson(parseTrace(once)), once);
    },
  },
  { name: "JSON text", inputs: documents(TRACE), calm: [GateError], read: (text) => parseJson(text, 100_000) },
  {
    name: "excerpt",
    inputs: fc.anything(),
    calm: [],
    read: (value) => assert.ok([...excerpt(value)].length <= 41 || typeof value === "bigint"),
  },
  { name: "link", inputs: fc.oneof(links, fc.string({ unit: "binary" })), calm: [], read: readAnyLink },
  { name: "label analysis", inputs: fc.oneof(near(ANALYSIS), fc.anything()), calm: [AnalysisError], read: unpack },
  {
    name: "stream messages",
    calm: [],
    read: receiveAll,
    inputs: fc.tuple(
      fc.array(fc.oneof(message, fc.anything()), { maxLength: 6 }),
      fc.array(fc.oneof(message, fc.constant(null), fc.anything()), { minLength: 1, maxLength: 3 }),
    ),
  },
];
