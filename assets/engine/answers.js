/**
 * What may be asked beside runs: of one position of a finished one, by the server's names; and to take in a router.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 */

import { inside } from "./inside.js";
import { nextTokens } from "./next_tokens.js";

export const ANSWERS = {
  /** @param {BrowserPair} pair @param {ArrayBuffer} file */
  add_router: async (pair, file) => pair.addRouter(file),
  /** @param {BrowserPair} pair @param {InsideRequest} asked */
  inside: async (pair, { prompt, token_ids: ids, router, after_llm: afterLlm }) =>
    inside(pair, await pair.router(router), pair.tokenizer.encode(prompt.text), ids, afterLlm),
  next_tokens: nextTokens,
};
