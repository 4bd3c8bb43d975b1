/**
 * A recorded or live comparison, read through the gate: routed runs of one problem, and speculative decoding of it.
 *
 * Pure: must not know the DOM or where the document came from. `citer_core/comparison.py` writes it.
 *
 * @typedef {[number, string, number]} DraftedToken id, text alone, the probability that the SLM gave it
 *
 * @typedef {Object} SpeculativePass fields as in `citer_core.speculation.SpeculativePass`
 * @property {DraftedToken[]} drafted
 * @property {number} n_accepted
 * @property {number|null} own_id
 * @property {string[]} texts
 * @property {number[]} slm_tokens_fed
 * @property {number} llm_tokens_fed
 * @property {number} context_len
 * @property {number} slm_s
 * @property {number} llm_s
 *
 * @typedef {Object} SpeculativeTrace
 * @property {TraceHead["pair"]} pair
 * @property {{n_tokens: number, confidence: number}} drafting
 * @property {number} max_new_tokens
 * @property {Prompt} prompt
 * @property {SpeculativePass[]} passes
 * @property {FinishReason|null} finish_reason
 * @property {{date: string, hardware: string, version: string}} record
 * @property {Answer|null} [answer]
 *
 * @typedef {{title: string, subtitle: string, runs: Trace[], speculative: SpeculativeTrace|null}} Comparison
 */

import { COMPARISON_SCHEMA, COMPARISON_VERSION, MOST_COMPARED, SPECULATIVE_TABLE } from "../run/comparison_schema.js";
import { GateError, parseJson, readKind } from "../run/gate.js";
import { textUpTo } from "../run/kinds.js";
import { MAX_TRACE_CHARS } from "../run/trace_schema.js";
import { checkTrace } from "../run/trace_file.js";

const NAME = textUpTo(1000);
const DAMAGED = "This comparison is damaged: a pass of speculative decoding does not fit the ones before it.";

/**
 * @param {unknown} given anything that JSON can hold
 * @returns {Comparison}
 * @throws {Error} naming the first field that is wrong
 */
export function checkComparison(given) {
  const { schema, schema_version: version, title, subtitle, runs, speculative } = Object(given);
  if (schema !== COMPARISON_SCHEMA || version !== COMPARISON_VERSION) {
    throw new GateError("This is not a comparison of this version of the page. Record it again.");
  }
  if (!Array.isArray(runs) || runs.length < 1 || runs.length > MOST_COMPARED) {
    throw new GateError(`A comparison holds 1 to ${MOST_COMPARED} runs.`);
  }
  return {
    title: String(readKind(NAME, title, "title")),
    subtitle: String(readKind(NAME, subtitle, "subtitle")),
    runs: runs.map(checkTrace),
    speculative: speculative === null || speculative === undefined ? null : checkSpeculative(speculative),
  };
}

/** @param {unknown} given @returns {SpeculativeTrace} */
function checkSpeculative(given) {
  const trace = /** @type {SpeculativeTrace} */ (readKind(SPECULATIVE_TABLE, given, "speculative"));
  let context = trace.prompt.n_tokens;
  for (const pass of trace.passes) {
    const nWritten = pass.n_accepted + Number(pass.own_id !== null);
    const fits =
      pass.n_accepted <= pass.drafted.length &&
      pass.drafted.length === pass.slm_tokens_fed.length &&
      nWritten === pass.texts.length &&
      nWritten > 0 &&
      pass.context_len === context;
    if (!fits) throw new GateError(DAMAGED);
    context = pass.context_len + nWritten;
  }
  return trace;
}

/** @param {string} json the contents of a file @returns {Comparison} */
export const parseComparison = (json) => checkComparison(parseJson(json, MAX_TRACE_CHARS));
