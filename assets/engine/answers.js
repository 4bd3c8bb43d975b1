/**
 * What may be asked beside runs: of one position of a finished one, by the server's names; to take in a router, and
 * what one says of known solutions.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 */

import { inside } from "./inside.js";
import { nextTokens } from "./next_tokens.js";
import { confidencesOf } from "./true_texts.js";

export const ANSWERS = {
  /** @param {BrowserPair} pair @param {ArrayBuffer} file */
  add_router: async (pair, file) => pair.addRouter(file),
  /** @param {BrowserPair} pair @param {InsideRequest} asked */
  inside: async (pair, { prompt, token_ids: ids, router, after_llm: afterLlm }) =>
    inside(pair, await pair.router(router), pair.tokenizer.encode(prompt.text), ids, afterLlm),
  next_tokens: nextTokens,
  /** @param {BrowserPair} pair @param {{router: string, texts: {prompt: string, solution: string}[]}} asked */
  confidences: async (pair, { router, texts }) => confidencesOf(pair, await pair.router(router), texts),
};
