/**
 * The final answer of a completion, and whether it is right; the mirror of `citer_core/tasks/answers.py`. Pure.
 *
 * @typedef {import("./problems.js").Problem} Problem
 * @typedef {[string, string][]} Choices label and text of each
 * @typedef {{label: string, byLabel: boolean, start: number, end: number}} Mention
 */

import { lastBoxed } from "./boxed.js";
import { sameAnswer } from "./equivalence.js";
import { EDGE, SPACE, WORD, literally, stripped, wordsOf } from "./plain_text.js";

const THEREFORE = new RegExp(`${EDGE}therefore${EDGE}`, "giu");
const ANSWER_IS = new RegExp(`${EDGE}answer${SPACE}*(?:is${EDGE}|:)`, "giu");
const NEGATED = new RegExp(
  `(?:${EDGE}not|n't|${EDGE}neither|${EDGE}nor)${SPACE}+(?:(?:the|a|an)${SPACE}+)?[^\\p{L}\\p{N}]*$`,
  "giu",
);
const NEGATION_CHARS = 24; // a negation stands right before what it negates
const STARS = `(?:${SPACE}|[*_])*`;
const JOINED = new RegExp(`${STARS}(?:/|${EDGE}(?:or|and)${EDGE})${STARS}(?:(?:the|a|an)${SPACE}+)?$`, "iuy");
const END_OF_ANSWER = new RegExp(`\\n${SPACE}*\\n|\\n${SPACE}*Question:`, "u");
const SPAN_CHARS = 1000;

/** @param {string} text */
const straight = (text) => text.replace(/[\u2018\u2019\u02bc]/g, "'");
/** @param {string} text */
const choiceKey = (text) => wordsOf(straight(text)).join(" ").toLowerCase();

/**
 * @param {string} completion what the models wrote, without the prompt
 * @param {Pick<Problem, "data_type"|"choices">} problem
 * @returns {string|null} `math`: what is in the last box; `mc`: a label
 */
export function extractAnswer(completion, { data_type: dataType, choices }) {
  if (dataType === "math") return lastBoxed(completion);
  return dataType === "mc" ? chosenLabel(completion, choices) : null;
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

/** @param {string} completion @param {Choices} choices @returns {string|null} */
function chosenLabel(completion, choices) {
  const text = straight(completion);
  const spans = answerSpans(text);
  for (const span of spans) {
    const found = mentions(span, choices).filter((mention) => !isNegated(span, mention));
    const byLabel = found.filter((mention) => mention.byLabel);
    const named = byLabel.length ? byLabel : found;
    if (named.length) return isUndecided(span, found, named[0]) ? null : named[0].label;
    const bare = bareLabel(span, choices);
    if (bare) return bare;
  }
  if (spans.length) return null;
  const whole = stripped(stripped(text).replace(/^[*.]+|[*.]+$/g, "")).slice(-SPAN_CHARS);
  for (const mention of mentions(whole, choices)) {
    const { start, end, byLabel, label } = mention;
    const isWhole = start === 0 && end === whole.length;
    if (isWhole || (byLabel && end === whole.length && !isNegated(whole, mention))) return label;
  }
  return choices.find(([label]) => label === whole)?.[0] ?? null;
}

/** Where to look, best first. @param {string} text @returns {string[]} */
function answerSpans(text) {
  const conclusion = [...text.matchAll(THEREFORE)].at(-1);
  const found = conclusion ?? [...text.matchAll(ANSWER_IS)].at(-1);
  if (!found) return [];
  let tail = text.slice(found.index + found[0].length).replace(new RegExp(`^${SPACE}+`, "u"), "");
  const end = tail.search(END_OF_ANSWER);
  if (end >= 0) tail = tail.slice(0, end);
  const stated = conclusion && [...tail.matchAll(ANSWER_IS)].at(-1);
  const spans = stated ? [tail.slice(stated.index + stated[0].length), tail] : [tail];
  return spans.map((span) => span.slice(0, SPAN_CHARS));
}

/** Every choice named in `span`, in order. @param {string} span @param {Choices} choices @returns {Mention[]} */
function mentions(span, choices) {
  const byText = new Map(choices.map(([label, text]) => [choiceKey(text), label]));
  const byLabel = new Map(choices.map(([label]) => [label.toLowerCase(), label]));
  const searched = choiceKey(span);
  const occurring = choices.map(([, text]) => text).filter((text) => searched.includes(choiceKey(text)));
  const patterns = occurring.map((text) => wordsOf(straight(text)).map(literally).join(`${SPACE}+`));
  const texts = patterns.sort((a, b) => b.length - a.length).join("|") || "(?!)";
  const labels = choices.map(([label]) => literally(label)).join("|");
  const bracket = `[(\\[]${SPACE}*(LABELS)${SPACE}*[)\\]]`.replace("LABELS", () => labels);
  const pattern = new RegExp(
    `(?<!${WORD})(${texts})(?!${WORD})(?:(?:${SPACE}|[*_.,:$}"'])*${bracket})?|${bracket}`,
    "giu",
  );
  /** @type {Mention[]} */
  const found = [];
  for (let match = pattern.exec(span); match; match = pattern.exec(span)) {
    const [whole, text, behind, alone] = match;
    // A choice that is a lone letter keeps its case: "a" is a word.
    if (text?.length === 1 && !choices.some(([, choice]) => straight(choice).trim() === text)) {
      pattern.lastIndex = match.index + 1;
      continue;
    }
    const label = behind ?? alone;
    const known = label === undefined ? byText.get(choiceKey(text)) : byLabel.get(label.toLowerCase());
    const end = match.index + whole.length;
    if (known !== undefined) found.push({ label: known, byLabel: label !== undefined, start: match.index, end });
  }
  return found;
}

/** @param {string} span @param {Mention} mention */
function isNegated(span, { start }) {
  NEGATED.lastIndex = Math.max(0, start - NEGATION_CHARS);
  return NEGATED.test(span.slice(0, start));
}

/** Whether the next mention is another choice, joined by a word. @param {string} span @param {Mention[]} found
 * @param {Mention} chosen */
function isUndecided(span, found, chosen) {
  const after = found.find((mention) => mention.start >= chosen.end);
  if (!after || after.label === chosen.label) return false;
  JOINED.lastIndex = chosen.end;
  return JOINED.test(span.slice(0, after.start));
}

/** A label without brackets at the start of the span. @param {string} span @param {Choices} choices */
function bareLabel(span, choices) {
  const labels = choices.map(([label]) => literally(label)).join("|");
  const lead =
    `(?:${SPACE}|[*_"'\`$:,])*(?:(?:the${SPACE}+)?(?:answer|option|choice)(?:${SPACE}+is)?(?:${SPACE}|:)+)?` +
    `(?:\\\\(?:boxed|text)\\{${SPACE}*)*[*_]*`;
  const pattern = new RegExp(`^${lead}(${labels})(?=${STARS}(?:[.,;:!)}*$]|$|\\n))`, "u");
  return pattern.exec(span)?.[1] ?? null;
}
