/**
 * Tau on the page: it moves when a person moves it or chooses a run, never by itself. The loaded pair's own is offered.
 *
 * What is typed and is no tau is not taken: the last one stays, and the range is said. Called by page.js.
 */

import { html, part, plainButton } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";

/** @param {string} text what stands in the number field */
const isTau = (text) => text.trim() !== "" && Number(text) >= 0 && Number(text) <= 1;

export class PageTau {
  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    this.offer = part(document, "#cx-own-tau");
    this.said = part(document, "#cx-tau-said");
    this.advice = part(document, "#cx-advice");
    this.offer.addEventListener("click", () => {
      if (this.own !== null) page.moveTau(this.own);
    });
    const field = part(document, "#cx-tau");
    for (const kind of ["input", "change"]) field.addEventListener(kind, (event) => this.#check(event), true);
  }

  /** The router that would be asked; "" where no pair is loaded. */
  get router() {
    const { form, pairs, link } = this.page;
    return form.router.value || (link.router(pairs.status?.default_router ?? null) ?? "");
  }

  /** The tau that suits it, or null where it has none. */
  get own() {
    return this.page.thresholds[this.router] ?? null;
  }

  /** Offers the pair's own tau where the slider stands elsewhere. */
  update() {
    const { own } = this;
    this.offer.hidden = own === null || own === this.page.form.tau;
    if (own !== null) this.offer.textContent = `${this.router}’s τ, ${formatTau(own)}`;
    this.#advise();
  }

  /** What speaks against the router that would be asked, and the best one, where that was measured on this pair. */
  #advise() {
    const { browser, form } = this.page;
    const advice = browser.advice;
    const { router } = this;
    const isOther = advice !== null && router !== "" && router !== advice.best;
    this.advice.hidden = !isOther;
    if (!isOther || this.advice.dataset.router === router) return;
    this.advice.dataset.router = router;
    const act = () => {
      form.router.value = advice.best;
      this.page.routerChosen();
      if (this.own !== null) this.page.moveTau(this.own);
      form.generate.click();
    };
    const use = plainButton(`Write with ${advice.best}, the best here`, "cx-quiet", act);
    this.advice.replaceChildren(html("span", {}, advice.said[router] ?? ""), use);
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
