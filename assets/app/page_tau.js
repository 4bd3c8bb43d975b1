/**
 * Tau on the page, or the plane of look-back in its place: both move when a person moves them or chooses a run, never
 * by themselves. The loaded pair's own tau is offered.
 *
 * What is typed and is no tau is not taken: the last one stays, and the range is said. Called by page.js.
 */

import { html, part, plainButton } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";
import { LOOKING_BACK, dialsOf } from "../run/dials.js";
import { PlaneDial, usualDials } from "./plane.js";

/** @param {string} text what stands in the number field */
const isTau = (text) => text.trim() !== "" && Number(text) >= 0 && Number(text) <= 1;

export class PageTau {
  /** Where tau stood, and whose, before the plane took its place. @type {{tau: number, router: string}|null} */
  before = null;

  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    this.offer = part(document, "#cx-own-tau");
    this.said = part(document, "#cx-tau-said");
    this.advice = part(document, "#cx-advice");
    this.offer.addEventListener("click", () => {
      if (this.own !== null) page.moveTau(this.own);
    });
    this.lookBack = /** @type {HTMLInputElement} */ (part(document, "#cx-look-back input"));
    this.lookBack.addEventListener("change", () => this.#switch(this.lookBack.checked));
    this.group = part(document, ".cx-tau-group");
    this.dial = new PlaneDial({ onDials: (dials) => this.#set(dials), onRouter: (name) => this.#writeWith(name) });
    this.group.append(this.dial.root);
    part(document, "#cx-type").addEventListener("change", () => this.update());
    const field = part(document, "#cx-tau");
    for (const kind of ["input", "change"]) field.addEventListener(kind, (event) => this.#check(event), true);
  }

  /** The router that would be asked; "" where no pair is loaded. */
  get router() {
    const { form, pairs, link } = this.page;
    return form.router.value || (link.router(pairs.status?.default_router ?? null) ?? "");
  }

  /** Whether it is a person's own, of which nothing was measured. */
  get #isOwn() {
    return this.page.browser.own.has(this.router);
  }

  /** The tau that suits it, or null where it has none. */
  get own() {
    return this.page.thresholds[this.router] ?? null;
  }

  /** Offers the pair's own tau where the slider stands elsewhere. */
  update() {
    const { own } = this;
    this.offer.hidden = own === null || own === this.page.form.tau;
    if (own !== null) this.offer.textContent = `${this.#isOwn ? "your router" : this.router}’s τ, ${formatTau(own)}`;
    this.#advise();
    const { plane } = this;
    const { form } = this.page;
    this.group.toggleAttribute("data-plane", plane !== null && this.lookBack.checked);
    if (plane && this.lookBack.checked)
      this.dial.update({ plane, type: form.type, router: this.router, dials: form.dials });
  }

  /** What was measured of looking back on this pair. */
  get plane() {
    return this.page.browser.advice?.plane ?? null;
  }

  /** Look-back on or off. @param {boolean} isOn */
  #switch(isOn) {
    const { plane, own } = this;
    const { form } = this.page;
    if (!isOn) {
      const before = this.before?.router === this.router ? this.before.tau : own;
      form.setDials(dialsOf({ threshold: plane ? (before ?? form.tau) : form.tau }));
      return;
    }
    this.before = { tau: form.tau, router: this.router };
    this.#set(plane ? usualDials(plane) : { take_back: LOOKING_BACK.take_back });
    // What was measured at the plane's places is one router's.
    if (plane && this.router !== plane.router) this.#writeWith(plane.router);
  }

  /** The plane stays also where nothing is taken back. @param {Partial<Dials>} dials */
  #set(dials) {
    this.page.form.setDials(dials);
    this.lookBack.checked = true;
  }

  /** @param {string} name of a router */
  #writeWith(name) {
    this.page.form.router.value = name;
    this.page.routerChosen();
    this.page.form.generate.click();
  }

  /** What speaks against the router that would be asked, and the best one, where that was measured on this pair. */
  #advise() {
    const { browser, form } = this.page;
    const advice = browser.advice;
    const { router } = this;
    const isOther = advice !== null && router !== "" && router !== advice.best && !this.#isOwn;
    this.advice.hidden = !isOther;
    if (!isOther || this.advice.dataset.router === router) return;
    this.advice.dataset.router = router;
    const act = () => {
      form.router.value = advice.best;
      if (this.own !== null && !this.lookBack.checked) this.page.moveTau(this.own);
      this.#writeWith(advice.best);
    };
    const use = plainButton(`Write with ${advice.best}, the best here`, "cx-quiet", act);
    this.advice.replaceChildren(html("span", {}, advice.said[router] ?? ""), use);
  }

  /** The dials were set: it is seen whether the LLM looks back there. */
  taken() {
    this.said.textContent = "";
    this.lookBack.checked = false;
    this.typed();
  }

  /** A setting was typed. */
  typed() {
    const { take_back: ratio, doubt_budget: budget } = this.page.form.dials;
    this.lookBack.checked ||= ratio > 0 || budget > 0;
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
