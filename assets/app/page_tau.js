/**
 * Tau on the page: it moves when a person moves it or chooses a run, never by itself. The loaded pair's own is offered.
 *
 * What is typed and is no tau is not taken: the last one stays, and the range is said. Called by page.js.
 */

import { part } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";

/** @param {string} text what stands in the number field */
const isTau = (text) => text.trim() !== "" && Number(text) >= 0 && Number(text) <= 1;

export class PageTau {
  /** @type {string|null} the router that a person has chosen here */
  router = null;

  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    this.offer = part(document, "#cx-own-tau");
    this.said = part(document, "#cx-tau-said");
    this.offer.addEventListener("click", () => {
      if (this.own !== null) page.moveTau(this.own);
    });
    const field = part(document, "#cx-tau");
    for (const kind of ["input", "change"]) field.addEventListener(kind, (event) => this.#check(event), true);
  }

  /** The tau that suits the router that would be asked, or null where no pair is loaded. */
  get own() {
    const { thresholds, pairs, link } = this.page;
    return thresholds[link.router(this.router) ?? ""] ?? thresholds[pairs.status?.default_router ?? ""] ?? null;
  }

  /** Offers the pair's own tau where the slider stands elsewhere. */
  update() {
    const { own } = this;
    this.offer.hidden = own === null || own === this.page.form.tau;
    if (own !== null) this.offer.textContent = `this pair’s τ, ${formatTau(own)}`;
  }

  /** A tau stands there. */
  taken() {
    this.said.textContent = "";
  }

  /** Before the form hears of it. @param {Event} event */
  #check(event) {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || field.type !== "number") return;
    const isGood = isTau(field.value);
    const isTyping = event.type === "input";
    if (isGood) {
      this.taken();
      return;
    }
    event.stopPropagation();
    if (isTyping && field.value === "") return; // about to be typed anew
    this.said.textContent = `τ is a number from 0 to 1. ${formatTau(this.page.form.tau)} is kept.`;
    if (!isTyping) field.value = String(this.page.form.tau);
  }
}
