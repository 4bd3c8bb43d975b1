/**
 * What a page asks for: Generate, a branch, a probe. This browser takes what it can (`page_browser.js`); the transport
 * is asked for the rest, and its messages are handed on.
 */

import { messageOf } from "../run/format.js";
import { RefusedError } from "../transport/server.js";

const UNREACHED = "The server could not be reached. Your text is kept; try again in a moment.";

/** @param {unknown} error */
const whyLost = (error) => (error instanceof RefusedError ? messageOf(error) : UNREACHED);

export class PageBranches {
  isProbing = false;
  /** @type {AbortController|null} of the run that is listened to */
  listening = null;

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  /** Runs a branch of the run on the screen; it streams in like any run. @param {BranchRequest} request */
  run(request) {
    const { page } = this;
    if (page.isLive || page.isStarting) {
      page.notice("A run is being written: stop it first, or wait until it has ended.");
      return;
    }
    this.leave();
    page.starting();
    if (!page.browser.branch(request)) this.#listen("branch", request);
  }

  /** Generate was pressed. @param {Asked} controls what they say */
  generate(controls) {
    const { page } = this;
    this.leave();
    page.starting();
    const asked = page.asked(controls);
    if (!page.browser.generate(asked)) this.askServer(asked);
  }

  /** Has the server write a run. @param {Asked} asked */
  askServer(asked) {
    this.page.ownRun.asking(asked);
    this.#listen("run", asked);
  }

  /** Listens no longer. */
  leave() {
    this.listening?.abort();
    this.listening = null;
  }

  /** @param {string} what @param {object} asked */
  async #listen(what, asked) {
    const { page } = this;
    this.leave();
    const own = (this.listening = new AbortController());
    try {
      for await (const message of page.transport.ask(what, asked, own.signal)) {
        if (own !== this.listening) return;
        page.take(message);
      }
    } catch (error) {
      if (own === this.listening && page.isStarting && !page.waiting) page.notice(whyLost(error));
    }
    if (own === this.listening) page.settled();
  }

  /** Asks the LLM at every token of the run on the screen. @param {ProbeRequest} request */
  probe(request) {
    if (this.isProbing) return;
    const { page } = this;
    this.isProbing = true;
    page.notice("");
    page.viewer.setStatus("Asking the LLM at every token.", { busy: true });
    if (!page.browser.probe(request)) this.#probe(request);
  }

  /** @param {ProbeRequest} request */
  async #probe(request) {
    const last = await this.#lastOf("probe", request, (words) => this.page.viewer.setStatus(words, { busy: true }));
    this.receiveProbe({ probe: null, ...last });
  }

  /**
   * The last message of an answer; those before it say how long one has to wait.
   * @param {string} what @param {object} asked @param {(words: string) => void} waits
   */
  async #lastOf(what, asked, waits) {
    let last = { notice: "The models’ answers were lost on the way. Ask again." };
    try {
      for await (const message of this.page.transport.ask(what, asked)) {
        if (message.level === "wait") waits(message.notice);
        else last = message;
      }
    } catch (error) {
      last = { notice: whyLost(error) };
    }
    return last;
  }

  /**
   * What is asked of one position of a finished run; a notice where it cannot be had.
   * @param {"next_tokens"|"inside"} what @param {NextRequest|InsideRequest} request
   * @param {(words: string) => void} waits
   * @returns {Promise<{next_tokens?: NextTokens, inside?: Inside} & Notice>}
   */
  async ask(what, request, waits) {
    const { browser, transport } = this.page;
    const here = await browser.ask(what, request);
    if (here) return here.error === null ? { [what]: here.answer } : { notice: here.error };
    if (!transport.offers.has(what)) {
      return {
        notice:
          `Only the bundled pair is computed here, and this run is of ${request.pair_name}. Start the page on your ` +
          "machine (python app.py) and load that pair there to see more.",
      };
    }
    return this.#lastOf(what, request, waits);
  }

  /** @param {ProbeMessage} message */
  receiveProbe(message) {
    const { page } = this;
    this.isProbing = false;
    page.viewer.setStatus("");
    if (message.probe === null) page.notice(message.notice ?? "", message);
    else page.viewer.setProbe(message.probe, message.tokens ?? [], message.truth);
  }
}
