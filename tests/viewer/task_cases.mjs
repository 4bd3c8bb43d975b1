/** What the browser makes of texts: problems, answers, boxes, comparisons. JSON on standard input, JSON out. */

import { readFileSync } from "node:fs";

import { checkAnswer, sameAnswer } from "../../assets/tasks/answers.js";
import { ProblemBook, rowsOf } from "../../assets/tasks/book.js";
import { lastBoxed } from "../../assets/tasks/boxed.js";
import { problemFromText } from "../../assets/tasks/problems.js";

const asked = JSON.parse(readFileSync(0, "utf8"));

/** @param {() => unknown} make */
function orError(make) {
  try {
    return make();
  } catch (error) {
    return { error: error.message };
  }
}

const rows = Object.entries(asked.rows ?? {}).map(([kind, text]) => [kind, rowsOf(text)]);
const book = new ProblemBook(new Map(rows), asked.recorded ?? []);
console.log(
  JSON.stringify({
    problems: asked.problems.map(([text, kind]) => orError(() => problemFromText(text, kind))),
    answers: asked.answers.map(([completion, problem]) => checkAnswer(completion, problem)),
    boxes: asked.boxes.map(lastBoxed),
    pairs: asked.pairs.map(([one, other]) => sameAnswer(one, other)),
    book: asked.known.map(([text, kind]) => book.problem(text, kind)),
  }),
);
