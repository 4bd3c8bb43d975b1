/**
 * What a person typed, or a row of a data set, as a problem with its prompt; the mirror of
 * `citer_core/tasks/problems.py`. Pure.
 *
 * @typedef {Object} Problem
 * @property {string} data_type `math`, `mc` or `open`
 * @property {string} question as a person reads it, choices included
 * @property {string} prompt the exact text that the models read
 * @property {string|null} true_answer
 * @property {[string, string][]} choices label and text of each
 */

import { lastBoxed } from "./boxed.js";
import { SPACE, fold, linesOf, stripped, trimmed } from "./plain_text.js";
import { PROMPT_FORMS } from "./tables.js";

/** A text is no problem; what it must be, in words. */
export class ProblemError extends Error {}

export const MC_EXAMPLE = "What is the capital of France?\nA. Paris\nB. Lyon";
const CHOICE_LINE = new RegExp(
  `^${SPACE}*(?:\\(([A-Za-z]|\\p{Nd}{1,2})\\)|([A-Za-z]|\\p{Nd}{1,2})[.):])${SPACE}+((?!${SPACE})[^\\n].*)$`,
  "u",
);
const CHOICE_ROW = "{label}. {text}";

/** Of the prompt's form; 0 where a text has none. @param {string} dataType */
export const promptVersion = (dataType) => (dataType === "open" ? 0 : PROMPT_FORMS.version);

/** @param {string} question */
const mathPrompt = (question) => PROMPT_FORMS.math.join("\n").replace("{question}", () => stripped(question));

/** @param {string} question @param {[string, string][]} choices */
function mcPrompt(question, choices) {
  const rows = choices.map(([label, text]) => `${label}. ${text}`).join("\n");
  const [head, tail] = PROMPT_FORMS.mc.join("\n").split(CHOICE_ROW);
  return head.replace("{question}", () => stripped(question)) + rows + tail;
}

/** @param {string} question @param {[string, string][]} choices */
const readable = (question, choices) => [question, ...choices.map(([label, text]) => `${label}. ${text}`)].join("\n");

/**
 * @param {string} text `mc`: the question, then one choice a line
 * @param {string} dataType
 * @param {string|null} [trueAnswer] `mc`: a label
 * @returns {Problem}
 * @throws {ProblemError}
 */
export function problemFromText(text, dataType, trueAnswer = null) {
  const answer = stripped(trueAnswer ?? "") || null;
  const what = dataType === "open" ? "The prompt" : "The question";
  const nChars = [...text].length;
  const most = PROMPT_FORMS.maxChars;
  if (!stripped(text)) throw new ProblemError(`${what} is empty: write one.`);
  if (nChars > most) {
    const [has, may] = [nChars, most].map((n) => n.toLocaleString("en"));
    throw new ProblemError(`${what} has ${has} characters: shorten it to ${may} or fewer.`);
  }
  if (/\p{Surrogate}/u.test(text)) {
    throw new ProblemError(
      `${what} holds half of a surrogate pair, which is not a character: save it again as UTF-8 text.`,
    );
  }
  if (dataType === "open") return { data_type: "open", question: text, prompt: text, true_answer: null, choices: [] };
  if (dataType === "math") {
    const question = stripped(text);
    const boxed = answer === null ? null : (lastBoxed(answer) ?? answer);
    return { data_type: "math", question, prompt: mathPrompt(question), true_answer: boxed, choices: [] };
  }
  const [question, choices] = splitChoices(text);
  const label = answer === null ? null : labelOf(answer, choices);
  if (answer !== null && label === null)
    throw new ProblemError(
      `The true answer is not one of the choices: give one of ${choices.map(([name]) => name).join(", ")}.`,
    );
  return {
    data_type: "mc",
    question: readable(question, choices),
    prompt: mcPrompt(question, choices),
    true_answer: label,
    choices,
  };
}

/**
 * The label that an answer names, as a label or as the text of exactly one choice.
 * @param {string} answer @param {[string, string][]} choices
 */
function labelOf(answer, choices) {
  const wanted = fold(trimmed(answer, "()."));
  const byLabel = choices.filter(([label]) => fold(label) === wanted);
  const byText = choices.filter(([, text]) => fold(text) === fold(answer));
  const [found] = byLabel.length ? byLabel : byText.length === 1 ? byText : [];
  return found?.[0] ?? null;
}

/** @param {string} text @returns {[string, [string, string][]]} the question, and the choices in its last lines */
function splitChoices(text) {
  const lines = linesOf(stripped(text)).filter((line) => stripped(line));
  /** @type {[string, string][]} */
  const choices = [];
  for (let match; lines.length && (match = CHOICE_LINE.exec(lines[lines.length - 1])); lines.pop()) {
    choices.unshift([(match[1] ?? match[2]).toUpperCase(), stripped(match[3])]);
  }
  if (choices.length < 2) {
    throw new ProblemError(`A multiple-choice question ends with two choices or more, one a line, like\n${MC_EXAMPLE}`);
  }
  if (lines.length && stripped(lines[lines.length - 1]).toLowerCase() === "choices:") lines.pop();
  const question = stripped(lines.join("\n"));
  if (!question) throw new ProblemError(`There are choices but no question above them. Write it like\n${MC_EXAMPLE}`);
  const labels = choices.map(([label]) => label);
  if (new Set(labels).size < labels.length) {
    throw new ProblemError(`The choices use a label twice (${labels.join(", ")}): give each its own.`);
  }
  return [question, choices];
}

/**
 * A row of the project's own data sets, which were checked when they were made.
 * @param {any} row
 * @returns {Problem & {solution: string}} with the completion that is known to be right
 */
export function problemFromRow(row) {
  if (row.choices) {
    const question = stripped(row.question);
    /** @type {[string, string][]} */
    const choices = row.choices.label.map((/** @type {string} */ label, /** @type {number} */ i) => [
      stripped(label),
      stripped(row.choices.text[i]),
    ]);
    return {
      data_type: "mc",
      question: readable(question, choices),
      prompt: mcPrompt(question, choices),
      true_answer: row.answerKey || null,
      choices,
      solution: ` ${stripped(row.cot)}`,
    };
  }
  const question = stripped(row.problem);
  return {
    data_type: "math",
    question,
    prompt: mathPrompt(question),
    true_answer: lastBoxed(row.solution),
    choices: [],
    solution: ` ${stripped(row.cot || row.solution)}`,
  };
}
