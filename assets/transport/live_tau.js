/**
 * A finished run under a moving tau: written again at where tau stands, the last position first.
 *
 * While tau moves on, a run that is nearly done may end and is shown; one that takes longer makes way. Texts that were
 * written once are kept, so the way back costs nothing. Must not know the page or the viewer.
 *
 * @typedef {import("./engine_client.js").EngineClient} EngineClient
 * @typedef {Object} LiveOptions
 * @property {(trace: Trace) => void} onText the run at a tau that was asked for
 * @property {(why: string) => void} onRefused this run cannot be written again here
 * @property {(completion: string, origin: Trace) => Answer|null} judge
 */

import { traceKey } from "../run/branch_diff.js";
import { settle } from "../run/decision.js";

const MAKES_WAY_AFTER_MS = 120;
const MOST_KEPT_TEXTS = 100;

export class LiveTau {
  /** @type {Trace|null} */
  origin = null;
  base = "";
  /** @type {Map<number, Trace>} */
  texts = new Map();
  /** @type {number|null} where tau stands, while that is not written yet */
  wanted = null;
  /** @type {{run: string, tau: number, startedAt: number, isEnding: boolean}|null} */
  writing = null;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  timer;
  /** @type {WeakSet<Trace>} */
  refused = new WeakSet();

  /** @param {EngineClient} client @param {LiveOptions} on @param {() => number} [now] */
  constructor(client, on, now = () => performance.now()) {
    this.client = client;
    this.on = on;
    this.now = now;
  }

  /** Whether a text is on its way. */
  get isBusy() {
    return this.wanted !== null || this.writing !== null;
  }

  /**
   * Tau stands somewhere else than where the run was written.
   * @param {Trace} origin the same object for as long as it is the same run
   * @param {number} tau
   * @returns {boolean} whether its text is there or will come
   */
  move(origin, tau) {
    if (this.refused.has(origin)) return false;
    if (origin !== this.origin) this.#begin(origin);
    const text = this.texts.get(tau);
    if (text) {
      this.rest();
      this.on.onText(text);
      return true;
    }
    if (this.writing?.tau === tau && !this.writing.isEnding) {
      this.wanted = null; // a page may say the same twice
      clearTimeout(this.timer);
      return true;
    }
    this.wanted = tau;
    if (!this.writing) this.#write();
    else this.#makeWayLater();
    return true;
  }

  /** Tau is back, or another run on its way: what is being written need not be. */
  rest() {
    this.wanted = null;
    clearTimeout(this.timer);
    this.#cancel();
  }

  #cancel() {
    if (!this.writing) return;
    this.writing.isEnding = true;
    this.client.cancel(this.writing.run);
  }

  /** @param {Trace} origin */
  #begin(origin) {
    this.rest();
    this.origin = origin;
    this.texts.clear();
    const { router, settings, prompt, parent } = origin;
    const { data_type, question, text, version = 0 } = prompt;
    this.base = this.client.know(
      { router: router.name, settings, prompt: { data_type, question, text, version }, parent: parent ?? null },
      origin.events,
    );
  }

  #makeWayLater() {
    clearTimeout(this.timer);
    const { writing } = this;
    if (!writing) return;
    const rest = MAKES_WAY_AFTER_MS - (this.now() - writing.startedAt);
    this.timer = setTimeout(() => this.writing === writing && this.#cancel(), Math.max(0, rest));
  }

  #write() {
    const { wanted: tau, origin } = this;
    if (tau === null || !origin) return;
    this.wanted = null;
    /** @type {TraceHead|undefined} */
    let head;
    /** @type {TokenEvent[]} */
    const events = [];
    const run = this.client.atTau(this.base, tau, (reply) => {
      head ??= reply.head;
      settle(events, reply.tokens);
      if (reply.end) this.#ended(origin, tau, head, events, reply.end);
    });
    this.writing = { run, tau, startedAt: this.now(), isEnding: false };
  }

  /**
   * @param {Trace} origin @param {number} tau @param {TraceHead|undefined} head @param {TokenEvent[]} events
   * @param {RunEnd} end
   */
  #ended(origin, tau, head, events, end) {
    this.writing = null;
    clearTimeout(this.timer);
    if (origin === this.origin) {
      if (end.error !== null || (head && !isSameRouter(head, origin))) {
        this.wanted = null;
        this.refused.add(origin);
        this.on.onRefused(end.error ?? "It was written by another edition of this router.");
        return;
      }
      const isWhole = end.finish_reason === "eos" || end.finish_reason === "length";
      if (head && isWhole) this.#keep(origin, tau, { ...head, events, finish_reason: end.finish_reason });
    }
    this.#write();
  }

  /** @param {Trace} origin @param {number} tau @param {Trace} text */
  #keep(origin, tau, text) {
    const completion = text.events.map((event) => event.text).join("");
    const trace = {
      ...text,
      answer: this.on.judge(completion, origin),
      title: origin.title ?? "",
      parent: { key: traceKey(origin), fork: sameEvents(origin.events, text.events) },
    };
    if (this.texts.size >= MOST_KEPT_TEXTS) this.texts.clear();
    this.texts.set(tau, trace);
    this.on.onText(trace);
  }
}

/** A run of another edition of a router has other confidences. @param {TraceHead} head @param {Trace} origin */
const isSameRouter = (head, origin) =>
  !origin.router.revision || !head.router.revision || head.router.revision === origin.router.revision;

/** How many tokens two runs share, by the same writers. @param {TokenEvent[]} a @param {TokenEvent[]} b */
function sameEvents(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n].token_id === b[n].token_id && a[n].source === b[n].source) n++;
  return n;
}
