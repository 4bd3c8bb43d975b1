/**
 * The page in one file, with a run, the bundled pair and what decodes it inside: it asks nobody for anything.
 *
 * The entry that `citer_core/ui/site/one_file.py` joins with everything it imports.
 */

import { parseTrace } from "../run/trace_file.js";
import { messageOf } from "../run/format.js";
import { part } from "../viewer/dom.js";
import { heldJson, mountSite } from "./site_page.js";

async function openOneFile() {
  const props = heldJson("cx-props");
  const script = new Blob([part(document, "#cx-worker").textContent ?? ""], { type: "text/javascript" });
  const facts = { ...props.browser_pair, script: URL.createObjectURL(script), packed: heldJson("cx-files") };
  await mountSite({ ...props, browser_pair: facts });
  const { citer } = window;
  try {
    citer?.recorded.showImported(parseTrace(part(document, "#citer-trace").textContent ?? ""));
  } catch (error) {
    citer?.notice(messageOf(error));
  }
}

openOneFile();
