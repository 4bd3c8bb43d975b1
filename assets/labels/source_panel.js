/**
 * Which recorded analysis is shown: a choice by pair, and where it comes from. The files need no model.
 *
 * Must not know what an analysis is: it hands out the text of a file.
 *
 * @typedef {Object} StoredLabels as `citer_core/ui/labels/stored.py` lists them
 * @property {string} url
 * @property {string} file
 * @property {string} title
 * @property {string} pair
 * @property {string} [date]
 * @property {string} [hardware]
 * @property {string} [command]
 */

import { html, setText, withCode } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";

export class SourcePanel {
  /**
   * @param {StoredLabels[]} stored
   * @param {{onText: (text: string) => void, onError: (message: string) => void}} on
   */
  constructor(stored, on) {
    this.stored = stored;
    this.on = on;
    this.asked = 0;
    this.own = html("option", { value: "", hidden: true }, "Read just now");
    this.choice = html("select", { class: "cl-select cl-source-choice" }, this.own);
    const groups = new Map(stored.map(({ pair }) => [pair, html("optgroup", { label: pair })]));
    stored.forEach(({ pair, title }, k) => groups.get(pair)?.append(html("option", { value: String(k) }, title)));
    this.choice.append(...groups.values());
    this.choice.addEventListener("change", () => this.open(Number(this.choice.value)));
    this.from = html("p", { class: "cl-caption" });
    this.root = html(
      "div",
      { class: "cl-source" },
      html("label", { class: "cl-source-label" }, html("span", { class: "cl-label" }, "Recorded labels"), this.choice),
      this.from,
    );
    this.root.hidden = stored.length === 0;
  }

  /** The first one, or the one that was chosen; the last that was asked for is shown. @param {number} place */
  async open(place = 0) {
    const chosen = this.stored[place];
    if (!chosen) return;
    const number = ++this.asked;
    this.choice.value = String(place);
    try {
      const answer = await fetch(new URL(chosen.url, document.baseURI));
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const text = await answer.text();
      if (number !== this.asked) return;
      const { pair, date, hardware, command } = chosen;
      const said = date ? `${pair}, recorded ${date} on ${hardware} with \`${command}\`` : pair;
      this.from.replaceChildren(...withCode(said));
      this.on.onText(text);
    } catch (error) {
      if (number === this.asked) this.on.onError(`These labels could not be read (${messageOf(error)}). Try again.`);
    }
  }

  /** Which one a name means, the first where none. @param {string|null} name */
  placeOf(name) {
    return Math.max(
      0,
      this.stored.findIndex(({ file }) => file === `${name}.json`),
    );
  }

  /** The name of what is shown; null where it is none of these. */
  get shown() {
    return this.stored[Number(this.choice.value || NaN)]?.file.replace(/\.json$/, "") ?? null;
  }

  /** Something else is shown, or read. @param {string} words */
  leave(words) {
    this.asked += 1;
    this.choice.value = "";
    setText(this.from, words);
  }
}
