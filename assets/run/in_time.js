/**
 * A run in the order of time, what the LLM took back included: each token that was written, each look, and the doubts
 * that add up in between.
 *
 * Pure: must not know the DOM.
 *
 * @typedef {Object} Step one written token
 * @property {number} index of the token that stands there now
 * @property {number|null} place among those that were taken back for it; null where it stands itself
 * @property {number} doubts since the last look, this token's included
 *
 * @typedef {Object} Look a call of the LLM
 * @property {number} at the step that it ended with
 * @property {number} from the step of the look before, or the first
 * @property {number|null} back the first step that it took back
 * @property {number} nGone
 */

import { doubtOf } from "./decision.js";

/**
 * @param {TokenEvent[]} events those that stay
 * @param {number|null} prior of the router; without it doubts are unknown and stay 0
 */
export function inTime(events, prior) {
  /** @type {Step[]} */
  const steps = [];
  /** @type {Look[]} */
  const looks = [];
  let doubts = 0;
  let from = 0;
  for (const event of events) {
    const { index, discarded = [] } = event;
    const nGone = discarded.length;
    const back = nGone ? steps.length : null;
    const doubted = (/** @type {number} */ confidence) => (doubts += prior === null ? 0 : doubtOf(confidence, prior));
    discarded.forEach(([, , confidence], place) => steps.push({ index, place, doubts: doubted(confidence) }));
    // What was taken back has been doubted, the token in this place first; a person's choice is not.
    if (!nGone && !event.forced) doubted(event.slm_confidence);
    const at = steps.push({ index, place: null, doubts }) - 1;
    if (!event.llm_tokens_fed) continue;
    looks.push({ at, from, back, nGone });
    [from, doubts] = [at, 0];
  }
  return { steps, looks };
}
