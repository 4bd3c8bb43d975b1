/**
 * Puts a trace, and what is kept beside it, into the one-file pages, whose templates the server joins
 * (`citer_core/offline.py`, `citer_core/ui/one_file.py`), and the bundled pair's files into the second.
 *
 * Must not know the viewer.
 */

// Put together, as this script may itself stand in a template, where each of them is looked for.
const [TRACE_PLACE, VIEW_PLACE, FILES_PLACE] = ["TRACE-GOES", "VIEW-GOES", "FILES-GO"].map(
  (what) => `CITER-${what}-HERE`,
);

/**
 * @param {string} template
 * @param {string} json a trace; `<` is escaped, so no text in it can end the element that holds it
 * @param {string} [view] what is kept beside it, in JSON too (`saved_view.js`)
 * @returns {string} a whole HTML file
 */
export function fillTemplate(template, json, view = "null") {
  const [before, rest] = parted(template, TRACE_PLACE);
  const [between, after] = parted(rest, VIEW_PLACE); // no text of the trace is looked at
  return [before, json, between, view, after]
    .map((part, i) => (i % 2 ? part.replaceAll("<", "\\u003c") : part))
    .join("");
}

/**
 * @param {string} template
 * @param {Record<string, string>} files in base64, by their paths
 */
export const fillFiles = (template, files) => parted(template, FILES_PLACE).join(JSON.stringify(files));

/** @param {string} template @param {string} place @returns {string[]} what stands before it and after it */
function parted(template, place) {
  const parts = template.split(place);
  if (parts.length !== 2) throw new Error("The server's template has no place for it: reload the page.");
  return parts;
}
