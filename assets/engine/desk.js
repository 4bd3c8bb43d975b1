/**
 * Takes requests and decodes them one after another, in slices between which it listens.
 *
 * A new run ends the one before it: of a slider's positions the last one wins. Probes wait for their turn. Knows
 * neither workers nor files: `serve.js` gives it a loaded pair and a way to answer.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./protocol.js").RunRequest} RunRequest
 * @typedef {import("./protocol.js").EngineReply} EngineReply
 * @typedef {import("./protocol.js").StartRequest} StartRequest
 * @typedef {import("./protocol.js").MoveRequest} MoveRequest
 * @typedef {import("./protocol.js").ProbeOrder | import("./protocol.js").AskOrder} Question about a run
 * @typedef {{id: string, request: RunRequest, events: TokenEvent[], isMove: boolean}} KeptRun what a later
 *   move of the dials can begin with; `isMove` where one wrote it
 */

import { doubtOf, isForced, settle } from "../run/decision.js";
import { ANSWERS } from "./answers.js";
import { NotANumberProblem, decode, roomBehind } from "./decode.js";
import { RequestProblem, asOurs, checkFork, chosenByHand, isSameButForDials, sharedUnder } from "./fork.js";
import { probe } from "./probe.js";
import { labelRun } from "./run_labels.js";
import { ModelFileProblem } from "./safetensors.js";
import { readSettings, traceHead } from "./trace_head.js";

export const SLICE_MS = 8;
const MOST_KEPT = 4; // runs over which the dials may move
const MOST_MOVES = 64; // texts that a slider wrote: whichever of them is the same for longest is gone on from
/** Gives other tasks, such as messages that have come, their turn. */
export function pause() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(null);
  });
}

/**
 * Takes all steps, and listens between them.
 * @template T, R
 * @param {Generator<T, R, void>} steps
 * @param {(value: T) => void} [take]
 * @returns {Promise<R>} what they end with
 */
async function inSlices(steps, take = () => {}) {
  for (let sliceEnd = performance.now() + SLICE_MS; ;) {
    const step = steps.next();
    if (step.done) return step.value;
    take(step.value);
    if (performance.now() < sliceEnd) continue;
    await pause();
    sliceEnd = performance.now() + SLICE_MS;
  }
}

/** @param {unknown} error @returns {string} for a person */
export function inWordsFor(error) {
  const isOurs = [RequestProblem, NotANumberProblem, ModelFileProblem].some((kind) => error instanceof kind);
  const said = error instanceof Error ? error.message : String(error);
  return isOurs ? said : `The browser could not go on (${said.slice(0, 200)}). Load the page again.`;
}

export class Desk {
  /**
   * @param {BrowserPair} pair
   * @param {(reply: EngineReply) => void} post
   * @param {{version: string, hardware: string}} maker for traces
   */
  constructor(pair, post, maker) {
    this.pair = pair;
    this.post = post;
    this.maker = maker;
    /** @type {(StartRequest|MoveRequest|Question)[]} */
    this.waiting = [];
    /** @type {Set<string>} */
    this.cancelled = new Set();
    /** @type {KeptRun[]} the latest last */
    this.kept = [];
    /** @type {string|null} */
    this.current = null;
    this.isBusy = false;
  }

  /** @param {StartRequest|MoveRequest|Question} order */
  take(order) {
    if ("run" in order) this.#cancelRuns();
    this.waiting.push(order);
    if (!this.isBusy) this.#work();
  }

  /** Takes a run that others wrote. @param {import("./protocol.js").KnownRun} run */
  know({ run, request, events }) {
    this.#keep({ id: run, request, events, isMove: false });
  }

