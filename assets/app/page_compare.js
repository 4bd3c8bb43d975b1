/**
 * Live comparisons on the page: the transport is asked for them, or this browser writes them, as it does wherever a
 * router of a person's own is among the ways.
 *
 * Loaded when the form of Compare is opened. Must not know the view.
 */

import { comparedHere } from "../transport/browser_comparison.js";

export class PageCompare {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  get #hasServer() {
    return this.page.transport.offers.has("compare");
  }

  /** What a live comparison can be asked with. @returns {Promise<import("../compare/live_form.js").LiveStatus>} */
  async status() {
    const { browser, pairs } = this.page;
    const status = pairs.status ?? (await pairs.told);
    const thresholds = { ...status.thresholds, ...browser.ofOwn("tau") };
    const offered = { ...status, thresholds, labels: browser.ofOwn("label"), quantiles: browser.ofOwn("quantiles") };
    if (this.#hasServer) return offered;
    if (await browser.load()) return { ...offered, in_turn: false };
    return { ...status, message: browser.client?.why || status.message, thresholds: undefined };
  }

  /**
   * A live comparison, as messages.
   * @param {import("../compare/ways.js").AskedComparison} asked @param {AbortSignal} signal
   * @returns {AsyncGenerator<import("../compare/compare.js").CompareMessage>}
   */
  async *ask(asked, signal) {
    const { browser, transport } = this.page;
    const { client } = browser;
    const isOwn = asked.routers.some(({ router }) => browser.own.has(router));
    if (!client || (this.#hasServer && !isOwn)) {
      yield* transport.ask("compare", asked, signal);
      return;
    }
    const inTurn = asked.together ? " One way is written after another." : "";
    if (this.#hasServer) yield { notice: `${browser.writesOwn()}${inTurn}`.trim(), level: "wait" };
    if (await browser.load()) yield* comparedHere(client, browser.book, asked, signal);
    else yield { notice: client.why, level: "error" };
  }
}
