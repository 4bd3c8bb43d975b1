/**
 * Puts a trace into the one-file pages, whose templates the server joins (`citer_core/offline.py`,
 * `citer_core/ui/site/one_file.py`), and the bundled pair's files into the second. Must not know the viewer.
 */

// Put together, as this script may itself stand in a template, where each of them is looked for.
const [TRACE_PLACE, FILES_PLACE] = ["TRACE-GOES", "FILES-GO"].map((what) => `CITER-${what}-HERE`);

/**
 * @param {string} template
 * @param {string} json a trace; `<` is escaped, so no text in it can end the element that holds it
 * @returns {string} a whole HTML file
 */
export function fillTemplate(template, json) {
  return filled(template, TRACE_PLACE, json.replaceAll("<", "\\u003c"));
}

/**
 * @param {string} template
 * @param {Record<string, string>} files in base64, by their paths
 */
export const fillFiles = (template, files) => filled(template, FILES_PLACE, JSON.stringify(files));

/** @param {string} template @param {string} place @param {string} text */
function filled(template, place, text) {
  const parts = template.split(place);
  if (parts.length !== 2) throw new Error("The server's template has no place for it: reload the page.");
  return parts[0] + text + parts[1];
}
