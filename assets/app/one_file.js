/**
 * The page in one file, with a run, the bundled pair and what decodes it inside: it makes no requests.
 *
 * The entry that `citer_core/ui/one_file.py` joins with everything it imports.
 */

import { messageOf } from "../run/format.js";
import { FileTransport } from "../transport/files.js";
import { part } from "../viewer/dom.js";
import { mountPage } from "./page.js";
import { openSaved } from "./page_exports.js";

/** @param {string} selector */
const textOfPart = (selector) => part(document, selector).textContent ?? "";

async function openOneFile() {
  const props = JSON.parse(textOfPart("#cx-props"));
  const script = new Blob([textOfPart("#cx-worker")], { type: "text/javascript" });
  const files = JSON.parse(textOfPart("#cx-files"));
  const facts = { ...props.browser_pair, script: URL.createObjectURL(script), packed: files };
  await mountPage(
    { ...props, browser_pair: facts },
    new FileTransport({ ...props, browser_pair: facts }, document.baseURI),
  );
  const { citer } = window;
  try {
    if (citer) openSaved(citer, textOfPart("#citer-trace"), textOfPart("#citer-view"));
  } catch (error) {
    citer?.notice(messageOf(error));
  }
}

openOneFile();
