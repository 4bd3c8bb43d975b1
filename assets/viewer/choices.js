/**
 * What may be written at the pinned token: both models' most probable tokens, and a token of one's own. A run keeps
 * five of each model that was asked; the rest is computed on demand.
 *
 * Must not know who computes; it is told `NextTokens` or why there are none. Called by the inspector.
 */

import { block, button, caption, html, instead, setText } from "./dom.js";
import { BOTH_MODELS, code, drawBlock } from "./draw.js";
import { WRITER_NAMES, probability } from "../run/format.js";
import { visibleText } from "./text.js";

const MOST_TYPED = 256;
/** Among twenty, most are smaller than two decimals can say. @param {number} p */
const small = (p) => (p >= 0.005 ? probability(p) : p < 0.0001 ? "<0.0001" : p.toPrecision(1));

export class Choices {
  /** More than the run keeps is shown; of the next tokens too. */
  isOpen = false;
  /** @type {string|null} the token that is pinned, of the run that is shown */
  place = null;
  /** What was found, by place. @type {Map<string, NextTokens>} */
  known = new Map();
  isAsking = false;
  /** @type {{place: string, text: string}|null} typed while the models read: asked next */
  next = null;
  /** @type {RunView|null} */
  view = null;
  index = 0;
  /** How often what is shown has changed. */
  version = 0;

