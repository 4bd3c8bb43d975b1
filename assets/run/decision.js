/**
 * Who writes each token: the routing rule, and its replay at another tau on a finished run.
 *
 * Pure: must not know the DOM, prices or where a run came from. Mirrors `prefers_llm` in `citer_core/types.py`;
 * called by viewer.js and by the tests.
 *
 * @typedef {Object} TokenEvent one event of the trace JSON (see `citer_core/types.py`)
 * @property {number} index
 * @property {number} token_id
 * @property {string} text
 * @property {"slm"|"llm"} source
 * @property {number} slm_token_id
 * @property {number} slm_confidence
 * @property {number} threshold
 * @property {number} slm_tokens_fed
 * @property {number} llm_tokens_fed
 * @property {number} context_len
 * @property {number} slm_s
 * @property {number} router_s
 * @property {number} llm_s
 * @property {[number, string, number][]} slm_top
 * @property {[number, string, number][]} llm_top
 * @property {boolean} [forced] a person chose the writer or the token
 * @property {[number, string, number][]} [discarded] what stood from here on until the LLM took it back: token, text,
 *   confidence
 * @property {[number, number][]} [read] what the LLM gave each token in question in its pass here, and its own choice
 *   there: those before that it let stand, then the discarded ones, or the SLM's token here
 *
 * @typedef {Object} RunFacts what a replay must know of a run beside its events
 * @property {boolean} readsLlm the router has the LLM called at every token, whichever model writes
 * @property {boolean} dependsOnWriters the router's confidence depends on who wrote the tokens before
 * @property {number|null} runTau at its own tau everything stays as it was, whatever tau a branch began with
 * @property {(number|null)[]} llmIds what the LLM wrote or would have written at each token; null where it is unknown
 *
 * @typedef {Object} Replay
 * @property {Uint8Array|number[]} isLlm 1 where the LLM writes
 * @property {Uint8Array|number[]} isFlipped 1 where that differs from the recorded writer
 * @property {Int32Array|number[]} llmFed tokens in the LLM's forward, catch-up included; 0 where it is not called
 * @property {Int8Array|number[]} decisive 1 where the LLM writes and the SLM would have written another token; -1 where
 *   it is not known what the LLM would write
 * @property {number} firstFlip index of the first different decision, -1 where there is none
 * @property {number} nFlips
 * @property {number} nExact so many tokens of the text are known to come out the same
 * @property {"other"|"unknown"|"confidence"|"look"|null} doubt why it is not more; null where it is all of them
 */

import { llmContext } from "./cost.js";

// Traces from before routers said so themselves.
const READS_LLM = "disagreement";
const DEPENDS_ON_WRITERS = "bidirectional-entropy";
export const EQUAL_PRIORS = 0.5;

/**
 * Strictly below the threshold; tau = 1 is spelled out because a float32 sigmoid reaches 1.0.
 * @param {number} slmConfidence
 * @param {number} threshold
 */
export function prefersLlm(slmConfidence, threshold) {
  return threshold >= 1 || slmConfidence < threshold;
}

/**
 * The model that writes all of a run by its settings, whatever the router says; null where that may differ.
 * @param {{threshold: number, take_back?: number, doubt_budget?: number, look_every?: number}} settings
 * @returns {Writer|null}
 */
export function writerAlone({ threshold, take_back: ratio, doubt_budget: budget, look_every: every }) {
  if (threshold >= 1) return "llm";
  return threshold || ratio || budget || every ? null : "slm";
}

/**
 * How much a token of the SLM adds to what a doubt budget counts; the mirror of `Router.doubt` in Python.
 * @param {number} confidence @param {number} prior how often the SLM is to be preferred, which a confidence leaves out
 */
export function doubtOf(confidence, prior) {
  const [byLlm, bySlm] = [(1 - confidence) * (1 - prior), confidence * prior];
  return byLlm + bySlm ? byLlm / (byLlm + bySlm) : 0;
}

/**
 * Was it something else than tau that decided here: a person, a doubt budget, a token that was taken back?
 * @param {TokenEvent} event
 */
export function isBeyondTau(event) {
  return event.forced === true || (event.source === "llm") !== prefersLlm(event.slm_confidence, event.threshold);
}

/** Did a person choose here? In the oldest traces it only shows in the writer. @param {TokenEvent} event */
export function isForced(event) {
  return event.forced ?? isBeyondTau(event);
}

/**
 * Would another of the tokens that were taken back have had the LLM called?
 * @param {TokenEvent} event @param {number} threshold
 */
function looksElsewhere({ discarded = [], threshold: own }, threshold) {
  return discarded.some(([, , confidence]) => prefersLlm(confidence, threshold) !== prefersLlm(confidence, own));
}

/**
 * Takes in what a run tells: an event takes the place of all from its index on, which the LLM took back.
 * @param {TokenEvent[]} events that stay so far, changed @param {TokenEvent[]} told
 */
export function settle(events, told) {
  for (const event of told) events.splice(event.index, Infinity, event);
}

