/**
 * The receiving end of the streaming protocol: puts messages in order, drops duplicates, repairs gaps by asking.
 *
 * Must not know the DOM or what a token means. viewer.js gives it callbacks; `fetchRun` is the page's way to the
 * server.
 *
 * @typedef {Object} StreamMessage
 * @property {string} run unguessable id
 * @property {TraceHead|null} [head] the trace JSON without events; only in the first message of a run
 * @property {number} base index of the first of `tokens`
 * @property {TokenEvent[]} tokens
 * @property {RunEnd|null} [end]
 */

const RETRY_MS = [300, 1000, 3000];
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Is this of the form that the server writes? Whatever came between may have cut or changed it.
 * @param {unknown} message
 * @returns {message is StreamMessage}
 */
function isMessage(message) {
  return (
    isRecord(message) &&
    typeof message.run === "string" &&
    typeof message.base === "number" &&
    Number.isInteger(message.base) &&
    message.base >= 0 &&
    Array.isArray(message.tokens) &&
    !message.tokens.some((token) => token === null || token === undefined) &&
    [message.head, message.end].every((part) => part === null || part === undefined || isRecord(part))
  );
}

export class RunReceiver {
  /**
   * @param {Object} on
   * @param {(run: string, base: number) => Promise<unknown>} on.fetchRun
   * @param {(head: TraceHead) => void} on.start a new run begins
   * @param {(tokens: TokenEvent[]) => void} on.append the next tokens, in order
   * @param {(end: RunEnd) => void} on.end
   * @param {(error: Error) => void} on.lost a gap could not be repaired
   */
  constructor(on, retryMs = RETRY_MS) {
    this.on = on;
    this.retryMs = retryMs;
    /** @type {string|null} */
    this.run = null;
    this.n = 0;
    this.started = false;
    this.ended = false;
    /** @type {Set<string>} runs that were replaced: a late message of theirs must not bring them back */
    this.retired = new Set();
    /** @type {StreamMessage[]} messages that wait for a repair */
    this.waiting = [];
    this.repairing = false;
  }

  /** Forgets the current run, for instance because a recorded one is shown instead. */
  retire() {
    if (this.run !== null) this.retired.add(this.run);
    this.run = null;
    this.n = 0;
    this.started = false;
    this.ended = false;
    this.waiting = [];
    this.repairing = false;
  }

  /** @param {unknown} message what is no message of a run is passed over */
  receive(message) {
    if (!isMessage(message) || this.retired.has(message.run)) return;
    if (message.run !== this.run) {
      this.retire();
      this.run = message.run;
    }
    if (this.repairing) {
      this.waiting.push(message);
      return;
    }
    if (!this.#apply(message)) {
      this.waiting.push(message);
      this.#repair();
    }
  }

  /**
   * Takes what is new in a message.
   * @param {StreamMessage} message
   * @returns {boolean} false where something before it is missing
   */
  #apply(message) {
    if (!this.started) {
      if (!message.head) return false;
      this.started = true;
      this.on.start(message.head);
    }
    if (message.base > this.n) return false;
    const fresh = message.tokens.slice(this.n - message.base);
    if (fresh.length) {
      this.n += fresh.length;
      this.on.append(fresh);
    }
    if (message.end && !this.ended && message.base + message.tokens.length >= this.n) {
      this.ended = true;
      this.on.end(message.end);
    }
    return true;
  }

  async #repair() {
    const { run } = this;
    if (run === null) return;
    this.repairing = true;
    let failure = new Error("The server did not send the missing tokens.");
    for (let attempt = 0; this.run === run && attempt <= this.retryMs.length; attempt++) {
      if (attempt > 0) await sleep(this.retryMs[attempt - 1]);
      if (this.run !== run) return;
      try {
        const message = await this.on.fetchRun(run, this.started ? this.n : 0);
        if (this.run !== run) return;
        if (isMessage(message) && message.run === run) this.#apply(message);
        if (this.#drain()) {
          this.repairing = false;
          return;
        }
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
      }
    }
    if (this.run !== run) return;
    // The next message tries again; what waits now would only repeat the same gap.
    this.repairing = false;
    this.waiting = [];
    this.on.lost(failure);
  }

  /** Applies what waited, oldest first. @returns {boolean} whether nothing is missing any more */
  #drain() {
    while (this.waiting.length) {
      if (!this.#apply(this.waiting[0])) return false;
      this.waiting.shift();
    }
    return this.started;
  }
}
