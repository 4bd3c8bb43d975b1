/**
 * A trace as a file: written in one fixed order, and checked field by field when it is read back.
 *
 * Pure: must not know the DOM. A file that was exported, imported and exported again is the same to the byte. Fields that
 * this version does not know are kept as they are. Mirrors what `citer_core/trace.py` refuses.
 */

const TRACE_SCHEMA = "citer-trace";
const TRACE_VERSIONS = [1, 2]; // 2: `forced` in events and `parent`, both of which may be missing
const TRACE_KEYS = ["schema", "schema_version", "pair", "router", "settings", "prompt", "events", "finish_reason", "record", "answer", "title", "parent"];
export const MAX_TRACE_BYTES = 20e6;

/** What is wrong with a file, in words for a person. */
export class TraceFileError extends Error {}

/** The JSON text of a trace, keys in the order in which the project's other half writes them. */
export function traceToJson(trace) {
  const ordered = {};
  for (const key of TRACE_KEYS) if (key in trace) ordered[key] = trace[key];
  for (const key of Object.keys(trace)) if (!(key in ordered)) ordered[key] = trace[key];
  return JSON.stringify(ordered);
}

const text = (value) => typeof value === "string";
const flag = (value) => typeof value === "boolean";
const count = (value) => Number.isInteger(value) && value >= 0;
const whole = (value) => Number.isInteger(value);
const amount = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
const share = (value) => amount(value) && value <= 1;
const oneOf = (...names) => Object.assign((value) => names.includes(value), { names });
const optional = (kind) => Object.assign((value) => value === null || value === undefined || kind(value), { kind });
const candidates = (value) => value === undefined
  || (Array.isArray(value) && value.every((entry) => Array.isArray(entry) && entry.length === 3 && count(entry[0]) && text(entry[1]) && amount(entry[2])));

const KIND_WORDS = new Map([
  [text, "a text"], [flag, "true or false"], [count, "a whole number from 0 on"], [whole, "a whole number"],
  [amount, "a number from 0 on"], [share, "a number from 0 to 1"], [candidates, "a list of [token id, text, probability]"],
]);

const MODEL_FIELDS = {
  name: text, n_params: count, n_layers: count, n_heads: count, n_kv_heads: count, head_dim: count, vocab_size: count, hidden_size: count,
  tied_embeddings: flag, bytes_per_element: count,
};
const TRACE_FIELDS = {
  pair: { name: text, revision: text, slm: MODEL_FIELDS, llm: MODEL_FIELDS, dtype: text, device: text },
  router: { name: text, revision: text, n_params: count },
  settings: { threshold: share, max_new_tokens: count, temperature: amount, top_p: share, seed: whole },
  prompt: { data_type: oneOf("math", "mc", "open"), question: text, text, n_tokens: count, version: count },
  finish_reason: optional(oneOf("eos", "length", "cancelled", "error")),
  record: { date: text, hardware: text, version: text },
  title: optional(text),
};
const ANSWER_FIELDS = { true_answer: optional(text), predicted_answer: optional(text), is_correct: optional(flag) };
const TOKEN_FIELDS = {
  index: count, token_id: count, text, source: oneOf("slm", "llm"), slm_token_id: count, slm_confidence: share, threshold: share,
  slm_tokens_fed: count, llm_tokens_fed: count, context_len: count, slm_s: amount, router_s: amount, llm_s: amount,
  slm_top: candidates, llm_top: candidates, forced: optional(flag),
};
const PARENT_FIELDS = { key: text, fork: count };

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function wordsOf(kind) {
  if (kind.names) return kind.names.map((name) => `"${name}"`).join(" or ");
  return kind.kind ? `${wordsOf(kind.kind)}, or nothing` : KIND_WORDS.get(kind);
}

function shortened(value) {
  const shown = value === undefined ? "missing" : JSON.stringify(value);
  return shown.length > 60 ? `${shown.slice(0, 57)}…` : shown;
}

function checkFields(value, fields, path) {
  if (!isRecord(value)) throw new TraceFileError(`This trace is damaged: ${path} is ${shortened(value)}; it must hold ${Object.keys(fields).join(", ")}.`);
  for (const [name, kind] of Object.entries(fields)) {
    const at = path ? `${path}.${name}` : name;
    if (typeof kind !== "function") checkFields(value[name], kind, at);
    else if (!kind(value[name])) throw new TraceFileError(`This trace is damaged: ${at} is ${shortened(value[name])}; it must be ${wordsOf(kind)}.`);
  }
}

/**
 * @param {unknown} trace anything that JSON can hold
 * @throws {TraceFileError} naming the first field that is wrong, and what it must be
 */
export function checkTrace(trace) {
  if (!isRecord(trace) || trace.schema !== TRACE_SCHEMA) {
    throw new TraceFileError(`This is not a CITER trace: its "schema" is not "${TRACE_SCHEMA}". Give a file that this page or the command line wrote.`);
  }
  if (!TRACE_VERSIONS.includes(trace.schema_version)) {
    throw new TraceFileError(`This trace has schema version ${shortened(trace.schema_version)}; this page reads ${TRACE_VERSIONS.join(" and ")}. Record the run again.`);
  }
  checkFields(trace, TRACE_FIELDS, "");
  if (trace.answer !== null && trace.answer !== undefined) checkFields(trace.answer, ANSWER_FIELDS, "answer");
  if (trace.parent !== null && trace.parent !== undefined) checkFields(trace.parent, PARENT_FIELDS, "parent");
  if (!Array.isArray(trace.events)) throw new TraceFileError(`This trace is damaged: events is ${shortened(trace.events)}; it must be a list of tokens.`);
  trace.events.forEach((event, i) => {
    checkFields(event, TOKEN_FIELDS, `events[${i}]`);
    if (event.index !== i) throw new TraceFileError(`This trace is damaged: events[${i}].index is ${event.index}; tokens are numbered 0, 1, 2, ...`);
  });
}

/**
 * @param {string} json the contents of a file
 * @returns {Object} the trace
 * @throws {TraceFileError}
 */
export function parseTrace(json) {
  let trace;
  try {
    trace = JSON.parse(json);
  } catch (error) {
    throw new TraceFileError(`This file is not JSON (${error.message}). Give a trace that this page exported.`);
  }
  checkTrace(trace);
  return trace;
}
