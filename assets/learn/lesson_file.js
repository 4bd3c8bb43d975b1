/**
 * A lesson as a JSON file, and its reader: one question with a guess before the answer, and one number to find.
 *
 * Pure: must not know the DOM. A file may be from any teacher, so it passes the gate. Its texts name numbers in braces;
 * the numbers come from `lesson_truths.js`.
 *
 * @typedef {{kind: "number", ask: string, truth: string, low: number, high: number}} NumberGuess on a scale
 * @typedef {{kind: "marks", ask: string, truth: "router"|"changed", most: number}} MarksGuess so many tokens of the run
 * @typedef {Object} Lesson
 * @property {string} id in addresses, and the name of its file
 * @property {string} title
 * @property {string} open what stands behind "?" in the address of the page as it is to stand
 * @property {HiddenPart[]} hide what would tell the answer
 * @property {NumberGuess|MarksGuess} guess
 * @property {string} look what is said with the answer
 * @property {{ask: string, truth: string}} find the number
 * @property {string[]} notes for the teacher: to the guess, the answer, and the number
 *
 * @typedef {"writers"|"bytes"|"decisive"|"taken"|"finding"} HiddenPart
 */

import { GateError, parseJson, readKind } from "../run/gate.js";
import { oneNamed, listOf, recordOf, textUpTo, wholeFrom } from "../run/kinds.js";
import { LESSON_TRUTHS, truthOf, truthWords } from "./lesson_truths.js";

/** @typedef {import("./lesson_truths.js").LessonFacts} LessonFacts */

export const LESSON_SCHEMA = "citer-lesson";
export const LESSON_VERSION = 1;
const MAX_CHARS = 20_000;
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-";
const NAMED = /\{([\w.]+)\}/;

/** @param {number} max */
const line = (max) => textUpTo(max, 1);
/** @param {string[]} names */
const oneOf = (names) => ({ ...oneNamed(...names), wanted: `one of ${names.join(", ")}` });
const TRUTH = oneOf(Object.keys(LESSON_TRUTHS));
const SCALE = wholeFrom(-1000, 100_000);
const GUESSES = {
  number: recordOf({ kind: oneOf(["number"]), ask: line(300), truth: TRUTH, low: SCALE, high: SCALE }),
  marks: recordOf({
    kind: oneOf(["marks"]),
    ask: line(300),
    truth: oneOf(["router", "changed"]),
    most: wholeFrom(1, 20),
  }),
};
export const LESSON_ID = {
  ...textUpTo(60, 1, ID_LETTERS),
  wanted: "1 to 60 of the letters a to z, digits and hyphens",
};
const HIDDEN = ["writers", "bytes", "decisive", "taken", "finding"];
const LESSON_KIND = recordOf({
  id: LESSON_ID,
  title: line(60),
  open: line(2000),
  hide: { ...listOf(oneOf(HIDDEN), HIDDEN.length), wanted: `some of ${HIDDEN.join(", ")}` },
  guess: { ...recordOf({ kind: oneOf(Object.keys(GUESSES)) }), wanted: "an object with kind, ask and truth" },
  look: line(600),
  find: recordOf({ ask: line(300), truth: TRUTH }),
  notes: { ...listOf(line(400), 3, 3), wanted: "a list of 3 texts" },
});

/**
 * @param {string} text of a file
 * @returns {Lesson}
 * @throws {GateError} what was wrong, and what is allowed
 */
export function readLesson(text) {
  const found = /** @type {any} */ (parseJson(text, MAX_CHARS));
  const { schema, version } = found ?? {};
  if (schema !== LESSON_SCHEMA || version !== LESSON_VERSION) {
    const wanted = `"schema": "${LESSON_SCHEMA}" and "version": ${LESSON_VERSION}`;
    throw new GateError(`This file is not a lesson that is read here; it must have ${wanted}.`);
  }
  const lesson = /** @type {Lesson} */ (readKind(LESSON_KIND, found, ""));
  lesson.guess = /** @type {Lesson["guess"]} */ (readKind(GUESSES[lesson.guess.kind], found.guess, "guess"));
  if (lesson.guess.kind === "number" && lesson.guess.low >= lesson.guess.high)
    throw new GateError("guess.low must be less than guess.high.");
  for (const words of [lesson.guess.ask, lesson.look, lesson.find.ask, ...lesson.notes]) checkNames(words);
  return lesson;
}

/** @param {string} words */
function checkNames(words) {
  const own = ["truth", "guess", "most"];
  words.split(NAMED).forEach((name, place) => {
    if (place % 2 && !own.includes(name)) readKind(TRUTH, name, "a name in braces");
  });
}

/**
 * A text of a lesson with its numbers put in: words and numbers by turns, numbers at the odd places.
 * @param {string} words @param {LessonFacts} facts
 * @param {Record<string, string>} [own] `truth`, `guess` and `most`, as they are to be printed
 */
export const filled = (words, facts, own = {}) =>
  words.split(NAMED).map((part, place) => (place % 2 ? (own[part] ?? truthWords(part, truthOf(part, facts))) : part));
