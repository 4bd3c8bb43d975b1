/**
 * A text whose tokens a person marks, and what each mark was worth once that is shown.
 *
 * Must not know where the text came from or what counts. Token text goes through text nodes. One tab stop for the whole
 * text, as in the viewer: arrows move, Space or Enter marks.
 */

import { html } from "../viewer/dom.js";
import { fillTokenText, spellTex, visibleText } from "../viewer/text.js";
import { markOfToken } from "./score.js";

const REVEAL_SIGNS = { hit: "✓", missed: "▲", extra: "○" };
const REVEAL_WORDS = { hit: "found", missed: "missed", extra: "not needed" };

export class MarkedText {
  /** @type {{text: string}[]} */
  tokens = [];
  /** @type {boolean[]} */
  marked = [];
  /** @type {boolean[]|null} which of them count, once that is shown */
  truth = null;
  /** @type {HTMLElement[]} */
  nodes = [];
  at = 0;

  /** @param {() => void} onChange @param {number} [most] marks at a time; a further one replaces the oldest */
  constructor(onChange, most = Infinity) {
    this.onChange = onChange;
    this.most = most;
    /** @type {number[]} marks in the order in which they were put down */
    this.order = [];
    this.root = html("div", {
      class: "cx-learn-text",
      role: "group",
      "aria-label": "Text to mark: arrows move, Space marks a token",
      onclick: (event) => {
        const node = event.target instanceof Element ? event.target.closest(".cx-guess") : null;
        if (node instanceof HTMLElement) this.#toggle(Number(node.dataset.i));
      },
      onkeydown: (event) => this.#pressed(event),
      // However a token got the focus, keys are about that one.
      onfocusin: (event) => {
        if (event.target instanceof HTMLElement) this.#arrivedAt(Number(event.target.dataset.i));
      },
    });
  }

  get nMarked() {
    return this.order.length;
  }

  /** @param {{text: string}[]} tokens @param {boolean} isMath */
  show(tokens, isMath) {
    // The end of the text has nothing to see or to mark.
    this.tokens = tokens.filter(({ text }) => text !== "");
    this.nodes = [];
    for (const [i, { text }] of this.tokens.entries()) {
      const node = html("span", { class: "cx-guess", role: "checkbox", "data-i": i, tabindex: i === 0 ? "0" : "-1" });
      if (!isMath || !spellTex(node, text, this.nodes[i - 1])) fillTokenText(node, text);
      this.nodes.push(node);
    }
    this.root.replaceChildren(...this.nodes);
    this.at = 0;
    this.clear();
  }

  clear() {
    this.marked = this.tokens.map(() => false);
    this.order = [];
    this.reveal(null);
  }

  /** Shows what the marks are worth; null hides it. @param {boolean[]|null} truth */
  reveal(truth) {
    this.truth = truth;
    this.#draw();
    this.onChange();
  }

  /** @param {number} index */
  #toggle(index) {
    if (this.truth) return;
    const others = this.order.filter((other) => other !== index);
    if (!this.marked[index]) others.push(index);
    this.order = others.slice(Math.max(0, others.length - this.most));
    this.marked = this.tokens.map((_, i) => this.order.includes(i));
    this.#moveTo(index);
    this.#draw();
    this.onChange();
  }

  /** @param {number} index */
  #moveTo(index) {
    this.nodes[Math.max(0, Math.min(this.nodes.length - 1, index))]?.focus();
  }

  /** @param {number} index */
  #arrivedAt(index) {
    this.nodes[this.at]?.setAttribute("tabindex", "-1");
    this.nodes[index]?.setAttribute("tabindex", "0");
    this.at = index;
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    /** @type {Record<string, number>} */
    const moves = {
      ArrowRight: this.at + 1,
      ArrowDown: this.at + 1,
      ArrowLeft: this.at - 1,
      ArrowUp: this.at - 1,
      Home: 0,
      End: this.nodes.length - 1,
    };
    if (event.key in moves) this.#moveTo(moves[event.key]);
    else if (event.key === " " || event.key === "Enter") this.#toggle(this.at);
    else return;
    event.preventDefault();
  }

  #draw() {
    this.nodes.forEach((node, i) => {
      const outcome = this.truth && markOfToken(this.marked[i], this.truth[i]);
      node.setAttribute("aria-checked", String(this.marked[i]));
      const said = outcome ? `, ${REVEAL_WORDS[outcome]}` : "";
      node.setAttribute("aria-label", `${visibleText(this.tokens[i].text)}${said}`);
      node.className = `cx-guess${this.marked[i] ? " cx-guess-on" : ""}${outcome ? ` cx-guess-${outcome}` : ""}`;
      if (outcome) node.dataset.sign = REVEAL_SIGNS[outcome];
      else delete node.dataset.sign;
    });
  }
}
