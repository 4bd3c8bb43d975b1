/** What the browser's reader says of each trace: texts in as JSON, `{refusal, json}` out. For test_trace_schema.py. */

import { readFileSync } from "node:fs";

import { TraceFileError, parseTrace, traceToJson } from "../../assets/run/trace_file.js";

function verdict(text) {
  try {
    return { refusal: null, json: traceToJson(parseTrace(text)) };
  } catch (error) {
    if (!(error instanceof TraceFileError)) throw error;
    return { refusal: error.message, json: null };
  }
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(verdict)));
