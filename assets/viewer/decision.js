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
 *
 * @typedef {Object} Replay
 * @property {Uint8Array} isLlm 1 where the LLM writes
 * @property {Uint8Array} isFlipped 1 where that differs from the recorded writer
 * @property {Int32Array} llmFed tokens in the LLM's forward, catch-up included; 0 where it is not called
 * @property {number} firstFlip index of the first different decision, -1 where there is none
 * @property {number} nFlips
 */

/** Strictly below the threshold; tau = 1 is spelled out because a float32 sigmoid reaches 1.0. */
export function prefersLlm(slmConfidence, threshold) {
  return threshold >= 1 || slmConfidence < threshold;
}

/** Did something other than the rule choose here? Runs say so themselves; in the oldest traces it shows in the writer. */
export function isForced(event) {
  return event.forced === true || (event.source === "llm") !== prefersLlm(event.slm_confidence, event.threshold);
}

/**
 * Replays recorded confidences at `threshold`; null keeps the decisions as they were made.
 * A forced token stays forced: moving tau does not undo what a person chose.
 * The LLM's cache is replayed too, since the tokens it must catch up on depend on when it was last called.
 * @param {TokenEvent[]} events
 * @param {number|null} threshold
 * @returns {Replay}
 */
export function replay(events, threshold) {
  const n = events.length;
  const isLlm = new Uint8Array(n);
  const isFlipped = new Uint8Array(n);
  const llmFed = new Int32Array(n);
  let firstFlip = -1;
  let nFlips = 0;
  let llmCached = 0;
  for (let i = 0; i < n; i++) {
    const event = events[i];
    const recorded = event.source === "llm";
    const decision =
      threshold === null || isForced(event) ? recorded : prefersLlm(event.slm_confidence, threshold);
    if (decision) {
      isLlm[i] = 1;
      llmFed[i] = threshold === null ? event.llm_tokens_fed : event.context_len - llmCached;
      llmCached = event.context_len;
    }
    if (decision !== recorded) {
      isFlipped[i] = 1;
      nFlips++;
      if (firstFlip < 0) firstFlip = i;
    }
  }
  return { isLlm, isFlipped, llmFed, firstFlip, nFlips };
}

/**
 * How sure the decision was, as one of four tint steps: the distance to tau over the room there is on that side.
 * @returns {0|1|2|3}
 */
export function certaintyStep(slmConfidence, threshold) {
  const room = slmConfidence < threshold ? threshold : 1 - threshold;
  const share = room > 0 ? Math.abs(slmConfidence - threshold) / room : 1;
  return /** @type {0|1|2|3} */ (Math.min(3, Math.floor(share * 4)));
}
