/**
 * One problem's text under a router, at one tau after the other; what `decode.js` writes, a step at a time.
 *
 * The next tau goes on from the first decision that is another one. Asks for what models are to read and takes what
 * they say; knows no other text. Without looking back, sampling or forks.
 *
 * @typedef {import("./features.js").Router} Router
 * @typedef {import("./text_rows.js").TextRow} TextRow
 * @typedef {import("./text_rows.js").News} News
 * @typedef {import("../tasks/book.js").Problem} Problem
 *
 * @typedef {Object} Written one token, with what costs and the next tau need to know
 * @property {number} index
 * @property {number} token_id
 * @property {"slm"|"llm"} source
 * @property {number} slm_token_id
 * @property {number} slm_confidence
 * @property {number} slm_tokens_fed
 * @property {number} llm_tokens_fed
 * @property {number} context_len
 * @property {number|null} llmEntropy behind it, for routers that use it
 */

import { prefersLlm } from "../run/decision.js";
import { roomBehind } from "./decode.js";

export class RoutedText {
  /** @type {Written[]} */
  events = [];
  /** The decision that is to be taken next, once the SLM has read. @type {{confidence: number, slmId: number}|null} */
  #decision = null;
  /** @type {Float32Array|null} */
  #promptHidden = null;
  /** What the LLM would have read by itself in this run. */
  #llmRead = 0;
  #isOver = false;

  /**
   * @param {import("./pair.js").BrowserPair} pair @param {import("./label_problem.js").BothRows} rows
   * @param {Router} router @param {Problem} problem
   * @param {number} most new tokens
   */
  constructor(pair, rows, router, problem, most) {
    this.pair = pair;
    this.rows = rows;
    this.router = router;
    this.promptIds = pair.tokenizer.encode(problem.prompt);
    this.most = Math.min(most, roomBehind(pair, this.promptIds));
    this.ids = this.promptIds.slice();
    this.slm = rows.slm.open();
    this.llm = rows.llm.open();
    this.tau = 0;
  }

  close() {
    this.rows.slm.close(this.slm);
    this.rows.llm.close(this.llm);
  }

  /** Whether the text at this tau is whole. */
  get isOver() {
    return this.#isOver;
  }

  /** Goes on at another tau, from the first token that another one decides otherwise. @param {number} tau */
  begin(tau) {
    this.tau = tau;
    const same = this.events.findIndex(
      ({ slm_confidence: confidence, source }) => prefersLlm(confidence, tau) !== (source === "llm"),
    );
    if (same < 0) return;
    const { slm_confidence: confidence, slm_token_id: slmId } = this.events[same];
    this.#decision = { confidence, slmId };
    this.#isOver = false;
    this.events.length = same;
    this.ids.length = this.promptIds.length + same;
    this.#llmRead = this.events.findLast(({ source }) => source === "llm")?.context_len ?? 0;
    for (const { cache } of [this.slm, this.llm]) cache.rewind(this.ids.length);
  }

  /** What the SLM is to read before the next decision. @returns {News[]} */
  slmNews() {
    if (this.#isOver || this.#decision) return [];
    const ids = this.ids.slice(this.slm.cache.length);
    const { kernel, hiddenSize } = this.pair;
    return [
      {
        row: this.slm,
        ids,
        nWanted: 1,
        take: ({ hidden, greedyId: slmId, distribution }) => {
          distribution.update();
          if (this.router.usesPrompt) this.#promptHidden ??= kernel.view(hidden, hiddenSize).slice();
          const confidence = this.router.confidence({
            slm: distribution,
            hidden,
            promptHidden: this.#promptHidden,
            promptIds: this.promptIds,
            position: this.events.length,
            llmEntropy: this.events.at(-1)?.llmEntropy ?? null,
            llm: null,
          });
          this.#decision = { confidence, slmId };
        },
      },
    ];
  }

  /** Decides; what the LLM is to read if it is called. @returns {News[]} */
  llmNews() {
    if (this.#isOver || !this.#decision) return [];
    const { confidence, slmId } = this.#decision;
    if (!prefersLlm(confidence, this.tau)) {
      this.#write(slmId, "slm", 0, null);
      return [];
    }
    const { cache } = this.llm;
    cache.rewind(this.ids.length - 1); // the last token again, where another tau has read it
    return [
      {
        row: this.llm,
        ids: this.ids.slice(cache.length),
        nWanted: 1,
        take: ({ greedyId, distribution }) => {
          if (this.router.usesLlmEntropy) distribution.update();
          const nFed = this.ids.length - this.#llmRead;
          this.#llmRead = this.ids.length;
          this.#write(greedyId, "llm", nFed, this.router.usesLlmEntropy ? distribution.entropy : null);
        },
      },
    ];
  }

  /** @param {number} id @param {"slm"|"llm"} source @param {number} llmFed @param {number|null} llmEntropy */
  #write(id, source, llmFed, llmEntropy) {
    const { confidence, slmId } = /** @type {{confidence: number, slmId: number}} */ (this.#decision);
    const index = this.events.length;
    this.events.push({
      index,
      token_id: id,
      source,
      slm_token_id: slmId,
      slm_confidence: confidence,
      slm_tokens_fed: index === 0 ? this.promptIds.length : 1,
      llm_tokens_fed: llmFed,
      context_len: this.ids.length,
      llmEntropy,
    });
    this.#decision = null;
    this.#isOver = this.pair.endIds.has(id) || index + 1 === this.most;
    this.ids.push(id);
  }
}
