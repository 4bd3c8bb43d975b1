/**
 * The way to the server: what a page asks, and messages back, for as long as it reads them (`citer_core/ui/asking.py`).
 *
 * A transport is `{offers, ask}`: the names that it answers to, and a stream of messages. Others are files (`files.js`)
 * and this browser's own engine (`browser_comparison.js`, `../app/page_browser.js`). Must not know what is asked.
 *
 * @typedef {Object} Transport
 * @property {ReadonlySet<string>} offers
 * @property {(what: string, asked?: unknown, signal?: AbortSignal) => AsyncGenerator<any>} ask
 */

const TAB = "X-Citer-Tab";
const ROOT = "citer/ask/";

/** What a server says where it takes no more, or is none of ours. */
export class RefusedError extends Error {}

/** @implements {Transport} */
export class ServerTransport {
  /** @param {Iterable<string>} offers names that the server answers to @param {string} base address of the page */
  constructor(offers, base) {
    this.offers = new Set(offers);
    this.base = base;
    // Of this page alone: who asks is treated fairly by it, and may go on with what it was answered.
    this.tab = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join("");
  }

  /**
   * @param {string} what @param {unknown} [asked] @param {AbortSignal} [signal] ends it
   * @returns {AsyncGenerator<any>}
   * @throws {Error} the server was not reached, or the connection ended early
   */
  async *ask(what, asked = null, signal = undefined) {
    const response = await fetch(new URL(ROOT + what, this.base), {
      method: "POST",
      headers: { "Content-Type": "application/json", [TAB]: this.tab },
      body: JSON.stringify(asked),
      signal,
    });
    if (!response.ok || !response.body) throw new RefusedError(await whyRefused(response));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        const lines = (rest + (value ?? "")).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line);
        if (done) return;
      }
    } finally {
      reader.cancel().catch(() => {}); // a reader that stops closes the answer
    }
  }
}

/** @param {Response} response */
async function whyRefused(response) {
  try {
    return String((await response.json()).detail);
  } catch {
    return `The server answered with status ${response.status}.`;
  }
}

/**
 * The one message of an answer. It is read to its end: one that is left before counts as broken off, in the log of the
 * browser, and its connection is not used again.
 * @param {Transport} transport @param {string} what @param {unknown} [asked]
 * @returns {Promise<any>}
 */
export async function answerOf(transport, what, asked = null) {
  let answer;
  for await (const message of transport.ask(what, asked)) answer ??= message;
  if (answer === undefined) throw new Error("The answer was empty.");
  return answer;
}
