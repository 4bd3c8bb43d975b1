/**
 * Answers of a class out of a text: codes and JSON lines, one a line, whatever else stands in it.
 *
 * Pure: must not know the DOM. Everything passes the gate; what is wrong is said in a sentence, and nothing is printed
 * back at length. Each answer counts once, in whichever form it comes.
 *
 * @typedef {import("./answer_code.js").ClassAnswer} ClassAnswer
 * @typedef {{answers: ClassAnswer[], nTwice: number, wrong: string[]}} ReadAnswers `wrong`: a sentence for each line
 */

import { GateError, parseJson, readKind } from "../run/gate.js";
import { inDigits, oneNamed, listOf, orNone, realFrom, recordOf, rowOf, textUpTo, wholeFrom } from "../run/kinds.js";
import { CODE, MOST_MARKS, MOST_POINTS, answerOfCode } from "./answer_code.js";

export const ANSWER_SCHEMA = "citer-answer";
const ANSWER_VERSION = 1;
const MAX_CHARS = 1_000_000;
const MAX_LINE = 20_000;
export const MOST_ANSWERS = 500;

const POINT = { ...rowOf(realFrom(0, 1), wholeFrom(0, 1e6)), wanted: "a share and how many were right" };
const NUMBER = orNone(realFrom(-1e7, 1e7), "a number");
/** @param {string[]} subjects */
const answerKind = (subjects) =>
  recordOf({
    of: { ...oneNamed(...subjects), wanted: "a lesson that this page has" },
    key: { ...textUpTo(6, 6, "0123456789abcdef"), wanted: "six of the digits 0 to 9 and a to f" },
    guess: NUMBER,
    marks: orNone(listOf(wholeFrom(0, 1e6), MOST_MARKS), `a list of at most ${MOST_MARKS} tokens`),
    curve: orNone(recordOf({ n: wholeFrom(1, 1e6), points: listOf(POINT, MOST_POINTS, 1) })),
    number: NUMBER,
  });

/** @param {ClassAnswer} answer @returns {string} one line of JSON */
export const lineOf = (answer) => JSON.stringify({ schema: ANSWER_SCHEMA, version: ANSWER_VERSION, ...answer });

/** @param {string} line @param {string[]} subjects @returns {ClassAnswer} */
function answerOfLine(line, subjects) {
  const found = /** @type {any} */ (parseJson(line, MAX_LINE));
  if (found?.schema !== ANSWER_SCHEMA || found.version !== ANSWER_VERSION)
    throw new GateError(`It is no answer: it must have "schema": "${ANSWER_SCHEMA}" and "version": ${ANSWER_VERSION}.`);
  const answer = /** @type {ClassAnswer} */ (readKind(answerKind(subjects), found, ""));
  if ([answer.guess, answer.marks, answer.curve].filter((part) => part !== null).length !== 1)
    throw new GateError("It must have one of guess, marks and curve.");
  if (answer.curve?.points.some(([, right]) => right > (answer.curve?.n ?? 0)))
    throw new GateError("Its curve has more right answers than problems.");
  answer.marks &&= [...new Set(answer.marks)].sort((a, b) => a - b);
  return answer;
}

/**
 * @param {string} text
 * @param {string[]} subjects that this page has
 * @param {ClassAnswer[]} [before] that were read earlier
 * @returns {ReadAnswers} the new ones
 */
export function readAnswers(text, subjects, before = []) {
  if (text.length > MAX_CHARS) {
    const most = inDigits(MAX_CHARS);
    return { answers: [], nTwice: 0, wrong: [`This text is too long: at most ${most} characters are read at a time.`] };
  }
  const seen = new Set(before.map(({ of, key }) => `${of} ${key}`));
  /** @type {ReadAnswers} */
  const found = { answers: [], nTwice: 0, wrong: [] };
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (!trimmed) continue;
    try {
      const answer = trimmed.startsWith("{") ? answerOfLine(trimmed, subjects) : answerInLine(trimmed, subjects);
      const name = `${answer.of} ${answer.key}`;
      if (seen.has(name)) found.nTwice++;
      else if (seen.size >= MOST_ANSWERS) throw new GateError(`A class has at most ${MOST_ANSWERS} answers.`);
      else {
        seen.add(name);
        found.answers.push(answer);
      }
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      found.wrong.push(`Line ${i + 1}: ${error.message}`);
    }
  }
  return found;
}

/** @param {string} line @param {string[]} subjects */
function answerInLine(line, subjects) {
  const [code] = CODE.exec(line) ?? [];
  if (!code) throw new GateError("There is no code in it. A code has at least 16 characters in groups of four.");
  return answerOfCode(code, subjects);
}
