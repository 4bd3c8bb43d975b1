/**
 * What a lesson may ask for: numbers of the run on the screen and of stored evidence, by name. None is typed anywhere.
 *
 * Pure: must not know the DOM or a lesson. Each is computed by the cost model and the replay that the page draws with,
 * or read from what was measured.
 *
 * @typedef {Object} LessonFacts what there is to compute them from
 * @property {RunView|null} view the run, as the lesson opens it
 * @property {string|null} labels a digit for each token of the recorded labels: 1 prefers the SLM
 * @property {import("../evidence/question_panel.js").EvidenceClaim[]} claims of the view Evidence
 *
 * @typedef {{unit: ""|"%"|"τ"|"p", within?: number, of: (facts: LessonFacts) => number|undefined}} LessonTruth
 *   `within`: how far an answer may be off; as far as its last printed digit where absent
 */

import { isForced, replay } from "../run/decision.js";
import { formatTau, probability } from "../run/format.js";
import { seriesOf } from "../run/series.js";
import { inDigits } from "../run/kinds.js";

/** @param {LessonFacts} facts @returns {RunView} */
function runOf({ view }) {
  if (!view?.n) throw new Error("This lesson asks for a run, and none is on the screen.");
  return view;
}

/** @param {LessonFacts} facts */
const totalsOf = (facts) => runOf(facts).series.totals();

/** @param {LessonFacts} facts @returns {TokenEvent[]} */
const callsOf = (facts) => runOf(facts).events.filter(({ source }) => source === "llm");

/** @param {LessonFacts} facts @returns {TokenEvent[]} */
const decisiveOf = (facts) => {
  const { events, decisions } = runOf(facts);
  return events.filter((event, i) => decisions.decisive[i] > 0 && !isForced(event));
};

/** @param {LessonFacts} facts */
const takenOf = (facts) => runOf(facts).events.filter(({ discarded }) => discarded);

/**
 * Bytes of one part of the run, in percent of those of the LLM alone.
 * @param {"slm"|"router"|"llm"} part
 * @returns {(facts: LessonFacts) => number}
 */
const partOf = (part) => (facts) => {
  const { events, decisions, costModel, series } = runOf(facts);
  const bytes = events.reduce((sum, event, i) => sum + costModel.parts(event, decisions.llmFed[i])[part].bytes, 0);
  return (100 * bytes) / series.at("llmOnly", "bytes");
};

/**
 * The greatest share of LLM tokens, in percent, at which the run moves no more than the LLM alone would.
 * @param {LessonFacts} facts
 */
function breakEven(facts) {
  const view = runOf(facts);
  const taus = [...new Set(view.events.map((event) => event.slm_confidence)), 1];
  const shares = taus
    .map((tau) => seriesOf(view.costModel, view.events, replay(view.events, tau, view.facts)).totals())
    .filter(({ bytesShare }) => bytesShare <= 1)
    .map(({ llmShare }) => llmShare);
  return 100 * Math.max(0, ...shares);
}

/**
 * A number of the claim on the shortcut's labels.
 * @param {LessonFacts} facts @param {"value"|"n"} what
 */
function shortcut({ claims }, what) {
  const figures = claims.find(({ name }) => name === "shortcut")?.figures ?? [];
  const rows = figures.flatMap((figure) => figure.rows);
  return rows.find(({ group, label }) => group === "math, the LLM going on" && label === "case 2")?.[what] ?? undefined;
}

/** @type {Record<string, LessonTruth>} */
export const LESSON_TRUTHS = {
  "run.tokens": { unit: "", of: (facts) => totalsOf(facts).nTokens },
  "run.llmTokens": { unit: "", of: (facts) => totalsOf(facts).nLlmTokens },
  "run.llmShare": { unit: "%", of: (facts) => 100 * totalsOf(facts).llmShare },
  "run.decisive": { unit: "", of: (facts) => totalsOf(facts).nDecisive },
  "run.lastDecisive": { unit: "p", of: (facts) => decisiveOf(facts).at(-1)?.slm_confidence },
  "run.bytesShare": { unit: "%", of: (facts) => 100 * totalsOf(facts).bytesShare },
  "run.slmBytes": { unit: "%", of: partOf("slm") },
  "run.routerBytes": { unit: "%", of: partOf("router") },
  "run.llmBytes": { unit: "%", of: partOf("llm") },
  "run.tau": { unit: "τ", of: (facts) => runOf(facts).whatIf ?? runOf(facts).runTau },
  "run.firstRead": { unit: "", of: (facts) => callsOf(facts)[0]?.llm_tokens_fed },
  "run.breakEven": { unit: "%", within: 2, of: breakEven },
  "run.takenBack": {
    unit: "",
    of: (facts) => takenOf(facts).reduce((sum, { discarded = [] }) => sum + discarded.length, 0),
  },
  "run.lookRead": { unit: "", of: (facts) => takenOf(facts)[0]?.llm_tokens_fed },
  "labels.tokens": { unit: "", of: ({ labels }) => labels?.length },
  "labels.critical": { unit: "", of: ({ labels }) => labels?.split("0").slice(1).length },
  "labels.rolledOut": { unit: "", of: (facts) => shortcut(facts, "n") },
  "labels.borneOut": {
    unit: "%",
    of: (facts) => {
      const share = shortcut(facts, "value");
      return share === undefined ? share : 100 * share;
    },
  },
};

/** @param {string} name @param {LessonFacts} facts */
export function truthOf(name, facts) {
  const value = LESSON_TRUTHS[name].of(facts);
  if (value === undefined) throw new Error(`What this lesson asks for (${name}) is not here.`);
  return value;
}

/** A number as the page prints it, with its unit. @param {string} name @param {number} value */
export function truthWords(name, value) {
  const { unit } = LESSON_TRUTHS[name];
  if (unit === "%") return `${Math.round(value)}%`;
  return unit === "τ" ? formatTau(value) : unit === "p" ? probability(value) : inDigits(value);
}

/** Whether an answer is the number. @param {string} name @param {number} value @param {number} truth */
export function isFound(name, value, truth) {
  const { unit, within = unit === "%" ? 0.5 : unit === "" ? 0 : 0.005 } = LESSON_TRUTHS[name];
  return Math.abs(value - truth) <= within + 1e-9;
}