  /**
   * @param {{onFlip: (index: number, source: Writer, tokenId: number|null) => void, onChange: () => void,
   *   ask: import("./viewer.js").AskNext}} on
   */
  constructor(on) {
    this.on = on;
    this.said = html("p", { class: "cv-caption", role: "status" });
    this.offer = html("p", {});
    this.input = html("input", {
      class: "cv-field cv-typed",
      maxlength: MOST_TYPED,
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "A token of your own",
      "data-key": "typed",
    });
    const write = html("button", { type: "submit", class: "cv-button cv-do", "data-key": "write" }, "Write it");
    this.form = html("form", { class: "cv-own-token", ...instead(() => this.#ask(this.input.value)) }, [
      this.input,
      write,
    ]);
  }

  /** @param {RunView} view @param {number} index @param {Askable} can @returns {(Node|null)[]} */
  blocks(view, index, can) {
    const place = `${view.runKey} ${index}`;
    const isPinned = view.pinned === index; // while the pointer passes over another token, that one is shown
    if (isPinned && place !== this.place) {
      Object.assign(this, { view, index, place });
      this.input.value = "";
      this.#say("");
    }
    const found = this.known.get(place) ?? null;
    if (isPinned && this.isOpen && can.next && !found && !this.said.textContent) this.#ask();
    const may = isPinned ? can : { ...can, flip: false, next: false };
    return [drawBlock(view, index, found), this.#lists(view, index, may, found), this.#own(may)];
  }

  /** @param {string} words @param {[number, string]|null} [token] that may be written instead */
  #say(words, token = null) {
    setText(this.said, words);
    this.offer.replaceChildren();
    if (!token) return;
    const first = button("Write ", "cv-do", { "data-key": "first", onclick: () => this.#write(token[0]) });
    first.append(code(token[1]));
    this.offer.append(first);
  }

  /** By the model that wrote here. @param {number} id */
  #write(id) {
    const { view, index } = this;
    if (view) this.on.onFlip(index, view.decisions.isLlm[index] ? "llm" : "slm", id);
  }

  /** @param {string} [text] to be written, if it is a token */
  async #ask(text) {
    const { view, index, place } = this;
    if (!view || !place) return;
    if (text === "") {
      this.#say("Type the text of one token, with the space before it if it begins a word.");
      return;
    }
    if (this.isAsking) {
      if (text) this.next = { place, text };
      return;
    }
    this.isAsking = true;
    this.#say("The models read the text up to here.");
    const { next_tokens: found, notice } = await this.on.ask(view, index, text, (words) => this.#say(words));
    this.isAsking = false;
    if (found) this.known.set(place, found);
    if (place === this.place) {
      this.#say(notice ?? "");
      if (found && text) this.#typed(text, found);
    }
    const { next } = this;
    this.next = null;
    if (next?.place === this.place) this.#ask(next.text);
    this.version++; // for another place by now, this asks for that one
    this.on.onChange();
  }

  /** @param {string} text @param {NextTokens} found */
  #typed(text, { typed, n_typed: n }) {
    if (n === 1 && typed) this.#write(typed[0]);
    else if (typed) this.#say(`This text is ${n} tokens, and one is written here. The first of them:`, typed);
    else this.#say("This text is no token of the vocabulary: try another one.");
  }

  /** @param {RunView} view @param {number} index @param {Askable} can @param {NextTokens|null} found */
  #lists(view, index, can, found) {
    const event = view.events[index];
    const lists = BOTH_MODELS.map((model) => {
      const name = WRITER_NAMES[model];
      const kept = model === "slm" ? event.slm_top : event.llm_top;
      const top = found?.[model]?.top ?? (kept.length ? kept : (view.probe?.[index]?.[`${model}_top`] ?? []));
      const notAsked = model === "llm" && event.source !== "llm";
      const none = found
        ? "Not known: this LLM is on a server that gives tokens only."
        : notAsked
          ? "Not computed: the LLM was not asked here."
          : "Not recorded.";
      const chances = found?.[model]?.draw?.probabilities;
      const rows = top.map((one, k) => this.#row(model, one, chances?.[k], event, can));
      const nKept = chances?.indexOf(0) ?? -1;
      if (nKept > 0) rows.splice(nKept, 0, html("li", { class: "cv-cut-line" }, "cut"));
      return html("div", {}, [
        html("h3", { class: "cv-subheading" }, `${name} candidates`),
        top.length ? html("ol", { class: "cv-candidates" }, ...rows) : html("p", { class: "cv-muted" }, none),
      ]);
    });
    const isDrawn = (view.head?.settings.temperature ?? 0) > 0;
    const more = button(`Show ${isDrawn ? "the draw and " : ""}20 of both models`, "cv-link", {
      "data-key": "more",
      hidden: this.isOpen || !can.next,
      onclick: () => {
        this.isOpen = true;
        this.#ask();
      },
    });
    return html("div", { class: "cv-block" }, html("div", { class: "cv-both" }, ...lists), more);
  }

  /**
   * @param {Writer} model @param {Candidate} one @param {number|undefined} chance of being drawn, 0 for none
   * @param {TokenEvent} event @param {Askable} can
   */
  #row(model, [id, text, p], chance, event, can) {
    const isWritten = id === event.token_id;
    const choose = {
      type: "button",
      class: "cv-choose",
      title: `Branch: write this token, by the ${WRITER_NAMES[model]}`,
      "data-key": `${model}-${id}`,
      "aria-label": `Branch with ${visibleText(text)}, by the ${WRITER_NAMES[model]}`,
      onclick: () => this.on.onFlip(event.index, model, id),
    };
    const bar = (/** @type {number} */ share, /** @type {string} */ look) => {
      const style = { width: `${Math.max(0, Math.min(1, share)) * 100}%` };
      return html("span", { class: `cv-bar cv-bar-${model} ${look}`, "aria-hidden": "true", style });
    };
    const isDrawn = chance !== undefined;
    const numbers = isDrawn && chance > 0 ? [`${small(p)} → `, html("b", {}, small(chance))] : [small(p)];
    return html(
      "li",
      { class: [isWritten && "cv-chosen", chance === 0 && "cv-cut"].filter(Boolean).join(" ") || null },
      can.flip && !isWritten ? html("button", choose, code(text)) : code(text),
      html("span", { class: "cv-number" }, ...numbers),
      html("span", { class: "cv-bar-track" }, bar(p, isDrawn ? "cv-bar-before" : ""), isDrawn ? bar(chance, "") : null),
      isWritten ? html("span", { class: "cv-sr" }, "written") : null,
    );
  }

  /** A token of one's own. @param {Askable} can */
  #own(can) {
    if (!can.next || !can.flip) return html("div", {}, this.said, this.offer);
    const how =
      "Any text that is one token, written by the model that wrote here. A space before a word belongs to it.";
    return block("Another token", this.form, this.said, this.offer, caption(how));
  }
}
