/**
 * Writes problems under a router, many at once, each at one tau after the other, and counts right answers and costs.
 *
 * Problems come and go at any time. Knows no worker.
 *
 * @typedef {import("./features.js").Router} Router
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./distribution.js").Distribution} Distribution
 * @typedef {import("./labelling.js").Labelled} Labelled
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {import("./routed_text.js").Written} Written
 *
 * @typedef {Object} Result of one problem at one tau
 * @property {boolean} right
 * @property {number} nTokens
 * @property {number} nLlm of them
 * @property {number} bytes that were moved, as the page estimates it
 *
 * @typedef {Object} Measured
 * @property {number} index
 * @property {Result[]} results one for each tau
 * @property {number[][]} confidences of the router in each text, where they were asked for
 * @typedef {{index: number, problem: Problem, text: RoutedText, results: Result[], confidences: number[][]}} Begun
 */

import { CostModel, H100_SXM } from "../run/cost.js";
import { checkAnswer } from "../tasks/answers.js";
import { RequestProblem } from "./fork.js";
import { ENOUGH, MOST_TRIED } from "./labelling.js";
import { tauFor } from "./router_metrics.js";
import { RoutedText } from "./routed_text.js";

export class Measuring {
  /** @type {Set<Begun>} */
  #begun = new Set();

  /**
   * @param {BrowserPair} pair @param {import("./label_problem.js").BothRows} rows of its models
   * @param {Router} router @param {{taus: number[], withConfidences?: boolean}} how
   * @throws {RequestProblem}
   */
  constructor(pair, rows, router, { taus, withConfidences = false }) {
    if (router.readsLlm) {
      throw new RequestProblem("This router reads the large model at every token, which is not measured here.");
    }
    this.pair = pair;
    this.rows = rows;
    this.router = router;
    this.taus = taus;
    this.withConfidences = withConfidences;
    const { slm, llm } = pair.info;
    this.costs = new CostModel({ slm, llm, device: H100_SXM, routerParams: router.nParams });
  }

  get hasRoom() {
    return this.#begun.size < ENOUGH;
  }

  get isIdle() {
    return this.#begun.size === 0;
  }

  /** @param {{index: number, problem: Problem}} item */
  take({ index, problem }) {
    const text = new RoutedText(this.pair, this.rows, this.router, problem, MOST_TRIED);
    text.begin(this.taus[0]);
    this.#begun.add({ index, problem, text, results: [], confidences: [] });
  }

  /**
   * One token of every text.
   * @returns {Generator<Measured|undefined, void, any>} undefined after a pass over weights
   */
  *step() {
    const begun = [...this.#begun];
    yield* this.rows.slm.read(begun.flatMap(({ text }) => text.slmNews()));
    yield* this.rows.llm.read(begun.flatMap(({ text }) => text.llmNews()));
    for (const one of begun) {
      while (one.text.isOver && one.results.length < this.taus.length) {
        this.#count(one);
        if (one.results.length < this.taus.length) one.text.begin(this.taus[one.results.length]);
      }
      if (one.results.length < this.taus.length) continue;
      this.#begun.delete(one);
      one.text.close();
      yield { index: one.index, results: one.results, confidences: one.confidences };
    }
  }

  /** @param {Begun} one whose text is over */
  #count({ text: { events }, problem, results, confidences }) {
    const answer = this.pair.tokenizer.decode(events.map(({ token_id: id }) => id));
    results.push({
      right: checkAnswer(answer, problem).is_correct === true,
      nTokens: events.length,
      nLlm: events.filter(({ source }) => source === "llm").length,
      bytes: events.reduce((sum, event) => sum + this.#bytesOf(event), 0),
    });
    if (this.withConfidences) confidences.push(events.map(({ slm_confidence: confidence }) => confidence));
  }

  /** @param {Written} event that has all of a `TokenEvent` which costs depend on */
  #bytesOf(event) {
    return this.costs.step(/** @type {TokenEvent} */ (/** @type {unknown} */ (event))).bytes;
  }

  end() {
    for (const { text } of this.#begun) text.close();
    this.#begun.clear();
  }
}

/**
 * Taus below which these shares of labelled texts' tokens lie; a text that is written at them may come to others.
 * @param {BrowserPair} pair @param {Router} router @param {Labelled[]} labelled @param {number[]} shares
 * @returns {number[]}
 */
export function firstTaus({ kernel, hiddenSize }, router, labelled, shares) {
  const place = kernel.alloc(hiddenSize);
  const confidences = labelled.flatMap(({ features, labels }) =>
    labels.map((_, at) => {
      const { maxProbability, margin, entropy } = features;
      kernel.floats.set(features.hidden.subarray(at * hiddenSize, (at + 1) * hiddenSize), place);
      const slm = { maxProbability: maxProbability[at], margin: margin[at], entropy: entropy[at] };
      return router.confidence({
        slm: /** @type {Distribution} */ (slm),
        hidden: place,
        promptHidden: features.hidden.subarray(0, hiddenSize),
        promptIds: [],
        position: at,
        llmEntropy: null,
        llm: null,
      });
    }),
  );
  return shares.map((share) => tauFor(share, [confidences]));
}
