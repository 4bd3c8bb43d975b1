/**
 * The page's entry: what the document holds for it, the transports that this host has, views and the first run.
 *
 * `citer_core/ui/document.py` joins it with everything it imports. The same script for a server and for files: the
 * document says which of the two it is.
 */

import { FileTransport } from "../transport/files.js";
import { ServerTransport } from "../transport/server.js";
import { part } from "../viewer/dom.js";
import { keepOffline } from "./keep_offline.js";
import { mountPage } from "./page.js";

/** What the document holds for its script. @param {string} id @returns {any} */
const heldJson = (id) => JSON.parse(part(document, `#${id}`).textContent || "null");

async function openApp() {
  /** @type {PageProps} */
  const props = heldJson("cx-props");
  const { baseURI: base } = document;
  const transport = props.offers ? new ServerTransport(props.offers, base) : new FileTransport(props, base);
  await mountPage(props, transport);
  if (!props.worker) return;
  await window.citer?.browser.prepared; // its files come first
  await keepOffline(props.worker);
}

openApp();
