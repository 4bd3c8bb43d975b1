/**
 * The page in one file, with a run, the bundled pair and what decodes it inside: it asks nobody for anything.
 *
 * The entry that `citer_core/ui/site/one_file.py` joins with everything it imports.
 */

import { openSaved } from "../page/page_exports.js";
import { messageOf } from "../run/format.js";
import { part } from "../viewer/dom.js";
import { heldJson, mountSite } from "./site_page.js";

/** @param {string} selector */
const textOfPart = (selector) => part(document, selector).textContent ?? "";

async function openOneFile() {
  const props = heldJson("cx-props");
  const script = new Blob([textOfPart("#cx-worker")], { type: "text/javascript" });
  const facts = { ...props.browser_pair, script: URL.createObjectURL(script), packed: heldJson("cx-files") };
  await mountSite({ ...props, browser_pair: facts });
  const { citer } = window;
  try {
    if (citer) openSaved(citer, textOfPart("#citer-trace"), textOfPart("#citer-view"));
  } catch (error) {
    citer?.notice(messageOf(error));
  }
}

openOneFile();
