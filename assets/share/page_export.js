/**
 * Downloads of the run on the screen: the trace as it is, and a table of its tokens.
 *
 * Made in the browser from what it has already; must not know the viewer or the server.
 */

import { asRecorded } from "../run/decision.js";

/** @type {("decisive"|Exclude<keyof TokenEvent, "slm_top"|"llm_top">)[]} */
const COLUMNS = [
  "index",
  "token_id",
  "text",
  "source",
  "slm_token_id",
  "slm_confidence",
  "threshold",
  "slm_tokens_fed",
  "llm_tokens_fed",
  "context_len",
  "slm_s",
  "router_s",
  "llm_s",
  "forced",
  "decisive",
];

/** @param {string} text */
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/**
 * Strings as JSON, and what an older trace does not say as an empty cell.
 * @param {string|number|boolean|null|undefined} value
 */
const cell = (value) => (typeof value === "string" ? quoted(JSON.stringify(value)) : (value ?? ""));

/**
 * The events as CSV. Text is written as a JSON string: spaces and line ends stay visible, and a token like `=` or `+`
 * does not become a formula in a spreadsheet.
 * @param {Trace} trace
 */
export function traceToCsv(trace) {
  const { decisive } = asRecorded(trace.events);
  const rows = trace.events.map((event, i) =>
    COLUMNS.map((name) => cell(name === "decisive" ? decisive[i] > 0 : event[name])).join(","),
  );
  return `${[COLUMNS.join(","), ...rows].join("\r\n")}\r\n`;
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
