/**
 * Cases and labels of a run that this browser asked both models about; the mirror of `citer_core/ui/run/answers.py`.
 *
 * Must not know models: they have said what they say, and here are problems and answers.
 *
 * @typedef {import("../engine/run_labels.js").RunCases} RunCases
 * @typedef {import("../tasks/book.js").Problem} Problem
 */

import { checkAnswer } from "../tasks/answers.js";

export const NO_SOLUTION = "No worked solution of this problem is known here, and a label compares tokens with one.";

/**
 * The solution that a run can be compared with.
 * @param {import("../tasks/book.js").ProblemBook} book
 * @param {Prompt} prompt of the run
 * @returns {(Problem & {solution: string})|null} null where none is known, or the run's models read another prompt
 */
export function solvedProblem(book, { question, data_type: dataType, text }) {
  const known = book.known(question, dataType);
  return known?.solution && known.prompt === text ? { ...known, solution: known.solution } : null;
}

/**
 * @param {RunCases|{why: string}|null|undefined} cases
 * @param {Problem|null} problem with its true answer
 * @returns {Truth} a label is `?` where it takes comparing two answers that only the server can compare
 */
export function truthOf(cases, problem) {
  if (!problem || !cases) return { why: NO_SOLUTION };
  if ("why" in cases) return cases;
  /** @param {string} one @param {number} i */
  const label = (one, i) => {
    if (one !== "3") return one === "1" ? "1" : "0";
    const isRight = checkAnswer(cases.endings[i] ?? "", problem).is_correct;
    return isRight === null ? "?" : String(Number(isRight));
  };
  return { shared: cases.shared, case: cases.case, label: [...cases.case].map(label).join(""), true: cases.true };
}
