/**
 * Ways through the text: jump from stop to stop, and search with a count of its matches.
 *
 * Must not know how a jump is shown; it calls back with a token. The stops themselves are `navigate.js`'s.
 */

import { button, html, options, setText } from "./dom.js";
import { STOP_NAMES, countStops, findMatches } from "../run/navigate.js";

/** @typedef {import("../run/navigate.js").StopKind} StopKind */

const KINDS = /** @type {StopKind[]} */ (Object.keys(STOP_NAMES));

export class ToolsRow {
  /**
   * @param {{onJump: (kind: StopKind, step: 1|-1) => void, onMatch: (index: number) => void, onMatches: () => void}} on
   */
  constructor(on) {
    this.on = on;
    /** @type {RunView|null} */
    this.view = null;
    /** @type {{from: number, to: number}[]} */
    this.found = [];
    this.at = -1;
    this.nSeen = 0;
    this.offered = options(KINDS.map((kind) => [kind, STOP_NAMES[kind]]));
    this.kind = html("select", { class: "cv-select", "aria-label": "Kind of token to jump to" }, ...this.offered);
    /** @param {string} sign @param {string} label @param {() => void} onclick */
    const nudge = (sign, label, onclick) => button(sign, "cv-nudge", { "aria-label": label, onclick });
    this.field = html("input", {
      type: "search",
      class: "cv-field",
      placeholder: "Search the text",
      "aria-label": "Search the text",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#search(),
      onkeydown: (event) => {
        if (event.key === "Enter") this.#go(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape" && this.field.value) {
          this.field.value = "";
          this.#search();
        } else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
    this.count = html("output", { class: "cv-count-note", "aria-live": "polite" });
    this.previous = nudge("‹", "Previous match", () => this.#go(-1));
    this.next = nudge("›", "Next match", () => this.#go(1));
    this.root = html("div", { class: "cv-tools" }, [
      html("div", { class: "cv-tool", role: "group", "aria-label": "Jump" }, [
        html("span", { class: "cv-tool-name" }, "Jump to"),
        this.kind,
        nudge("‹", "Jump back", () => on.onJump(this.#chosen, -1)),
        nudge("›", "Jump forward", () => on.onJump(this.#chosen, 1)),
      ]),
      html("div", { class: "cv-tool", role: "search" }, this.field, this.previous, this.next, this.count),
    ]);
  }

  get #chosen() {
    return /** @type {StopKind} */ (this.kind.value);
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  /** Another run, tau or more tokens. @param {RunView} view */
  update(view) {
    const isOther = view !== this.view || view.n !== this.nSeen;
    this.view = view;
    this.nSeen = view.n;
    for (const option of this.offered) {
      const kind = /** @type {StopKind} */ (option.value);
      setText(option, view.live ? STOP_NAMES[kind] : `${STOP_NAMES[kind]} (${countStops(view, kind)})`);
      if (kind === "changed") option.hidden = option.disabled = view.changed === null;
    }
    if (view.changed === null && this.kind.value === "changed") this.kind.value = "llm";
    if (isOther && this.field.value) this.#search();
  }

  #search() {
    const { view } = this;
    if (!view) return;
    this.found = findMatches(view.events, this.field.value);
    this.at = -1;
    this.#mark();
  }

  /** @param {1|-1} step */
  #go(step) {
    if (!this.found.length || !this.view) return;
    // The first step goes to the match after (or before) where the reader is.
    const here = this.view.pinned ?? -1;
    if (this.at < 0) {
      const after = this.found.findIndex((match) => match.from > here);
      this.at = step > 0 ? (after < 0 ? 0 : after) : (after < 0 ? this.found.length : after) - 1;
    } else this.at += step;
    this.at = (this.at + this.found.length) % this.found.length;
    this.#mark();
    this.on.onMatch(this.found[this.at].from);
  }

  #mark() {
    const { view, found, at } = this;
    if (!view) return;
    const has = this.field.value !== "";
    view.matches = has && found.length ? new Uint8Array(view.n) : null;
    found.forEach(({ from, to }, i) => view.matches?.fill(i === at ? 2 : 1, from, to + 1));
    setText(
      this.count,
      !has
        ? ""
        : !found.length
          ? "No match"
          : at < 0
            ? `${found.length} match${found.length === 1 ? "" : "es"}`
            : `${at + 1} of ${found.length}`,
    );
    this.previous.disabled = this.next.disabled = !found.length;
    this.on.onMatches();
  }
}
