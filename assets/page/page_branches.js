/**
 * The page's way to a branch and a probe: the request goes through Gradio's queue like Generate does.
 *
 * Glue only; `viewer.js` makes the request and takes what comes back.
 */

import { press } from "./page_gradio.js";

const ANSWER_LATE_MS = 3000;

export class PageBranches {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.request = "";
    this.isProbing = false;
    this.nProbes = 0;
  }

  /** Runs a branch of the run on the screen; it streams in like any run. @param {BranchRequest} request */
  run(request) {
    const { page } = this;
    if (page.isLive || page.isStarting) {
      page.notice("A run is being written: stop it first, or wait until it has ended.");
      return;
    }
    page.starting();
    if (!page.browser.branch(request)) this.#send("button#cx-branch", request);
  }

  /** Asks the LLM at every token of the run on the screen. @param {ProbeRequest} request */
  probe(request) {
    if (this.isProbing) return;
    this.isProbing = true;
    this.nProbes++;
    this.page.notice("");
    this.page.viewer.setStatus("Asking the LLM at every token.", { busy: true });
    if (!this.page.browser.probe(request)) this.#send("button#cx-probe", request);
  }

  /** Generate was pressed. @param {Asked} controls what they say */
  generate(controls) {
    const { page } = this;
    page.starting();
    const asked = page.asked(controls);
    if (!page.browser.generate(asked)) this.askServer(asked);
  }

  /** Has the server write a run. @param {Asked} asked */
  askServer(asked) {
    this.page.ownRun.asking(asked);
    this.#send("#cx-ask", asked);
  }

  /** @param {string} selector @param {object} request */
  #send(selector, request) {
    this.request = JSON.stringify(request);
    press(selector);
  }

  /** Gradio's event takes the request in place of its input. */
  takeRequest() {
    const { request } = this;
    this.request = "";
    return request;
  }

  /** @param {ProbeMessage} message */
  receiveProbe(message) {
    this.isProbing = false;
    this.page.viewer.setStatus("");
    if (message.probe === null) {
      this.page.notice(message.notice ?? "", message);
      return;
    }
    this.page.notice(""); // it may have been given up as lost
    this.page.viewer.setProbe(message.probe, message.tokens ?? [], message.truth);
  }

  /**
   * Gradio's event is over. Its message may still be on its way through Gradio's rendering, or have been lost there.
   */
  probeSettled() {
    const asked = this.nProbes;
    setTimeout(() => {
      if (this.isProbing && asked === this.nProbes)
        this.receiveProbe({ probe: null, notice: "The LLM’s answers were lost on the way. Ask again." });
    }, ANSWER_LATE_MS);
  }

  /** Gradio did not take the event. */
  probeRefused() {
    if (this.isProbing)
      this.receiveProbe({
        probe: null,
        notice: "The LLM could not be asked: every place in the queue is taken. Try again in a moment.",
      });
  }
}
