/**
 * Cases of a finished run's tokens, for as long as the run is its problem's known solution; the mirror of
 * `citer_core/evaluation/label_view.py`.
 *
 * The label of case 3 is whether the SLM, going on alone, still reaches the right answer. What it wrote is given here;
 * `../transport/run_truth.js` says whether it is right.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./features.js").Router} Router
 *
 * @typedef {Object} RunCases of the run's first tokens, that one included in which it leaves the solution
 * @property {number} shared how many of them are the solution's
 * @property {string} case a digit each
 * @property {(string|null)[]} true the true tokens; null is the end of the text
 * @property {(string|null)[]} endings at case 3 what the solution before the token became, the SLM going on alone
 */

import { decode } from "./decode.js";
import { TRAINING_FREE } from "./routers.js";
import { inDigits } from "../run/kinds.js";

const SLM_ALONE = /** @type {Router} */ (TRAINING_FREE.get("always-slm"));
/** As the server rolls out (`citer_core/labelling/rollouts.py`). @type {Settings} */
const ROLL_OUT = { threshold: 0, max_new_tokens: 256, temperature: 0, top_p: 1, seed: 0 };

/**
 * Pauses after each token that it reads or writes.
 * @param {BrowserPair} pair
 * @param {number[]} promptIds
 * @param {number[]} tokenIds what the run wrote, end of text included
 * @param {ProbedToken[]} probed what both models say at each of them
 * @param {string} solution with the space that parts it from the prompt
 * @returns {Generator<void, RunCases|{why: string}, void>}
 */
export function* labelRun(pair, promptIds, tokenIds, probed, solution) {
  const { tokenizer, endIds, textOf, maxContext } = pair;
  const truthIds = [...tokenizer.encode(solution), Math.min(...endIds)];
  if (promptIds.length + truthIds.length >= maxContext) {
    const [has, most] = [promptIds.length + truthIds.length, maxContext].map(inDigits);
    return { why: `The problem has ${has} tokens with its known solution; this pair reads fewer than ${most}.` };
  }
  const leaves = tokenIds.findIndex((id, i) => id !== truthIds[i]);
  const shared = leaves < 0 ? tokenIds.length : leaves;
  const n = Math.min(shared + 1, tokenIds.length, truthIds.length);
  // Up to there the run is the solution, so what was probed is what both models say given the true tokens before.
  const cases = probed.slice(0, n).map(({ slm_top: [slm], llm_top: [llm] }, i) => {
    return slm[0] === truthIds[i] ? 1 : llm[0] === truthIds[i] ? 2 : 3;
  });
  /** @type {(string|null)[]} */
  const endings = [];
  for (const [i, one] of cases.entries()) {
    endings.push(one === 3 ? yield* ending(pair, promptIds, truthIds.slice(0, i)) : null);
  }
  const trueTexts = truthIds.slice(0, n).map((id) => (endIds.has(id) ? null : textOf(id)));
  return { shared, case: cases.join(""), true: trueTexts, endings };
}

/**
 * The whole completion that the SLM makes of a beginning.
 * @param {BrowserPair} pair @param {number[]} promptIds @param {number[]} begun
 * @returns {Generator<void, string, void>}
 */
function* ending(pair, promptIds, begun) {
  const ids = begun.slice();
  for (const event of decode(pair, SLM_ALONE, [...promptIds, ...begun], ROLL_OUT)) {
    ids.push(event.token_id);
    yield;
  }
  return pair.tokenizer.decode(ids);
}
