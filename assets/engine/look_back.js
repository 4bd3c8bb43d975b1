/**
 * When the LLM looks at what the SLM wrote, and what of it it takes back; the mirror of
 * `citer_core/routing/look_back.py`. Knows no run: tokens, a model that reads them, numbers.
 *
 * @typedef {import("./reader.js").Reader} Reader
 *
 * @typedef {Object} Mistake
 * @property {number} place in what was in question
 * @property {number} tokenId that the LLM writes there
 * @property {Candidate[]} top its most probable tokens there
 * @property {number} entropy of its distribution there, in nats
 */

import { prefersLlm } from "../run/decision.js";

/**
 * Is the LLM called before the next token?
 * @param {Settings|Dials} settings
 * @param {number} confidence the router's, at that token
 * @param {number} doubts of the router since the last call, this token's included
 * @param {number} nSince tokens since the last call
 */
export function wantsLook({ threshold, doubt_budget: budget = 0, look_every: every = 0 }, confidence, doubts, nSince) {
  return prefersLlm(confidence, threshold) || (0 < budget && budget < doubts) || (0 < every && every <= nSince);
}

/**
 * Has the LLM read a text to its end, and finds the first token that it takes back.
 * @param {Reader} llm
 * @param {number[]} ids the text
 * @param {number[]} inQuestion tokens of the SLM: those at the end of the text, and the one that would follow
 * @param {number} nJudged so many of them, from the first, may be taken back
 * @param {Object} how
 * @param {number} how.ratio of its own token's probability below which it takes one back; see `Ratio` in Python
 * @param {boolean} how.isAbsolute that is a probability itself
 * @param {(place: number) => boolean} how.mayTake whether the router doubts that token enough
 * @param {(place: number) => number} how.chosen what it would write, by the distribution that is there
 * @param {(id: number) => string} how.textOf
 * @param {(isSound: boolean) => void} how.check called after each position
 * @returns {{read: [number, number][], mistake: Mistake|null}} what it gives each token in question and its own there
 */
export function lookBack(llm, ids, inQuestion, nJudged, { ratio, isAbsolute, mayTake, chosen, textOf, check }) {
  const { distribution } = llm;
  /** @type {Mistake|null} */
  let mistake = null;
  /** @type {[number, number][]} */
  const read = [];
  const rounded = (/** @type {number} */ logProbability) => Math.round(Math.exp(logProbability) * 1e6) / 1e6;
  for (const isSound of llm.readEach(ids, inQuestion.length)) {
    check(isSound);
    const place = read.length;
    const id = inQuestion[place];
    const own = chosen(place);
    const [ofToken, ofOwn] = [id, own].map((one) => distribution.logProbability(one));
    read.push([rounded(ofToken), rounded(ofOwn)]);
    if (
      mistake ||
      place >= nJudged ||
      id === own ||
      !mayTake(place) ||
      (ratio < 1 && !(ofToken < Math.log(ratio) + (isAbsolute ? 0 : ofOwn)))
    )
      continue;
    mistake = { place, tokenId: own, top: distribution.candidates(textOf), entropy: distribution.entropy };
  }
  return { read, mistake };
}
