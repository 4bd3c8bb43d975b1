/**
 * How well a person's marks agree with what happened. Pure: must not know the DOM.
 */

/** Where the router called the LLM. @param {TokenEvent[]} events */
export const byRouter = (events) => events.map((event) => event.source === "llm");

/** Where that changed the text: the LLM wrote another token than the SLM would have. @param {TokenEvent[]} events */
export const whereChanged = (events) =>
  events.map((event) => event.source === "llm" && event.slm_token_id !== event.token_id);

/**
 * The text as it stood when the LLM first took something back, and what it wrote instead.
 * @param {TokenEvent[]} events of a run in which it did
 * @returns {{tokens: {text: string, isSlip: boolean, judged?: [number, number]}[], own: string}} `judged`: what the
 *   LLM gave it and its own choice there, where it read that
 */
export function beforeTakeBack(events) {
  const at = events.findIndex(({ discarded }) => discarded);
  const { discarded = [], read = [], text: own } = events[at];
  const texts = [...events.slice(0, at).map(({ text }) => text), ...discarded.map(([, text]) => text)];
  const first = texts.length - read.length;
  return { own, tokens: texts.map((text, i) => ({ text, isSlip: i === at, judged: read[i - first] })) };
}

/** The first token that the LLM took back. @param {{isSlip: boolean}[]} tokens */
export const whereSlipped = (tokens) => tokens.map(({ isSlip }) => isSlip);

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
