/**
 * Downloads of the run on the screen: the trace as it is, and a table of its tokens.
 *
 * Made in the browser from what it has already; must not know the viewer or the server.
 */

import { csvText } from "../run/csv.js";
import { asRecorded } from "../run/decision.js";
import { TRACE_TABLE } from "../run/trace_schema.js";

const EVENT = TRACE_TABLE.required.events.of;
const FIELDS = /** @type {Exclude<keyof TokenEvent, "slm_top"|"llm_top">[]} */ (
  Object.keys({ ...EVENT.required, ...EVENT.optional }).filter((name) => !name.endsWith("_top"))
);

/** Strings and lists as JSON. @param {TokenEvent[keyof TokenEvent]} value */
const told = (value) => (typeof value === "string" || Array.isArray(value) ? JSON.stringify(value) : value);

/**
 * The events as CSV. Text is written as a JSON string: spaces and line ends stay visible, and a token like `=` or `+`
 * does not become a formula in a spreadsheet.
 * @param {Trace} trace
 */
export function traceToCsv(trace) {
  const { decisive } = asRecorded(trace.events);
  const rows = trace.events.map((event, i) => [...FIELDS.map((name) => told(event[name])), decisive[i] > 0]);
  return csvText([...FIELDS, "decisive"], rows);
}

/** A file name from the question: letters and digits of any script, at most six words. @param {Trace} trace */
export function fileStem(trace) {
  const words = (trace.title || trace.prompt.question).match(/[\p{L}\p{N}]+/gu) ?? [];
  return ["citer", ...words.slice(0, 6)].join("-").toLowerCase();
}

/**
 * Hands a text or a blob to the browser as a file.
 * @param {string} name
 * @param {string} type
 * @param {BlobPart} content
 */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