  /** @param {KeptRun} run */
  #keep(run) {
    const others = this.kept.filter(({ id }) => id !== run.id);
    const moves = others.filter(({ isMove }) => isMove);
    this.kept = [...others.filter(({ isMove }) => !isMove).slice(-MOST_KEPT), ...moves.slice(1 - MOST_MOVES), run];
  }

  /** Ends a run, whether it waits or is being written. @param {string} run */
  cancel(run) {
    if (this.current === run || this.waiting.some((order) => "run" in order && order.run === run)) {
      this.cancelled.add(run);
    }
  }

  #cancelRuns() {
    if (this.current !== null) this.cancelled.add(this.current);
    for (const order of this.waiting) if ("run" in order) this.cancelled.add(order.run);
  }

  async #work() {
    this.isBusy = true;
    for (let order = this.waiting.shift(); order; order = this.waiting.shift()) {
      await ("run" in order ? this.#run(order) : this.#answer(order));
    }
    this.isBusy = false;
  }

  /** @param {StartRequest|MoveRequest} order */
  async #run(order) {
    const { run } = order;
    this.current = run;
    /** @type {RunEnd} */
    let end = { finish_reason: "cancelled", answer: null, error: null };
    const told = { n: 0 };
    try {
      if (!this.cancelled.has(run)) {
        const request = order.kind === "move" ? await this.#moved(order) : order.request;
        end = { ...end, finish_reason: await this.#decode(order, request, told) };
      }
    } catch (error) {
      end = { ...end, finish_reason: "error", error: inWordsFor(error) };
    }
    this.current = null;
    this.cancelled.delete(run);
    this.post({ kind: "run", run, base: told.n, tokens: [], end });
  }

  /** What a known run would be asked as under other dials. @param {MoveRequest} order @returns {Promise<RunRequest>} */
  async #moved({ base, dials }) {
    const run = this.kept.find(({ id }) => id === base);
    if (!run) throw new RequestProblem("The run to write again is not known here any more: generate it first.");
    const { slmPrior } = await this.pair.router(run.request.router);
    const doubt = (/** @type {number} */ confidence) => doubtOf(confidence, slmPrior);
    const [events] = this.kept
      .filter((kept) => isSameButForDials(kept.request, run.request))
      .map((kept) => sharedUnder(kept.events, kept.request.settings, dials, doubt))
      // What a person chose in another branch is not what was chosen in this one.
      .filter((shared) => shared.every((event, i) => chosenByHand(event) === chosenByHand(run.events[i])))
      .sort((a, b) => b.length - a.length);
    const { parent } = run.request;
    // The last token is written again, so that it is known why the run ended; by hand, if that is how it came.
    const last = events.at(-1);
    const isForcedLast = last !== undefined && isForced(last);
    return {
      ...run.request,
      settings: { ...run.request.settings, ...dials },
      fork: {
        events: events.slice(0, -1),
        source: isForcedLast ? last.source : null,
        tokenId: isForcedLast ? last.token_id : null,
      },
      parent: parent && events.length > parent.fork ? parent : null,
    };
  }

  /**
   * @param {StartRequest|MoveRequest} order @param {RunRequest} asked @param {{n: number}} told tokens that were posted
   * @returns {Promise<FinishReason>}
   */
  async #decode({ run, kind }, asked, told) {
    const { pair } = this;
    const request = { ...asked, settings: readSettings(asked.settings) };
    const router = await pair.router(request.router);
    const promptIds = pair.tokenizer.encode(request.prompt.text);
    const nSteps = Math.min(request.settings.max_new_tokens, roomBehind(pair, promptIds));
    if (request.fork) checkFork(request.fork, pair.vocabSize, pair.endIds, nSteps);
    const shared = asOurs(request.fork?.events ?? [], promptIds.length, pair.tokenizer);
    const fork = request.fork ? { ...request.fork, events: shared } : null;
    /** @type {KeptRun} */
    const kept = { id: run, request, events: shared.slice(), isMove: kind === "move" };
    this.#keep(kept);
    /** @type {TraceHead|undefined} */
    let head = traceHead(pair, router, request, promptIds.length, this.maker);
    const news = shared.slice();
    const tell = () => {
      this.post({ kind: "run", run, ...(head ? { head } : {}), base: told.n, tokens: [...news] });
      head = undefined;
      told.n += news.splice(0).length;
    };
    const steps = decode(pair, router, promptIds, request.settings, fork);
    for (let sliceEnd = performance.now() + SLICE_MS; ;) {
      let step;
      try {
        step = steps.next();
      } catch (error) {
        tell(); // what was written until then
        throw error;
      }
      if (step.done) {
        tell();
        return step.value;
      }
      settle(kept.events, [step.value]);
      news.push(step.value);
      if (performance.now() < sliceEnd) continue;
      if (kind !== "move") tell(); // a text under moved dials is shown when it is whole
      await pause();
      if (this.cancelled.has(run)) return "cancelled";
      sliceEnd = performance.now() + SLICE_MS;
    }
  }

  /** @param {Question} order */
  async #answer(order) {
    const [{ kind, probe: id }, { pair }] = [order, this];
    /** @type {ProbedToken[]} */
    const tokens = [];
    try {
      if (order.kind === "ask") {
        return this.post({ kind: "ask", probe: id, answer: await ANSWERS[order.what](pair, order.asked), error: null });
      }
      const { text, tokenIds, solution = null } = order;
      const promptIds = pair.tokenizer.encode(text);
      await inSlices(probe(pair, promptIds, tokenIds), (token) => tokens.push(token));
      const cases = solution === null ? null : await inSlices(labelRun(pair, promptIds, tokenIds, tokens, solution));
      this.post({ kind: "probe", probe: id, tokens, cases, error: null });
    } catch (error) {
      this.post({ kind, probe: id, tokens: [], answer: null, error: inWordsFor(error) });
    }
  }
}
