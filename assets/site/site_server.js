/** What the page asks a server, answered by files and by what this browser can do. Must not know the document. */

/**
 * @typedef {import("../browser_pair/engine_client.js").PairFacts} PairFacts
 */

/** @typedef {{template: string, one_file: string}} SiteFiles addresses of the one-file pages' templates */

/**
 * @param {SiteFiles & {browser_pair: PairFacts|null}} props
 * @param {Record<string, number>|null} thresholds of the routers; null where this browser cannot compute
 * @returns {PageServer}
 */
export function siteServer({ template, one_file: oneFile, browser_pair: facts }, thresholds) {
  const nothing = () => Promise.reject(new Error("There is no server behind this page."));
  /** @type {EngineStatus} */
  const status =
    facts && thresholds
      ? {
          state: "ready",
          message: "This browser, float32",
          pair: facts.name,
          revision: facts.revision,
          generation: 1,
          thresholds,
          default_router: Object.keys(thresholds)[0],
          llm_is_here: true,
          picker: { on: false, why: "Only the bundled pair is small enough for a browser." },
        }
      : {
          state: "failed",
          message: "This browser cannot run the models: it has no WebAssembly vectors. The recorded runs work.",
          generation: 1,
          picker: { on: false },
        };
  return {
    fetch_run: nothing,
    stop_run: nothing,
    engine_status: () => Promise.resolve(status),
    foreign_problem: () => Promise.resolve({ warning: null }),
    offline_page: async ({ engine }) => ({ template: await (await fetch(engine ? oneFile : template)).text() }),
    list_pairs: nothing,
    change_pair: nothing,
    cancel_change: nothing,
  };
}
