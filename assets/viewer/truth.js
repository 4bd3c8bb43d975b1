/**
 * Case and label of a token in words: what the known solution says about it, and about the router's decision.
 *
 * Must not know where the labels come from. They are defined for as long as the run is the known solution, the token
 * included in which it leaves it; elsewhere it says why there are none.
 *
 * @typedef {Object} Labelled digits and texts per token, `?` for a label that is not known; `shared` are the run's own
 * @property {number} shared
 * @property {string} case
 * @property {string} label
 * @property {(string|null)[]} true
 * @property {undefined} [why]
 *
 * @typedef {Labelled|{why: string}} Truth
 */

import { block, html } from "./dom.js";
import { WRITER_NAMES, formatTau } from "../run/format.js";
import { visibleText } from "./text.js";

/** @type {Record<number, string>} */
const CASE_WORDS = {
  1: "Case 1: the SLM would have written the true token.",
  2: "Case 2: the SLM would not have written the true token, the LLM would.",
  3: "Case 3: neither model would have written the true token.",
};

/** @param {number} caseOf */
export const caseWords = (caseOf) => CASE_WORDS[caseOf];

/** What the label is, and why. @param {number} caseOf @param {number} label NaN where it is not known */
export function labelWords(caseOf, label) {
  if (caseOf === 1) return "Label 1: prefer the SLM, it is right here.";
  if (caseOf === 2) return "Label 0: prefer the LLM.";
  if (Number.isNaN(label))
    return "Label not known here: the SLM, going on alone, ends with an answer that only the server can compare.";
  return label
    ? "Label 1: the SLM, going on alone from the true text before it, still reached the right answer."
    : "Label 0: the SLM, going on alone from the true text before it, did not reach the right answer.";
}

/**
 * The decision on the screen against the label.
 * @param {number} label
 * @param {Writer} writer
 * @param {number} tau
 */
function decisionWords(label, writer, tau) {
  /** @type {Record<string, string>} */
  const named = {
    "0slm": "a risk, a critical token left to the SLM",
    "0llm": "a critical token caught",
    "1slm": "an easy token kept",
    "1llm": "a waste, an easy token given to the LLM",
  };
  return `At τ ${formatTau(tau)} the ${WRITER_NAMES[writer]} writes: ${named[label + writer]}.`;
}

/**
 * What is said, line by line; null where there is nothing to say.
 * @param {RunView} view
 * @param {number} index
 */
export function truthLines(view, index) {
  const { truth } = view;
  if (!truth) return [];
  if (truth.why !== undefined) return [`Not defined for this run. ${truth.why}`];
  const n = truth.case.length;
  if (index >= n)
    return [
      `Not defined here: the run left the known solution at token ${n}, and after it nothing says what ` +
        "would have been right.",
    ];
  const [caseOf, label] = [Number(truth.case[index]), Number(truth.label[index])];
  const writer = view.decisions.isLlm[index] ? "llm" : "slm";
  return [
    `${CASE_WORDS[caseOf]} ${labelWords(caseOf, label)}`,
    view.isForced(index) || Number.isNaN(label) ? null : decisionWords(label, writer, view.tauAt(index)),
  ];
}

/** @param {RunView} view a probed run @param {number} index */
export function truthBlock(view, index) {
  const { truth } = view;
  const known = truth && truth.why === undefined ? truth : null;
  const leaves = known && index === known.shared && index < known.case.length;
  const root = block("Against the known solution");
  root.classList.add("cv-truth");
  if (leaves) {
    const shown =
      known.true[index] === null
        ? "the end of the text"
        : html("bdi", { class: "cv-code" }, visibleText(known.true[index]));
    root.append(html("p", { class: "cv-small" }, "The run leaves it here: the true token is ", shown, "."));
  }
  for (const line of truthLines(view, index)) if (line) root.append(html("p", { class: "cv-small" }, line));
  return root;
}
