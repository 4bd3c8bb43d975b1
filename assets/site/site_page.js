/** The page over a form of plain elements, with files and this browser in place of a server. */

import { canCompute } from "../browser_pair/engine_client.js";
import { textOf } from "../browser_pair/pair_files.js";
import { TRAINING_FREE } from "../engine/routers.js";
import { mountPage } from "../page/page.js";
import { part } from "../viewer/dom.js";
import { SiteForm } from "./site_form.js";
import { siteServer } from "./site_server.js";

/** @typedef {PageProps & import("./site_server.js").SiteFiles} SitePageProps */

/** What the document holds for its script. @param {string} id @returns {any} */
export const heldJson = (id) => JSON.parse(part(document, `#${id}`).textContent || "null");

/** @param {SitePageProps} props */
export async function mountSite(props) {
  const { browser_pair: facts } = props;
  const free = [...TRAINING_FREE.values()].map(({ name, defaultThreshold }) => [name, defaultThreshold]);
  /** @type {Record<string, number>} */
  const thresholds = { ...facts?.thresholds, ...Object.fromEntries(free) };
  const form = new SiteForm(thresholds);
  await mountPage({
    element: part(document, "#cx-viewer"),
    props,
    server: siteServer(props, facts && canCompute() ? thresholds : null),
    watch: () => {},
    onReady: () => {},
    onLinked: () => form.fill(window.citer?.link.state?.problem ?? null),
    onPriced: () => window.citer && form.price(...window.citer.link.priced()),
  });
  if (facts)
    await form.readBook((path) => textOf({ ...facts, root: new URL(facts.root, document.baseURI).href }, path));
}
