/**
 * How well a person's marks agree with what happened. Pure: must not know the DOM.
 */

/** Where the router called the LLM. @param {TokenEvent[]} events */
export const byRouter = (events) => events.map((event) => event.source === "llm");

/** Where that changed the text: the LLM wrote another token than the SLM would have. @param {TokenEvent[]} events */
export const whereChanged = (events) =>
  events.map((event) => event.source === "llm" && event.slm_token_id !== event.token_id);

/**
 * @param {boolean[]} marked
 * @param {boolean[]} truth
 * @returns {{hits: number, missed: number, extra: number, precision: number, recall: number, score: number, chance:
 *   number}} shares;
 *   `score` is F1, their harmonic mean; `chance` is the F1 to expect of as many marks put down blindly
 */
export function scoreMarks(marked, truth) {
  let hits = 0;
  let missed = 0;
  let extra = 0;
  truth.forEach((isTrue, i) => {
    if (isTrue && marked[i]) hits++;
    else if (isTrue) missed++;
    else if (marked[i]) extra++;
  });
  const nMarked = hits + extra;
  const nTrue = hits + missed;
  /** @param {number} found */
  const f1 = (found) => (nMarked + nTrue ? (2 * found) / (nMarked + nTrue) : 1);
  return {
    hits,
    missed,
    extra,
    precision: nMarked ? hits / nMarked : 0,
    recall: nTrue ? hits / nTrue : 1,
    score: f1(hits),
    chance: f1(truth.length ? (nMarked * nTrue) / truth.length : 0),
  };
}

/**
 * @param {boolean} isMarked
 * @param {boolean} isTrue
 * @returns {"hit"|"missed"|"extra"|null} what to show at one token after the reveal
 */
export const markOfToken = (isMarked, isTrue) => (isTrue ? (isMarked ? "hit" : "missed") : isMarked ? "extra" : null);
