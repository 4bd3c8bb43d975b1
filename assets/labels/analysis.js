/**
 * An analysis as the server sends it, unpacked: one entry per ground-truth token in typed columns.
 *
 * Pure: must not know the DOM. See `citer_core/ui/labels/messages.py` for the message.
 *
 * @typedef {Object} Analysis
 * @property {string} [pair] which read it just now; that of a recorded one is in the index
 * @property {string} [pair_revision]
 * @property {string} title
 * @property {number} n tokens of all problems
 * @property {{id: string|null, kind: string, question: string, answer: string, n: number, start: number}[]} problems
 * @property {{name: string, label: string, tau: number, prior: string}[]} routers
 * @property {string[]} text the pieces; joined they are the ground truth
 * @property {(string|null)[]} slm each model's greedy token; null is the end of text
 * @property {(string|null)[]} llm
 * @property {Uint8Array} caseOf
 * @property {Rule[]} rules by which there are labels, the one to begin with first
 * @property {Rule} rule whose labels these are
 * @property {Uint8Array} label 1: prefer the SLM; 0: prefer the LLM; 2: neither, both answers are wrong
 * @property {Uint32Array} problemOf
 * @property {Record<string, Float32Array>} confidence by router
 * @property {Float32Array} slmProbability of each model's greedy token
 * @property {Float32Array} llmProbability
 * @property {Float32Array} slmTruthProbability of the true token
 * @property {Float32Array} llmTruthProbability
 * @property {(router: string) => import("./curves.js").Curves} curves worked out when they are first asked for
 *
 * @typedef {"outcome"|"published"} Rule
 *
 * @typedef {Object} AnalysisMessage
 * @property {string} analysis the name of a recorded one
 * @property {string} [pair]
 * @property {string} [pair_revision]
 * @property {string} title
 * @property {string[]} words
 * @property {{id: string|null, kind: string, question: string, answer: string, n: number}[]} problems
 * @property {{name: string, label: string, tau: number, prior: string}[]} routers
 * @property {number[]} text indices of words; -1 is none
 * @property {number[]} slm
 * @property {number[]} llm
 * @property {string} case a digit for each token
 * @property {string} slm_probability float32 in base64
 * @property {string} llm_probability
 * @property {string} slm_truth_probability
 * @property {string} llm_truth_probability
 * @property {string} label the published ones
 * @property {string|null} [outcome] the labels by outcome, where they were made
 * @property {Record<string, string>} confidence
 */

import { visibleText } from "../viewer/text.js";
import { curvesOf } from "./curves.js";
import { UNDECIDED } from "./verdict.js";

/** Little-endian float32 in base64. @param {string} text */
export function floats(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getFloat32(4 * i, true));
}

const DAMAGED = "This analysis arrived damaged: pick the problem again.";

/** What is wrong with a message, for a person. */
export class AnalysisError extends Error {}

/**
 * Throws unless every column has an entry for each token, and every entry leads somewhere.
 * @param {AnalysisMessage} message
 */
function checkMessage(message) {
  /** @param {unknown} value */
  const isList = (value) => Array.isArray(value);
  const { words, problems, routers, text, slm, llm } = message ?? {};
  /** @param {unknown} index */
  const isWord = (index) => typeof index === "number" && Number.isInteger(index) && index >= -1 && index < words.length;
  const n = text?.length;
  const good =
    [words, problems, routers, text, slm, llm].every(isList) &&
    routers.length > 0 &&
    words.every((word) => typeof word === "string") &&
    [text, slm, llm].every((entries) => entries.length === n && entries.every(isWord)) &&
    text.every((index) => index >= 0) &&
    problems.every((problem) => Number.isInteger(problem?.n) && problem.n > 0) &&
    problems.reduce((sum, problem) => sum + problem.n, 0) === n &&
    [message.case, message.label, message.outcome ?? message.label].every(
      (digits) => /^\d*$/.test(digits) && digits.length === n,
    ) &&
    routers.every((router) => typeof router?.name === "string") &&
    routers.every((router) => Object.hasOwn(message.confidence ?? {}, router.name));
  if (!good) throw new AnalysisError(DAMAGED);
}

/**
 * A column of float32, one for each of `n` tokens.
 * @param {unknown} text
 * @param {number} n
 */
function column(text, n) {
  let values = null;
  try {
    values = typeof text === "string" ? floats(text) : null;
  } catch {
    // No base64: the same as a column that is missing.
  }
  if (values === null || values.length !== n) throw new AnalysisError(DAMAGED);
  return values;
}

/**
 * @param {AnalysisMessage} message
 * @param {Rule} wanted whose labels to take; the published ones where there are no others
 * @returns {Analysis}
 * @throws {AnalysisError} the message is not what the server writes
 */
export function unpack(message, wanted) {
  checkMessage(message);
  const rules = /** @type {Rule[]} */ (message.outcome ? ["outcome", "published"] : ["published"]);
  const rule = rules.includes(wanted) ? wanted : "published";
  const label = Uint8Array.from((rule === "outcome" && message.outcome) || message.label, Number);
  const confidence = Object.fromEntries(
    Object.entries(message.confidence).map(([name, text]) => [name, column(text, message.text.length)]),
  );
  /** @type {Map<string, import("./curves.js").Curves>} */
  const known = new Map();
  /** @param {number} index */
  const word = (index) => (index < 0 ? null : message.words[index]);
  const n = message.text.length;
  const problemOf = new Uint32Array(n);
  let start = 0;
  const problems = message.problems.map((problem, number) => {
    problemOf.fill(number, start, start + problem.n);
    const placed = { ...problem, start };
    start += problem.n;
    return placed;
  });
  return {
    pair: message.pair,
    pair_revision: message.pair_revision,
    title: message.title,
    n,
    problems,
    routers: message.routers,
    text: message.text.map((index) => message.words[index]),
    slm: message.slm.map(word),
    llm: message.llm.map(word),
    caseOf: Uint8Array.from(message.case, Number),
    rules,
    rule,
    label,
    problemOf,
    slmProbability: column(message.slm_probability, n),
    llmProbability: column(message.llm_probability, n),
    slmTruthProbability: column(message.slm_truth_probability, n),
    llmTruthProbability: column(message.llm_truth_probability, n),
    confidence,
    curves(router) {
      if (!known.has(router)) known.set(router, curvesOf(confidence[router], label));
      return /** @type {import("./curves.js").Curves} */ (known.get(router));
    },
  };
}

/** The label of a token, for a table; "" where it has none. @param {Analysis} analysis @param {number} index */
export const labelOf = ({ label }, index) => (label[index] === UNDECIDED ? "" : label[index]);

/** Is this the end-of-text token of its problem? @param {Analysis} analysis @param {number} index */
export function isEnd(analysis, index) {
  const { start, n } = analysis.problems[analysis.problemOf[index]];
  return index === start + n - 1;
}

/** Which token of which problem it is, as people count. @param {Analysis} analysis @param {number} index */
export function placeOf(analysis, index) {
  const problem = analysis.problemOf[index];
  return { place: index - analysis.problems[problem].start + 1, problem: problem + 1 };
}

/** What a model would have written, for labels. @param {string|null} token */
export const modelWords = (token) => (token === null ? "end of text" : visibleText(token));

/** A token in words, for labels. @param {Analysis} analysis @param {number} index */
export const tokenWords = (analysis, index) => modelWords(isEnd(analysis, index) ? null : analysis.text[index]);
