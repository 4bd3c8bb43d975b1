/**
 * What a trace says of a run beside its events, as `citer_core/run.py` writes it. Pure.
 *
 * @typedef {import("./protocol.js").RunRequest} RunRequest
 */

import { GateError, readKind } from "../run/gate.js";
import { SETTINGS_TABLE, TRACE_SCHEMA, TRACE_TABLE, TRACE_VERSIONS } from "../run/trace_schema.js";
import { RequestProblem } from "./fork.js";
import { refuseUnknownSettings } from "./sampling.js";

/**
 * @param {unknown} settings
 * @returns {Settings}
 * @throws {RequestProblem} a value outside its range
 */
export function readSettings(settings) {
  try {
    const table = TRACE_TABLE.required.settings;
    const read = /** @type {Settings} */ (readKind(table, settings, ""));
    refuseUnknownSettings(read);
    for (const name of /** @type {(keyof Settings)[]} */ (Object.keys(table.optional))) {
      if (read[name] === SETTINGS_TABLE[name].default) delete read[name]; // so that a trace keeps its bytes
    }
    return read;
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    throw new RequestProblem(error.message);
  }
}

/**
 * @param {import("./pair.js").BrowserPair} pair
 * @param {import("./features.js").Router} router
 * @param {RunRequest} request its settings checked
 * @param {number} nPrompt tokens of the prompt
 * @param {{version: string, hardware: string}} maker
 * @returns {TraceHead}
 */
export function traceHead(pair, router, { settings, prompt, parent }, nPrompt, { version, hardware }) {
  return {
    schema: TRACE_SCHEMA,
    schema_version: /** @type {number} */ (TRACE_VERSIONS.at(-1)),
    pair: pair.info,
    router: {
      name: router.name,
      revision: router.revision,
      n_params: router.nParams,
      reads_llm: router.readsLlm,
      depends_on_writers: router.usesLlmEntropy,
      slm_prior: router.slmPrior,
    },
    settings,
    prompt: {
      data_type: prompt.data_type,
      question: prompt.question,
      text: prompt.text,
      n_tokens: nPrompt,
      version: prompt.version,
    },
    record: { date: new Date().toLocaleDateString("sv"), hardware, version },
    answer: null,
    title: "",
    parent: parent ?? null,
  };
}