/**
 * The greedy token of a distribution, best first; null where two are equally probable as far as they are written down.
 * @param {Candidate[]|undefined} top
 */
function clearFirst(top) {
  return !top?.length || (top.length > 1 && top[0][2] === top[1][2]) ? null : top[0][0];
}

/**
 * 1, 0 or -1: does the LLM, writing `writtenId` here, differ from what the SLM would have written?
 * @param {TokenEvent} event
 * @param {boolean} isLlm
 * @param {number|null} writtenId
 */
export function decisiveness(event, isLlm, writtenId) {
  if (!isLlm) return 0;
  if (writtenId === null) return -1;
  return writtenId === event.slm_token_id ? 0 : 1;
}

/** The decisions of a run as they were made. @param {TokenEvent[]} events @returns {Replay} */
export function asRecorded(events) {
  const isLlm = events.map((event) => (event.source === "llm" ? 1 : 0));
  return {
    isLlm,
    isFlipped: isLlm.map(() => 0),
    llmFed: events.map((event) => event.llm_tokens_fed),
    decisive: events.map((event, i) => decisiveness(event, isLlm[i] === 1, event.token_id)),
    firstFlip: -1,
    nFlips: 0,
    nExact: events.length,
    doubt: null,
  };
}

/**
 * What a replay must know of a run.
 * @param {TraceHead|null} head the trace without its events
 * @param {TokenEvent[]} events
 * @param {ProbedToken[]|null} probe what both models said at every token, where it was probed; it tells the LLM's
 *   greedy token, so nothing of a run that was sampled
 * @returns {RunFacts}
 */
export function runFacts(head, events, probe) {
  const router = head?.router;
  const isGreedy = (head?.settings?.temperature ?? 0) === 0;
  return {
    readsLlm: router?.reads_llm ?? router?.name === READS_LLM,
    dependsOnWriters: router?.depends_on_writers ?? router?.name === DEPENDS_ON_WRITERS,
    runTau: head?.settings?.threshold ?? null,
    llmIds: events.map((event, i) => {
      if (event.source === "llm" && !isForced(event)) return event.token_id;
      return isGreedy ? clearFirst(probe?.[i]?.llm_top) : null;
    }),
  };
}

/**
 * Replays recorded confidences at `threshold`; the mirror of `citer_core/replay.py`, which says what is exact and why.
 * A forced token stays forced: moving tau does not undo what a person chose.
 * The LLM's cache is replayed too, since the tokens it must catch up on depend on when it was last called.
 * @param {TokenEvent[]} events
 * @param {number} threshold
 * @param {RunFacts} facts
 * @returns {Replay}
 */
export function replay(events, threshold, facts = runFacts(null, events, null)) {
  const n = events.length;
  const isLlm = new Uint8Array(n);
  const isFlipped = new Uint8Array(n);
  const llmFed = new Int32Array(n);
  const decisive = new Int8Array(n);
  let firstFlip = -1;
  let nFlips = 0;
  let nExact = n;
  /** @type {Replay["doubt"]} */
  let doubt = null;
  let llmCached = 0;
  for (let i = 0; i < n; i++) {
    const event = events[i];
    const recorded = event.source === "llm";
    const byLlm =
      threshold === facts.runTau || isBeyondTau(event) ? recorded : prefersLlm(event.slm_confidence, threshold);
    if (byLlm || facts.readsLlm || (!recorded && event.llm_tokens_fed > 0)) {
      llmFed[i] = llmContext(event) - llmCached;
      llmCached = event.context_len;
    }
    if (doubt === null && nFlips > 0 && facts.dependsOnWriters) [nExact, doubt] = [i, "confidence"];
    if (doubt === null && threshold !== facts.runTau && looksElsewhere(event, threshold)) [nExact, doubt] = [i, "look"];
    if (byLlm !== recorded) {
      isFlipped[i] = 1;
      nFlips++;
      if (firstFlip < 0) firstFlip = i;
      const tokenId = byLlm ? facts.llmIds[i] : event.slm_token_id;
      if (doubt === null && tokenId !== event.token_id) [nExact, doubt] = [i, tokenId === null ? "unknown" : "other"];
    }
    isLlm[i] = byLlm ? 1 : 0;
    decisive[i] = decisiveness(event, byLlm, byLlm === recorded ? event.token_id : facts.llmIds[i]);
  }
  return { isLlm, isFlipped, llmFed, decisive, firstFlip, nFlips, nExact, doubt };
}

/**
 * How sure the decision was, as one of four tint steps: the distance to tau over the room there is on that side.
 * @param {number} slmConfidence
 * @param {number} threshold
 * @returns {0|1|2|3}
 */
export function certaintyStep(slmConfidence, threshold) {
  const room = slmConfidence < threshold ? threshold : 1 - threshold;
  const share = room > 0 ? Math.abs(slmConfidence - threshold) / room : 1;
  return /** @type {0|1|2|3} */ (Math.min(3, Math.floor(share * 4)));
}
