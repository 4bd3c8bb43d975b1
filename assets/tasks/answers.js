/**
 * The final answer of a completion, and whether it is right; the mirror of `citer_core/tasks/answers.py`. Pure.
 *
 * @typedef {import("./problems.js").Problem} Problem
 */

import { lastBoxed } from "./boxed.js";
import { ChoiceReader } from "./choice_reader.js";
import { sameAnswer } from "./equivalence.js";

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
