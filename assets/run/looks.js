/**
 * What looking back did in a run, in words.
 *
 * Pure: must not know the DOM or where the run came from.
 */

import { plural, quantity } from "./format.js";

/**
 * In a sentence; nothing where the LLM has not looked.
 * @param {CostModel} costModel @param {TokenEvent[]} events
 */
export function looksWords(costModel, events) {
  const looks = events.filter(({ read }) => read);
  if (!looks.length) return "";
  const nGone = looks.reduce((sum, { discarded = [] }) => sum + discarded.length, 0);
  const bytes = looks.reduce((sum, event) => sum + costModel.spentOnGone(event), 0);
  const of = nGone ? `; ${quantity("bytes", bytes)} of the memory moved was for these` : "";
  return `The LLM looked ${plural(looks.length, "time")} and took ${plural(nGone, "token")} back${of}.`;
}
