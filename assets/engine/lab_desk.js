/**
 * Takes the Lab's orders and works on all of them in turn, in slices between which it listens.
 *
 * Knows neither workers nor files: `lab_worker.js` says how files are fetched, and a way to answer.
 *
 * @typedef {import("./protocol.js").LabOrder} LabOrder
 * @typedef {import("./protocol.js").LabReply} LabReply
 * @typedef {import("./protocol.js").LabItem} LabItem
 * @typedef {LabQueue<LabItem>} Queue
 *
 * @typedef {Object} Bench what all jobs of a worker share
 * @property {BrowserPair} pair
 * @property {import("./label_problem.js").BothRows} rows of its models
 * @property {LayerProducts} products room for batches of training
 * @property {{version: string, hardware: string}} maker for cards
 * @typedef {{tokens: {text: string, source: "slm"|"llm"}[], answer: Answer}} WrittenText
 */

import { checkAnswer } from "../tasks/answers.js";
import { decode } from "./decode.js";
import { SLICE_MS, inWordsFor, pause } from "./desk.js";
import { Labelling, MOST_TRIED } from "./labelling.js";
import { LayerProducts } from "./layer_products.js";
import { Measuring, firstTaus } from "./measuring.js";
import { BrowserPair } from "./pair.js";
import { RECIPE, WIDTHS, training } from "./router_training.js";
import { N_UNCERTAINTIES } from "./stored_router.js";
import { TextRows } from "./text_rows.js";

/** Said by a job that has nothing to do until more comes. */
const WAITS = Symbol("waits");

/** What one job still has to work off, and a way to wait for more. @template T */
class LabQueue {
  /** @param {T[]} items @param {boolean} isWhole no more come */
  constructor(items, isWhole) {
    this.items = items;
    this.isWhole = isWhole;
    this.wake = () => {};
  }

  /** @param {T[]} items @param {boolean} isWhole */
  add(items, isWhole) {
    this.items.push(...items);
    this.isWhole = isWhole;
    this.wake();
  }

  /** Until something comes, or the queue is ended. @returns {Promise<void>} */
  more() {
    return new Promise((resolve) => (this.wake = resolve));
  }
}

/**
 * Has problems worked off several at once.
 * @template T, R
 * @param {{hasRoom: boolean, isIdle: boolean, take: (item: T) => void, step: () => Generator<R|undefined, void, any>,
 *   end: () => void}} work
 * @param {LabQueue<T>} queue
 * @returns {Generator<R|undefined|typeof WAITS, void, any>} undefined after a pass over weights
 */
function* workedOff(work, queue) {
  const { items } = queue;
  try {
    while (items.length || !work.isIdle || !queue.isWhole) {
      if (work.hasRoom) for (const item of items.splice(0, 1)) work.take(item);
      if (work.isIdle) yield WAITS;
      else yield* work.step();
    }
  } finally {
    work.end();
  }
}

/** What may be asked. */
export const JOBS = {
  /** @param {Bench} bench @param {any} asked @param {Queue} queue */
  label: ({ pair, rows }, asked, queue) => workedOff(new Labelling(pair, rows, asked), queue),
  train: training,
  /** @param {Bench} bench @param {any} asked */
  taus: async ({ pair }, { router, labelled, shares }) =>
    [firstTaus(pair, await routerOf(pair, router), labelled, shares)].values(),
  /** @param {Bench} bench @param {any} asked @param {Queue} queue */
  measure: async ({ pair, rows }, asked, queue) =>
    workedOff(new Measuring(pair, rows, await routerOf(pair, asked.router), asked), queue),
  /** @param {Bench} bench @param {any} asked */
  write: async ({ pair }, { router, problem, tau }) => written(pair, await routerOf(pair, router), problem, tau),
};

/**
 * @param {BrowserPair} pair @param {string|Uint8Array} router a name, or a file that was trained here
 * @returns {Promise<import("./features.js").Router>}
 */
function routerOf(pair, router) {
  return pair.router(typeof router === "string" ? router : pair.addRouter(router.slice().buffer));
}

/**
 * One problem's text; pauses after each token.
 * @param {BrowserPair} pair @param {import("./features.js").Router} router
 * @param {import("../tasks/book.js").Problem} problem @param {number} tau
 * @returns {Generator<WrittenText|undefined, void, any>} the last one is the text
 */
function* written(pair, router, problem, tau) {
  const tokens = [];
  const settings = { threshold: tau, max_new_tokens: MOST_TRIED, temperature: 0, top_p: 1, seed: 0 };
  for (const { text, source } of decode(pair, router, pair.tokenizer.encode(problem.prompt), settings)) {
    tokens.push({ text, source });
    yield;
  }
  yield { tokens, answer: checkAnswer(tokens.map(({ text }) => text).join(""), problem) };
}

export class LabDesk {
  /** @type {Promise<Bench|null>} */
  #bench = Promise.resolve(null);
  /** @type {Map<number, Queue & {isCancelled?: boolean}>} of jobs that are not over */
  #queues = new Map();

  /**
   * @param {(reply: LabReply) => void} post
   * @param {(where: import("./protocol.js").LabLoad) => import("./pair.js").FetchFile} filesAt
   */
  constructor(post, filesAt) {
    this.post = post;
    this.filesAt = filesAt;
  }

  /** @param {LabOrder} order */
  take(order) {
    if (order.kind === "load") {
      this.#bench = this.#load(order);
      return;
    }
    const queue = this.#queues.get(order.job);
    if (order.kind === "begin") this.#work(order);
    else if (order.kind === "more") queue?.add(order.items, order.isWhole);
    else if (queue) {
      queue.isCancelled = true;
      queue.wake();
    }
  }

  /** @param {import("./protocol.js").LabLoad} order @returns {Promise<Bench|null>} */
  async #load(order) {
    try {
      const pair = await BrowserPair.load(this.filesAt(order));
      const rows = { slm: new TextRows(pair.slm, "SLM"), llm: new TextRows(pair.llm, "LLM") };
      const products = new LayerProducts(
        pair.kernel,
        pair.hiddenSize + N_UNCERTAINTIES,
        Math.max(...Object.values(WIDTHS)),
        RECIPE.batchSize,
      );
      this.post({ kind: "ready" });
      return { pair, rows, products, maker: { version: order.version, hardware: order.hardware } };
    } catch (error) {
      this.post({ kind: "failed", error: inWordsFor(error) });
      return null;
    }
  }

  /** @param {import("./protocol.js").LabBegin} order */
  async #work({ job, what, asked, items, isWhole }) {
    /** @type {Queue & {isCancelled?: boolean}} */
    const queue = new LabQueue(items, isWhole);
    this.#queues.set(job, queue);
    let error = null;
    try {
      const bench = await this.#bench;
      if (bench) await this.#inSlices(job, await JOBS[what](bench, asked, queue), queue);
    } catch (problem) {
      error = inWordsFor(problem);
    }
    this.#queues.delete(job);
    this.post({ kind: "over", job, error });
  }

  /** @param {number} job @param {Iterator<any, void, any>} steps @param {Queue & {isCancelled?: boolean}} queue */
  async #inSlices(job, steps, queue) {
    for (let sliceEnd = performance.now() + SLICE_MS; !queue.isCancelled;) {
      const { done, value } = steps.next();
      if (done) return;
      if (value === WAITS) await queue.more();
      else if (value !== undefined) this.post({ kind: "news", job, value });
      if (performance.now() < sliceEnd) continue;
      await pause();
      sliceEnd = performance.now() + SLICE_MS;
    }
    steps.return?.();
  }
}
