/**
 * The page's entry: what the document holds for it, the transports that this host has, views and the first run.
 *
 * `citer_core/ui/document.py` joins it with everything it imports. The same script for a server and for files: the
 * document says which of the two it is.
 */

import { FileTransport } from "../transport/files.js";
import { ServerTransport } from "../transport/server.js";
import { part } from "../viewer/dom.js";
import { mountPage } from "./page.js";

/** What the document holds for its script. @param {string} id @returns {any} */
const heldJson = (id) => JSON.parse(part(document, `#${id}`).textContent || "null");

/**
 * Has the site's service worker keep its files, so that the next visit needs no server.
 * @param {string} worker address of its script
 * @returns {Promise<void>} when it keeps what this page loads; at once where there are no service workers
 */
async function keepOffline(worker) {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(worker);
    const { active } = await navigator.serviceWorker.ready;
    active?.postMessage("keep the rest");
  } catch {
    // as in private windows, or from a file: the page is the same while there is a network
  }
}

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
