/**
 * A finished run under moving dials: written again at where they stand, the last position first.
 *
 * While they move on, a run that is nearly done may end and is shown; one that takes longer makes way. Texts that were
 * written once are kept, so the way back costs nothing. Must not know the page or the viewer.
 *
 * @typedef {import("./engine_client.js").EngineClient} EngineClient
 * @typedef {Object} LiveOptions
 * @property {(trace: Trace) => void} onText the run at dials that were asked for
 * @property {(why: string) => void} onRefused this run cannot be written again here
 * @property {(completion: string, origin: Trace) => Answer|null} judge
 */

import { traceKey } from "../run/branch_diff.js";
import { settle } from "../run/decision.js";
import { dialsOf } from "../run/dials.js";

const MAKES_WAY_AFTER_MS = 120;
const MOST_KEPT_TEXTS = 100;

/** @param {Dials} dials */
const standingAt = (dials) => JSON.stringify(dialsOf(dials));

export class LiveDials {
  /** @type {Trace|null} */
  origin = null;
  base = "";
  /** @type {Map<string, Trace>} by where the dials stood */
  texts = new Map();
  /** @type {Dials|null} where they stand, while that is not written yet */
  wanted = null;
  /** @type {{run: string, place: string, startedAt: number, isEnding: boolean}|null} */
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
    return this.wanted !== null || (this.writing !== null && !this.writing.isEnding);
  }

  /**
   * The dials stand somewhere else than where the run was written.
   * @param {Trace} origin the same object for as long as it is the same run
   * @param {Dials} dials
   * @returns {boolean} whether its text is there or will come
   */
  move(origin, dials) {
    if (this.refused.has(origin)) return false;
    if (origin !== this.origin) this.#begin(origin);
    const place = standingAt(dials);
    const text = this.texts.get(place);
    if (text) {
      this.rest();
      this.on.onText(text);
      return true;
    }
    if (this.writing?.place === place && !this.writing.isEnding) {
      this.wanted = null; // a page may say the same twice
      clearTimeout(this.timer);
      return true;
    }
    this.wanted = dials;
    if (!this.writing) this.#write();
    else this.#makeWayLater();
    return true;
  }

  /** The dials are back, or another run on its way: what is being written need not be. */
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
    const { wanted: dials, origin } = this;
    if (dials === null || !origin) return;
    const place = standingAt(dials);
    this.wanted = null;
    /** @type {TraceHead|undefined} */
    let head;
    /** @type {TokenEvent[]} */
    const events = [];
    const run = this.client.move(this.base, dials, (reply) => {
      head ??= reply.head;
      settle(events, reply.tokens);
      if (reply.end) this.#ended(origin, place, head, events, reply.end);
    });
    this.writing = { run, place, startedAt: this.now(), isEnding: false };
  }

  /**
   * @param {Trace} origin @param {string} place @param {TraceHead|undefined} head @param {TokenEvent[]} events
   * @param {RunEnd} end
   */
  #ended(origin, place, head, events, end) {
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
      if (head && isWhole) this.#keep(origin, place, { ...head, events, finish_reason: end.finish_reason });
    }
    this.#write();
  }

  /** @param {Trace} origin @param {string} place @param {Trace} text */
  #keep(origin, place, text) {
    const completion = text.events.map((event) => event.text).join("");
    const trace = {
      ...text,
      answer: this.on.judge(completion, origin),
      title: origin.title ?? "",
      parent: { key: traceKey(origin), fork: sameEvents(origin.events, text.events) },
    };
    if (this.texts.size >= MOST_KEPT_TEXTS) this.texts.clear();
    this.texts.set(place, trace);
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
