/**
 * Puts a trace into the one-file page, whose template the server joins (`citer_core/offline.py`). Must not know the
 * viewer.
 */

const TRACE_PLACE = "CITER-TRACE-GOES-HERE";

/**
 * @param {string} template
 * @param {string} json a trace; `<` is escaped, so no text in it can end the element that holds it
 * @returns {string} a whole HTML file
 */
export function fillTemplate(template, json) {
  const parts = template.split(TRACE_PLACE);
  if (parts.length !== 2) throw new Error("The server's template has no place for a trace.");
  return parts[0] + json.replaceAll("<", "\\u003c") + parts[1];
}
