/**
 * What a person takes away of the run on the screen, one-file pages among it, and the way back in. Called by page.js.
 */

import { packedFiles } from "../transport/pair_files.js";
import { exportBar } from "../share/export_bar.js";
import { readView, restoreView } from "../share/saved_view.js";
import { parseTrace } from "../run/trace_file.js";
import { fillFiles, fillTemplate } from "../share/offline_file.js";

/** @param {Page} page of page.js, with its viewer and its browser's engine */
export function pageExports(page) {
  const { facts } = page.browser;
  /** @param {string} json a trace @param {string} view what is kept beside it */
  const offlinePage = async (json, view) => {
    const { template } = await page.ask("offline_page");
    return fillTemplate(template, json, view);
  };
  const livePage = facts && {
    bytes: facts.one_file_bytes,
    /** @param {string} json a trace @param {string} view what is kept beside it */
    make: async (json, view) => {
      const [{ template }, files] = await Promise.all([page.ask("one_file_page"), packedFiles(facts)]);
      return fillTemplate(fillFiles(template, files), json, view);
    },
  };
  return exportBar({
    viewer: page.viewer,
    price: () => page.price,
    onImport: (trace) => page.recorded.showImported(trace),
    // A page that holds the pair itself has no templates.
    ...(facts?.packed ? {} : { offlinePage, ...(livePage ? { livePage } : {}) }),
  });
}

/**
 * Shows what a one-file page holds: the run, and all that was kept beside it.
 * @param {Page} page
 * @param {string} json the trace
 * @param {string} view
 * @throws {Error} what is wrong with either; the run is shown where it is not at fault
 */
export function openSaved(page, json, view) {
  page.recorded.showImported(parseTrace(json));
  const saved = readView(view);
  if (!saved) return;
  restoreView(page.viewer, saved);
  page.link.setPrice(saved.price);
  if (saved.threshold !== null) page.moveTau(saved.threshold);
}
