/**
 * The page's side of the Lab's workers: hands problems out, and gives what comes back to the caller.
 *
 * Must not know the page, nor what a router is trained for.
 *
 * @typedef {import("./engine_client.js").PairFacts} PairFacts
 * @typedef {import("../engine/protocol.js").LabItem} LabItem
 * @typedef {import("../engine/protocol.js").LabOrder} LabOrder
 * @typedef {import("../engine/protocol.js").LabReply} LabReply
 * @typedef {import("../engine/labelling.js").Labelled & {problem: Problem}} Labelled
 * @typedef {import("../engine/measuring.js").Measured} Measured
 * @typedef {import("../engine/router_training.js").Pass} Pass
 * @typedef {import("../engine/router_training.js").Trained} Trained
 * @typedef {import("../tasks/book.js").Problem} Problem
 */

import { tauFor } from "../engine/router_metrics.js";
import { LOST } from "./engine_client.js";

/** A job could not be done; why, in words. */
export class LabProblem extends Error {}

/** Problems that a worker has at a time, those that it writes together and some more. @type {Record<string, number>} */
const AHEAD = { label: 6, measure: 32 };
/** Labelled problems that are written to correct the taus. */
const N_CORRECTING = 24;

/** What workers say of one job, as it comes. */
class JobNews {
  /** @type {any[]} */
  #told = [];
  #wake = () => {};
  /** @type {string|null} */
  error = null;

  /** @param {number} nWorkers that have not ended it */
  constructor(nWorkers) {
    this.nOpen = nWorkers;
  }

  /** @param {any} value */
  tell(value) {
    this.#told.push(value);
    this.#wake();
  }

  /** A worker has ended it. @param {string|null} error */
  over(error) {
    this.nOpen--;
    this.error ??= error;
    this.#wake();
  }

