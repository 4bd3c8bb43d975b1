/**
 * The final answer of a completion, and whether it is right; the mirror of `citer_core/tasks/answers.py`. Pure.
 *
 * @typedef {import("./problems.js").Problem} Problem
 */

import { lastBoxed } from "./boxed.js";
import { ChoiceReader } from "./choice_reader.js";
import { clean, fold, trimmed, unwrapped } from "./plain_text.js";
import { ANSWER_PATTERNS } from "./tables.js";

/**
 * Whether two final answers are the same number or text; the mirror of `citer_core/tasks/equivalence.py`, which goes
 * on where this ends: expressions are compared by a library that a browser does not have.
 */

const MOST_ANSWER_CHARS = 500;

/** @param {string} pattern @param {string} text */
const fitsPattern = (pattern, text) => new RegExp(pattern, "u").test(text);

/** @param {string} latex */
function plainAnswer(latex) {
  let text = unwrapped(latex).replace(new RegExp(ANSWER_PATTERNS.looseSpace, "gu"), "");
  while (text.startsWith("{") && text.indexOf("}") === text.length - 1) text = trimmed(text.slice(1, -1), " .");
  return text;
}

/** A number in one form for all that are equal; null where it is none. @param {string} text */
function normalNumber(text) {
  const flat = fitsPattern(ANSWER_PATTERNS.grouped, text) ? text.replace(/[, ]/gu, "") : text;
  if (!fitsPattern(ANSWER_PATTERNS.number, flat)) return null;
  const [whole, fraction = ""] = flat.replace(/^[+-]/u, "").replace(/^0+/u, "").split(".");
  const digits = `${whole}.${fraction.replace(/0+$/u, "")}`;
  return digits === "." ? "0" : `${flat.startsWith("-") ? "-" : ""}${digits}`;
}

/**
 * @param {string} trueAnswer
 * @param {string} predicted
 * @returns {boolean|null} null where one is an expression and they do not look alike: that is not compared here
 */
export function sameAnswer(trueAnswer, predicted) {
  if (Math.max(trueAnswer.length, predicted.length) > MOST_ANSWER_CHARS) return trueAnswer === predicted;
  const latex = [trueAnswer, predicted].map((answer) =>
    clean(answer)
      .replaceAll("\n", "")
      .replace(/^[ *=:]+|[ .,;:*=\\]+$/gu, ""),
  );
  const [left, right] = latex.map(plainAnswer);
  if (!left || !right) return false;
  const [one, other] = [normalNumber(left), normalNumber(right)];
  if (one !== null && other !== null) return one === other;
  // Words compare without letter case, unknowns with it.
  const isWords =
    fitsPattern(ANSWER_PATTERNS.prose, fold(left)) || (left.length > 1 && latex.join("").includes("\\text"));
  return left === right || (isWords && fold(left) === fold(right)) || null;
}

/**
 * @param {string} completion what the models wrote, without the prompt
 * @param {Pick<Problem, "data_type"|"choices">} problem
 * @returns {string|null} `math`: what is in the last box; `mc`: a label
 */
export function extractAnswer(completion, { data_type: dataType, choices }) {
  if (dataType === "math") return lastBoxed(completion);
  return dataType === "mc" ? new ChoiceReader(choices).label(completion) : null;
}

/**
 * @param {string} completion
 * @param {Pick<Problem, "data_type"|"choices"|"true_answer">} problem
 * @returns {Answer} `is_correct` is null where the true answer is not known, or where this cannot compare the two
 */
export function checkAnswer(completion, problem) {
  const { data_type: dataType, true_answer: trueAnswer } = problem;
  const predicted = extractAnswer(completion, problem);
  /** @param {boolean|null} isCorrect */
  const verdict = (isCorrect) => ({
    true_answer: trueAnswer,
    predicted_answer: predicted,
    is_correct: isCorrect,
  });
  if (trueAnswer === null || dataType === "open") return verdict(null);
  if (predicted === null) return verdict(false);
  return verdict(dataType === "mc" ? predicted === trueAnswer : sameAnswer(trueAnswer, predicted));
}
