/**
 * A trace as a file: written in one fixed order, and checked field by field when it is read back.
 *
 * Pure: must not know the DOM. A file that was exported, imported and exported again is the same to the byte. What each
 * field may hold is the server's table (`trace_schema.js`); fields that it does not name are left out, as there.
 */

import { GateError, excerpt, parseJson, readKind } from "./gate.js";
import { MAX_COMPLETION_CHARS, MAX_TRACE_CHARS, TRACE_SCHEMA, TRACE_TABLE, TRACE_VERSIONS } from "./trace_schema.js";
import { inDigits } from "./kinds.js";

const TRACE_KEYS = ["schema", "schema_version", ...Object.keys({ ...TRACE_TABLE.required, ...TRACE_TABLE.optional })];
export const MAX_TRACE_BYTES = 4 * MAX_TRACE_CHARS;

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecordOf = (value) => typeof value === "object" && value !== null;

/** What is wrong with a file, in words for a person. */
export class TraceFileError extends Error {}

/** The JSON text of a trace, keys in the order in which the project's other half writes them. @param {Trace} trace */
export function traceToJson(trace) {
  const fields = new Map(Object.entries(trace));
  return JSON.stringify(
    Object.fromEntries(TRACE_KEYS.filter((key) => fields.has(key)).map((key) => [key, fields.get(key)])),
  );
}

/**
 * @param {unknown} trace anything that JSON can hold
 * @returns {Trace} the trace, with the fields that this version knows
 * @throws {TraceFileError} naming the first field that is wrong, and what it must be
 */
export function checkTrace(trace) {
  if (!isRecordOf(trace) || trace.schema !== TRACE_SCHEMA) {
    throw new TraceFileError(
      `This is not a CITER trace: its "schema" is not "${TRACE_SCHEMA}". Give a file that this page or the command ` +
        "line wrote.",
    );
  }
  const version = trace.schema_version;
  if (typeof version !== "number" || !TRACE_VERSIONS.includes(version)) {
    throw new TraceFileError(
      `This trace has schema version ${excerpt(version)}; this page reads ` +
        `${TRACE_VERSIONS.join(" and ")}. Record the run again.`,
    );
  }
  /** @type {Omit<Trace, "schema"|"schema_version">} */
  let checked;
  try {
    checked = /** @type {Trace} */ (readKind(TRACE_TABLE, trace, ""));
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    throw new TraceFileError(`This trace is damaged: ${error.message} Export it again from the run it came from.`);
  }
  const misplaced = checked.events.findIndex((event, i) => event.index !== i);
  if (misplaced >= 0) throw new TraceFileError("This trace is damaged: its events are not numbered 0, 1, 2, ...");
  const length = checked.events.reduce((sum, event) => sum + [...event.text].length, 0);
  if (length > MAX_COMPLETION_CHARS) {
    const most = inDigits(MAX_COMPLETION_CHARS);
    throw new TraceFileError(`This trace is damaged: its tokens have more than ${most} characters.`);
  }
  return { schema: TRACE_SCHEMA, schema_version: version, ...checked };
}

/**
 * @param {string} json the contents of a file
 * @returns {Trace} the trace
 * @throws {TraceFileError}
 */
export function parseTrace(json) {
  let trace;
  try {
    trace = parseJson(json, MAX_TRACE_CHARS);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    throw new TraceFileError(`${error.message} Give a trace that this page exported.`);
  }
  return checkTrace(trace);
}
