/**
 * The page without a server: what gradio and Python are for the other one is a form of plain elements here, and files.
 *
 * The entry that `citer_core/static_site.py` joins with everything it imports. The page itself is that of `../page`.
 */

import { TRAINING_FREE } from "../engine/routers.js";
import { canCompute } from "../browser_pair/engine_client.js";
import { mountPage } from "../page/page.js";
import { part } from "../viewer/dom.js";
import { SiteForm } from "./site_form.js";
import { siteServer } from "./site_server.js";
import { openViews } from "./site_views.js";
import { keepOffline } from "./keep_offline.js";

/**
 * @typedef {PageProps & {labels: Record<string, string>, plotly: string, template: string, worker: string}} SiteProps
 */

async function openSite() {
  /** @type {SiteProps} */
  const props = JSON.parse(part(document, "#cx-props").textContent ?? "{}");
  const { browser_pair: facts } = props;
  const free = [...TRAINING_FREE.values()].map(({ name, defaultThreshold }) => [name, defaultThreshold]);
  /** @type {Record<string, number>} */
  const thresholds = { ...facts?.thresholds, ...Object.fromEntries(free) };
  const form = new SiteForm(thresholds);
  openViews(props);
  await mountPage({
    element: part(document, "#cx-viewer"),
    props,
    server: siteServer(props, facts && canCompute() ? thresholds : null),
    watch: () => {},
    onReady: () => {},
    onLinked: () => form.fill(window.citer?.link.controls() ?? null),
  });
  await form.readBook(facts?.root ?? ".");
  await window.citer?.browser.prepared; // its files come first
  await keepOffline(props.worker);
}

openSite();
