/**
 * A live comparison of the bundled pair in this browser: one way after another, as the messages that a server gives
 * (`citer_core/ui/compare.py`); without speculative decoding, which the browser's engine has not.
 *
 * Must not know the document. A comparison and a run of Explore share one decoder: the later one ends the other.
 *
 * @typedef {import("../transport/engine_client.js").EngineClient} EngineClient
 * @typedef {import("../compare/compare.js").CompareMessage} CompareMessage
 * @typedef {import("../compare/ways.js").AskedComparison} AskedComparison
 * @typedef {import("../engine/protocol.js").RunRequest} RunRequest
 * @typedef {import("../tasks/book.js").ProblemBook} ProblemBook
 */

import { COMPARISON_SCHEMA, COMPARISON_VERSION } from "../run/comparison_schema.js";
import { settle, writerAlone } from "../run/decision.js";
import { messageOf } from "../run/format.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";
import { checkAnswer } from "../tasks/answers.js";
import { ProblemError, promptVersion } from "../tasks/problems.js";

const TOLD_EVERY_MS = 100;
const DEFAULTS = Object.fromEntries(Object.entries(SETTINGS_TABLE).map(([name, row]) => [name, row.default]));
const NO_WAY = "Give at least one router, with a τ above 0 and below 1, or looks: the models alone are there anyway.";
let nAsked = 0;
const ENDED = "Stopped: what was written until then is shown.";

/**
 * All messages of one comparison.
 * @param {EngineClient} client that has the pair
 * @param {ProblemBook} book
 * @param {AskedComparison} asked
 * @param {AbortSignal} signal ends it at the next token
 * @returns {AsyncGenerator<CompareMessage>}
 */
export async function* comparedHere(client, book, asked, signal) {
  /** @type {CompareMessage[]} */
  const told = [];
  let wake = () => {};
  let isOver = false;
  const comparison = new BrowserComparison(client, book, (message) => {
    told.push(message);
    wake();
  });
  signal.addEventListener("abort", () => comparison.stop());
  comparison.ask(asked).finally(() => {
    isOver = true;
    wake();
  });
  for (;;) {
    yield* told.splice(0);
    if (isOver && !told.length) return;
    if (!told.length) await new Promise((/** @type {(value: void) => void} */ resolve) => (wake = resolve));
  }
}

class BrowserComparison {
  /** @type {string|null} the run that is being written */
  run = null;

  /**
   * @param {EngineClient} client
   * @param {ProblemBook} book
   * @param {(message: CompareMessage) => void} tell
   */
  constructor(client, book, tell) {
    this.client = client;
    this.book = book;
    this.tell = tell;
  }

  /** Ends at the next token. */
  stop() {
    if (this.run !== null) this.client.cancel(this.run);
  }

  /** @param {AskedComparison} asked @returns {Promise<void>} when all ways are written, or one could not be */
  async ask(asked) {
    const number = ++nAsked;
    try {
      const problem = this.book.problem(asked.question, asked.data_type);
      const { data_type, question, prompt: text } = problem;
      const prompt = { data_type, question, text, version: promptVersion(data_type) };
      const ways = waysOf(asked).map(({ router, ...own }) => {
        const settings = { ...DEFAULTS, ...asked.settings, ...own };
        return { router, settings: /** @type {Settings} */ (settings), prompt };
      });
      /** @type {Trace[]} */
      let runs = [];
      for (const [column, request] of ways.entries()) {
        const run = await this.#write(request, number, column, (head) => {
          if (column === 0) this.#document((runs = ways.map((way) => begunAs(head, way))), asked, false, number);
        });
        runs[column] = { ...run, answer: checkAnswer(run.events.map((event) => event.text).join(""), problem) };
      }
      this.#document(runs, asked, true, number);
    } catch (error) {
      const isOurs = error instanceof ProblemError;
      this.tell({ notice: isOurs ? error.message : `This comparison ended (${messageOf(error)}).`, level: "error" });
    }
  }

  /**
   * @param {Trace[]} runs @param {AskedComparison} asked @param {boolean} isDone @param {number} number
   */
  #document(runs, { data_type: subtitle }, isDone, number) {
    const about = { schema: COMPARISON_SCHEMA, schema_version: COMPARISON_VERSION, title: "Live", subtitle };
    this.tell({ comparison: number, document: { ...about, runs, speculative: null }, is_done: isDone });
  }

  /**
   * One way; its tokens are told as they come.
   * @param {RunRequest} request @param {number} number @param {number} column
   * @param {(head: TraceHead) => void} onHead before any token is told
   * @returns {Promise<Trace>}
   */
  #write(request, number, column, onHead) {
    return new Promise((resolve, reject) => {
      /** @type {TraceHead|undefined} */
      let head;
      /** @type {TokenEvent[]} */
      const events = [];
      let nTold = 0;
      let toldAt = performance.now();
      this.run = this.client.start(request, (reply) => {
        if (reply.head) onHead((head = reply.head));
        settle(events, reply.tokens);
        const { end } = reply;
        // A column takes nothing back: it is told what the LLM has read.
        const isFinal = end || !request.settings.take_back;
        const nFinal = isFinal ? events.length : events.findLastIndex((event) => event.llm_tokens_fed > 0) + 1;
        if (nFinal > nTold && (end || performance.now() - toldAt >= TOLD_EVERY_MS)) {
          this.tell({ comparison: number, columns: [{ column, base: nTold, items: events.slice(nTold, nFinal) }] });
          nTold = nFinal;
          toldAt = performance.now();
        }
        if (!end) return;
        this.run = null;
        if (end.error !== null) reject(new ProblemError(end.error));
        else if (!head || end.finish_reason === "cancelled") reject(new ProblemError(ENDED));
        else resolve({ ...head, events, finish_reason: end.finish_reason });
      });
    });
  }
}

/** The SLM alone, each router, the LLM alone; which router looks on at both ends does not matter. */
function waysOf(/** @type {AskedComparison} */ { routers }) {
  if (!routers.length || routers.some((way) => !(way.threshold >= 0) || writerAlone(way)))
    throw new ProblemError(NO_WAY);
  const [{ router }] = routers;
  return [{ router, threshold: 0 }, ...routers, { router, threshold: 1 }];
}

/** A way before its first token, after what the first one's trace says of the pair. @returns {Trace} */
function begunAs(/** @type {TraceHead} */ head, /** @type {RunRequest} */ { router: name, settings }) {
  const router = name === head.router.name ? head.router : { ...head.router, name, revision: "", n_params: 0 };
  return { ...head, router, settings, events: [], finish_reason: null };
}