  /** @param {AbortSignal} [signal] @throws {LabProblem} */
  async *each(signal) {
    for (;;) {
      while (this.#told.length && !signal?.aborted) yield this.#told.shift();
      if (signal?.aborted) return;
      if (this.error !== null) throw new LabProblem(this.error);
      if (this.nOpen === 0) return;
      await new Promise((/** @type {(value: void) => void} */ resolve) => {
        this.#wake = resolve;
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }
}

export class LabClient {
  why = "";
  /** @type {Worker[]} */
  #workers = [];
  /** @type {Map<number, {news: JobNews, take: (worker: Worker, value: any) => void}>} */
  #jobs = new Map();
  #nJobs = 0;
  /** @type {Promise<boolean>|null} */
  #loading = null;

  /**
   * @param {PairFacts} facts
   * @param {{hardware: string, makeWorker?: (url: string) => Worker, nWorkers?: number}} how
   */
  constructor(facts, { hardware, makeWorker = (url) => new Worker(url), nWorkers = 1 }) {
    this.facts = facts;
    this.hardware = hardware;
    this.makeWorker = makeWorker;
    this.nWorkers = nWorkers;
  }

  /** Loads the pair into all workers, if it is not there; what failed is tried again. @returns {Promise<boolean>} */
  load() {
    this.#loading ??= Promise.all(Array.from({ length: this.nWorkers }, () => this.#loadOne())).then((workers) => {
      this.#workers = workers.filter((worker) => worker !== null);
      if (!this.#workers.length) this.#loading = null;
      return this.#workers.length > 0;
    });
    return this.#loading;
  }

  /** @returns {Promise<Worker|null>} */
  #loadOne() {
    return new Promise((resolve) => {
      const fail = (/** @type {string} */ why) => {
        this.why = why;
        resolve(null);
      };
      /** @type {Worker} */
      let worker;
      try {
        worker = this.makeWorker(this.facts.lab_script);
      } catch (error) {
        fail(error instanceof Error ? error.message : String(error));
        return;
      }
      worker.onmessage = ({ data }) => {
        const reply = /** @type {LabReply} */ (data);
        if (reply.kind === "ready") resolve(worker);
        else if (reply.kind === "failed") this.#lose(worker, reply.error, fail);
        else this.#take(worker, reply);
      };
      worker.onerror = () => this.#lose(worker, LOST, fail);
      const { root, version, packed } = this.facts;
      const { hardware } = this;
      post(worker, { kind: "load", root, version, hardware, ...(packed ? { packed } : {}) });
    });
  }

  /** @param {Worker} worker @param {string} why @param {(why: string) => void} fail */
  #lose(worker, why, fail) {
    worker.terminate();
    const wasHere = this.#workers.includes(worker);
    this.#workers = this.#workers.filter((other) => other !== worker);
    if (wasHere) for (const { news } of this.#jobs.values()) news.over(why);
    if (!this.#workers.length) this.#loading = null;
    fail(why);
  }

  /** @param {Worker} worker @param {LabReply} reply */
  #take(worker, reply) {
    if (reply.kind !== "news" && reply.kind !== "over") return; // a worker of another version
    const job = this.#jobs.get(reply.job);
    if (reply.kind === "over") job?.news.over(reply.error);
    else job?.take(worker, reply.value);
  }

  /**
   * One job of some workers, among which the items are handed out as they work them off.
   * @param {import("../engine/protocol.js").LabBegin["what"]} what @param {any} asked
   * @param {LabItem[]} items @param {Worker[]} workers @param {AbortSignal} [signal] ends it early
   * @returns {AsyncGenerator<any>} what they tell
   * @throws {LabProblem}
   */
  async *#work(what, asked, items, workers, signal) {
    if (!workers.length) throw new LabProblem(this.why || LOST);
    if (signal?.aborted) return;
    const job = ++this.#nJobs;
    const left = items.slice();
    const news = new JobNews(workers.length);
    this.#jobs.set(job, {
      news,
      take: (worker, value) => {
        news.tell(value);
        if (!left.length) return;
        const [next] = left.splice(0, 1);
        const isWhole = left.length === 0;
        for (const one of isWhole ? workers : [worker]) {
          post(one, { kind: "more", job, items: one === worker ? [next] : [], isWhole });
        }
      },
    });
    const share = Math.min(AHEAD[what] ?? 0, Math.ceil(left.length / workers.length));
    const first = workers.map((worker) => ({ worker, own: left.splice(0, share) }));
    for (const { worker, own } of first) {
      post(worker, { kind: "begin", job, what, asked, items: own, isWhole: left.length === 0 });
    }
    try {
      yield* news.each(signal);
    } finally {
      this.#jobs.delete(job);
      if (news.nOpen) for (const worker of workers) post(worker, { kind: "cancel", job });
    }
  }

  /**
   * Labels problems on all workers.
   * @param {Problem[]} problems @param {{truth: string, rule: string}} how of `TRUTHS` and `RULES`
   * @param {AbortSignal} [signal] ends it early
   * @returns {AsyncGenerator<Labelled>} as they are done
   * @throws {LabProblem}
   */
  async *label(problems, how, signal) {
    for await (const labelled of this.#work("label", how, itemsOf(problems), this.#workers, signal)) {
      yield { ...labelled, problem: problems[labelled.index] };
    }
  }

  /**
   * Trains a router on one worker.
   * @param {Labelled[]} labelled @param {{network: string, seed: number}} how `network` of `WIDTHS`
   * @param {AbortSignal} [signal] ends it early
   * @returns {AsyncGenerator<Pass|Trained>} the last one is the trained router
   * @throws {LabProblem}
   */
  async *train(labelled, how, signal) {
    yield* this.#work("train", { ...how, labelled }, [], this.#workers.slice(0, 1), signal);
  }

  /**
   * Measures a router on unseen problems, at the tau for each share of LLM tokens.
   * @param {Uint8Array|string} router a file of `train`, or a name
   * @param {{labelled: Labelled[], problems: Problem[], shares: number[]}} on taus come from the labelled ones alone
   * @param {AbortSignal} [signal] ends it early
   * @returns {AsyncGenerator<{taus: number[]}|Measured>} the taus first, then problems as they are done
   * @throws {LabProblem}
   */
  async *measure(router, { labelled, problems, shares }, signal) {
    const taus = await this.#taus(router, labelled, shares, signal);
    if (signal?.aborted) return;
    yield { taus };
    yield* this.#work("measure", { router, taus }, itemsOf(problems), this.#workers, signal);
  }

  /**
   * By the labelled texts; then once more by what is written at these.
   * @param {Uint8Array|string} router @param {Labelled[]} labelled @param {number[]} shares
   * @param {AbortSignal} [signal]
   * @returns {Promise<number[]>}
   */
  async #taus(router, labelled, shares, signal) {
    /** @type {number[]} */
    let taus = [];
    const byTexts = { router, labelled, shares };
    for await (const found of this.#work("taus", byTexts, [], this.#workers.slice(0, 1), signal)) taus = found;
    const some = itemsOf(labelled.slice(0, N_CORRECTING).map(({ problem }) => problem));
    const asked = { router, taus, withConfidences: true };
    /** @type {number[][][]} */
    const seen = [];
    for await (const one of this.#work("measure", asked, some, this.#workers, signal)) seen.push(one.confidences);
    return shares.map((share, k) =>
      tauFor(
        share,
        seen.map((confidences) => confidences[k]),
      ),
    );
  }

  /**
   * Writes one problem.
   * @param {Uint8Array|string} router a file of `train`, or a name @param {Problem} problem @param {number} tau
   * @returns {Promise<import("../engine/lab_desk.js").WrittenText>}
   * @throws {LabProblem}
   */
  async write(router, problem, tau) {
    for await (const text of this.#work("write", { router, problem, tau }, [], this.#workers.slice(-1))) return text;
    throw new LabProblem(this.why || LOST);
  }

  /** Ends all workers. */
  end() {
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
    this.#loading = null;
    for (const { news } of this.#jobs.values()) news.over("The Lab was closed.");
  }
}

/** @param {Worker} worker @param {LabOrder} order */
const post = (worker, order) => worker.postMessage(order);

/** @param {Problem[]} problems @returns {LabItem[]} */
const itemsOf = (problems) => problems.map((problem, index) => ({ index, problem }));
