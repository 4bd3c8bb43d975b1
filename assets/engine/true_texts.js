/**
 * What a router says at each token of known solutions; as `citer_core/evaluation/label_view.py` scores them.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 */

import { RequestProblem } from "./fork.js";
import { checkIds } from "./probe.js";

/**
 * @param {BrowserPair} pair
 * @param {import("./features.js").Router} router
 * @param {{prompt: string, solution: string}[]} texts
 * @returns {Float32Array[]} a confidence for each token of each solution, end of text included
 * @throws {RequestProblem} a text is too long, or the router needs more than the SLM
 */
export function confidencesOf(pair, router, texts) {
  const { slm, tokenizer, kernel, hiddenSize, endIds } = pair;
  if (router.readsLlm) throw new RequestProblem("This router reads the LLM, which does not read solutions here.");
  const { distribution } = slm;
  return texts.map(({ prompt, solution }) => {
    const promptIds = tokenizer.encode(prompt);
    const trueIds = [...tokenizer.encode(solution), Math.min(...endIds)];
    checkIds(pair, promptIds, trueIds);
    const found = new Float32Array(trueIds.length);
    const reading = slm.readEach([...promptIds, ...trueIds.slice(0, -1)], trueIds.length);
    /** @type {Float32Array|null} */
    let promptHidden = null;
    for (let position = 0; !reading.next().done; position++) {
      const hidden = slm.state;
      promptHidden ??= kernel.view(hidden, hiddenSize).slice();
      const features = { slm: distribution, hidden, promptHidden, promptIds, position, llmEntropy: null, llm: null };
      found[position] = router.confidence(features);
    }
    return found;
  });
}
