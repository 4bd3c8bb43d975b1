/**
 * What both models would have written at each token of a finished text; the mirror of `citer_core/routing/probe.py`.
 *
 * Asked afterwards, so it is no part of the run and of its cost.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 */

import { RequestProblem } from "./fork.js";
import { inDigits } from "../run/kinds.js";

/**
 * @param {BrowserPair} pair @param {number[]} promptIds @param {number[]} completionIds all but the last are to be read
 * @throws {RequestProblem}
 */
export function checkIds({ vocabSize, maxContext }, promptIds, completionIds) {
  const ids = [...promptIds, ...completionIds];
  if (!promptIds.length || !ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize)) {
    throw new RequestProblem("The run has tokens that this pair does not know: choose the pair it is of.");
  }
  if (ids.length - 1 > maxContext) {
    const [has, most] = [ids.length, maxContext].map(inDigits);
    throw new RequestProblem(`The run has ${has} tokens with its prompt; this pair reads ${most}.`);
  }
}

/** @param {number} value */
const sixDecimals = (value) => Math.round(value * 1e6) / 1e6;

/**
 * One pass of each model over prompt and completion.
 * @param {BrowserPair} pair
 * @param {number[]} promptIds
 * @param {number[]} completionIds end of text included
 * @returns {Generator<ProbedToken, void, void>} one for each token of the completion
 * @throws {RequestProblem}
 */
export function* probe(pair, promptIds, completionIds) {
  const { slm, llm, kernel, textOf, vocabSize } = pair;
  checkIds(pair, promptIds, completionIds);
  const read = [...promptIds, ...completionIds].slice(0, -1);
  const both = [slm, llm].map((model) => model.readEach(read));
  for (let position = 0; position < read.length; position++) {
    for (const model of both) model.next();
    if (position < promptIds.length - 1) continue;
    const [ours, theirs] = [slm.distribution, llm.distribution];
    let divergence = 0;
    for (let id = 0; id < vocabSize; id++) {
      const weight = kernel.floats[theirs.weights + id];
      if (weight > 0) divergence += weight * (theirs.logProbability(id) - ours.logProbability(id));
    }
    yield {
      slm_top: ours.candidates(textOf),
      llm_top: theirs.candidates(textOf),
      slm_entropy: sixDecimals(ours.entropy),
      llm_entropy: sixDecimals(theirs.entropy),
      kl: sixDecimals(Math.max(0, divergence / /** @type {number} */ (theirs.sum))),
      agree: ours.greedyId === theirs.greedyId,
    };
  }
  for (const model of both) model.next();
}
