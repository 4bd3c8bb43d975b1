/**
 * What the LLM took back, where it stood: struck through for a moment, then folded into a mark that opens it again.
 *
 * Must not know runs. It is drawn between two tokens and is no part of the text: selections leave it out.
 */

import { html } from "./dom.js";
import { plural } from "../run/format.js";
import { fillTokenText, spellTex, visibleText } from "./text.js";

const SHOWN_MS = 1400;
const FEW_MARKS = 200;

export class TakenBack {
  /** @param {NonNullable<TokenEvent["discarded"]>} gone @param {boolean} isMath */
  constructor(gone, isMath) {
    const [, slip] = gone[0];
    const words = `${plural(gone.length, "token")} taken back, the first is “${visibleText(slip)}”`;
    this.mark = html("button", { type: "button", class: "cv-crease", "aria-label": words, title: words }, [
      `−${gone.length}`,
    ]);
    this.text = html("del", { class: "cv-gone", hidden: true });
    let marks = 0;
    for (const [, text] of gone) {
      const token = html("span", {});
      if (!isMath || !spellTex(token, text, /** @type {HTMLElement} */ (this.text.lastElementChild) ?? undefined))
        marks += fillTokenText(token, text, FEW_MARKS - marks);
      this.text.append(token);
    }
    this.text.firstElementChild?.classList.add("cv-slip");
    this.root = html("span", { class: "cv-taken-back" }, this.text, this.mark);
    this.mark.addEventListener("click", () => this.#open(Boolean(this.text.hidden)));
    this.#open(false);
  }

  /** @param {boolean} isOpen */
  #open(isOpen) {
    clearTimeout(this.timer);
    this.text.hidden = !isOpen;
    this.mark.setAttribute("aria-expanded", String(isOpen));
  }

  /** Opens it at one of its tokens. @param {number} place */
  openAt(place) {
    this.#open(true);
    for (const [i, token] of [...this.text.children].entries()) token.toggleAttribute("data-pinned", i === place);
  }

  /** Lets it be seen for a moment, unless a person wants no movement. */
  show() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.#open(true);
    this.timer = setTimeout(() => this.#open(false), SHOWN_MS);
  }
}
