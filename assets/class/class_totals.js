/**
 * What a class answered, added up: marks by token, guesses, numbers found, curves.
 *
 * Pure: must not know the DOM. Nobody is told apart.
 *
 * @typedef {import("./answer_code.js").ClassAnswer} ClassAnswer
 */

import { scoreMarks } from "../learn/score.js";

/** The answers to each thing that was asked, in the order in which they came. @param {ClassAnswer[]} answers */
export function bySubject(answers) {
  /** @type {Map<string, ClassAnswer[]>} */
  const found = new Map();
  for (const answer of answers) found.set(answer.of, [...(found.get(answer.of) ?? []), answer]);
  return found;
}

/**
 * How many marked each token.
 * @param {ClassAnswer[]} answers @param {number} n tokens of the text
 */
export function heatOf(answers, n) {
  const heat = new Array(n).fill(0);
  for (const { marks } of answers) for (const mark of marks ?? []) if (mark < n) heat[mark]++;
  return heat;
}

/**
 * Marks against what the router did.
 * @param {ClassAnswer[]} answers with marks @param {boolean[]} truth
 * @returns {{mean: number, marks: number, blind: number, wasted: number|null}} right marks of a person on average, of
 *   so many, and of as many put down blindly; `wasted`: the token that most marked for nothing
 */
export function marksAgainst(answers, truth) {
  const n = truth.length;
  const each = answers.map(({ marks }) => {
    const marked = truth.map((_, i) => marks?.includes(i) ?? false);
    return { hits: scoreMarks(marked, truth).hits, n: marked.filter(Boolean).length };
  });
  const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
  const marks = mean(each.map((one) => one.n));
  const heat = heatOf(answers, n).map((count, i) => (truth[i] ? 0 : count));
  const most = Math.max(0, ...heat);
  return {
    mean: mean(each.map(({ hits }) => hits)),
    marks,
    blind: (marks * truth.filter(Boolean).length) / (n || 1),
    wasted: most ? heat.indexOf(most) : null,
  };
}

/** The middle one of some numbers. @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Guesses as columns of dots: where each stands, and how high in its column.
 * @param {number[]} guesses @param {number} low @param {number} high @param {number} columns
 */
export function dotsOf(guesses, low, high, columns) {
  const heights = new Array(columns + 1).fill(0);
  return guesses.map((guess) => {
    const inside = Math.min(high, Math.max(low, guess));
    const column = Math.round(((inside - low) / (high - low)) * columns);
    return { column, height: heights[column]++ };
  });
}
