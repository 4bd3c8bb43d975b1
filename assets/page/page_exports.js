/**
 * What a person takes away of the run on the screen, one-file pages among it, and the way back in. Called by page.js.
 */

import { packedFiles } from "../browser_pair/pair_files.js";
import { exportBar } from "../share/export_bar.js";
import { fillFiles, fillTemplate } from "../share/offline_file.js";

/** @param {Page} page of page.js, with its viewer and its browser's engine */
export function pageExports(page) {
  const { facts } = page.browser;
  /** @param {string} json a trace */
  const offlinePage = async (json) => {
    const { template } = await page.server.offline_page({ engine: false });
    return fillTemplate(template, json);
  };
  const livePage = facts && {
    bytes: facts.one_file_bytes,
    /** @param {string} json a trace */
    make: async (json) => {
      const [{ template }, files] = await Promise.all([page.server.offline_page({ engine: true }), packedFiles(facts)]);
      return fillTemplate(fillFiles(template, files), json);
    },
  };
  return exportBar({
    viewer: page.viewer,
    onImport: (trace) => page.recorded.showImported(trace),
    // A page that holds the pair itself has no templates.
    ...(facts?.packed ? {} : { offlinePage, ...(livePage ? { livePage } : {}) }),
  });
}
