/**
 * The worker's side: loads the pair when it is asked to, then hands every request to the desk.
 *
 * Knows the protocol; not what kind of worker it runs in, nor how files come.
 *
 * @typedef {import("./protocol.js").EngineRequest} EngineRequest
 * @typedef {import("./protocol.js").EngineReply} EngineReply
 */

import { Desk, inWordsFor } from "./desk.js";
import { BrowserPair } from "./pair.js";

/**
 * @param {(reply: EngineReply) => void} post
 * @param {(where: import("./protocol.js").LoadRequest) => import("./pair.js").FetchFile} filesAt how files are fetched
 * @returns {(request: EngineRequest) => void} takes the page's requests
 */
export function serveEngine(post, filesAt) {
  /** @type {Promise<Desk|null>} */
  let desk = Promise.resolve(null);
  return (request) => {
    if (request.kind === "load") {
      const { version, hardware, router } = request;
      desk = BrowserPair.load(filesAt(request)).then(
        async (pair) => {
          if (router) await pair.router(router).catch(() => null); // a run that asks for it says what is wrong
          post({ kind: "ready", pair: pair.info, routers: [...pair.routers.keys()] });
          return new Desk(pair, post, { version, hardware });
        },
        (error) => {
          post({ kind: "failed", error: inWordsFor(error) });
          return null;
        },
      );
      return;
    }
    desk.then((ready) => {
      if (!ready) post({ kind: "failed", error: "There is no pair to decode with: load it first." });
      else if (request.kind === "cancel") ready.cancel(request.run);
      else if (request.kind === "know") ready.know(request);
      else ready.take(request);
    });
  };
}
