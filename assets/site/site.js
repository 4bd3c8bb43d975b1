/**
 * The page without a server: what gradio and Python are for the other one is a form of plain elements here, and files.
 *
 * The entry that `citer_core/ui/site/build.py` joins with everything it imports. The page itself is that of `../page`.
 */

import { keepOffline } from "./keep_offline.js";
import { heldJson, mountSite } from "./site_page.js";
import { openViews } from "./site_views.js";

/**
 * @typedef {import("./site_page.js").SitePageProps & import("./site_views.js").ViewProps & {worker: string}} SiteProps
 */

async function openSite() {
  /** @type {SiteProps} */
  const props = heldJson("cx-props");
  openViews(props);
  await mountSite(props);
  await window.citer?.browser.prepared; // its files come first
  await keepOffline(props.worker);
}

openSite();
