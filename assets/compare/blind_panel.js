/**
 * The blind test on the screen: two texts without names, three answers, and the running score.
 *
 * Must not know how columns are drawn: its owner looks at `round` and draws. The score stays in this browser.
 *
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("./blind.js").Choice} Choice
 * @typedef {import("./blind.js").BlindScore} BlindScore
 */

import { html, plainButton, setText } from "../viewer/dom.js";
import { keep, kept } from "../viewer/kept.js";
import { drawRound, nRounds, readScore, scoreWords, scored } from "./blind.js";
import { verdictOf } from "./findings.js";

const ANSWERS = /** @type {[Choice, string][]} */ ([
  ["first", "A is better"],
  ["tie", "No difference"],
  ["second", "B is better"],
]);
const SCORE_KEY = "citer-blind-score";

/** @param {string} words @param {() => void} onclick */
const mainButton = (words, onclick) => plainButton(words, "cq-button cq-main", onclick);

export class BlindPanel {
  /** @type {import("./blind.js").BlindRound|null} */
  round = null;
  /** @type {BlindScore} of earlier visits too, where they may be remembered */
  score = readScore(kept(SCORE_KEY));

  /** @param {{onRound: () => void, columns: () => Column[]}} on */
  constructor(on) {
    this.on = on;
    this.start = plainButton("", "cq-button", () => (this.round ? this.stop() : this.draw()));
    this.words = html("p", { class: "cq-note", role: "status" });
    const answers = ANSWERS.map(([choice, name]) => mainButton(name, () => this.answer(choice)));
    this.answers = html("div", { class: "cq-row" }, ...answers);
    this.again = mainButton("Another pair", () => this.draw());
    this.forget = plainButton("Start the score anew", "cq-button", () => this.forgetScore());
    const next = html("div", { class: "cq-row" }, this.again, this.forget);
    this.root = html("div", { class: "cq-blind-panel" }, this.words, this.answers, next);
    this.#update("");
  }

  /** Ends the round: another problem is shown. The score stays. */
  reset() {
    this.round = null;
    this.#update("");
  }

  stop() {
    this.reset();
    this.on.onRound();
  }

  draw() {
    this.round = drawRound(this.on.columns(), Math.random);
    this.#update(
      this.round
        ? "Two of the ways, in random order, without names and without colours. Which text is better?"
        : "All ways wrote the same text here. Choose another problem.",
    );
    this.on.onRound();
  }

  /** @param {Choice} choice */
  answer(choice) {
    const columns = this.round?.pair.map((id) => this.on.columns().find((column) => column.id === id)) ?? [];
    const [left, right] = columns;
    if (!this.round || this.round.choice !== null || !left || !right) return;
    this.round = { ...this.round, choice };
    this.score = scored(this.score, left, right, choice);
    keep(SCORE_KEY, JSON.stringify(this.score));
    const who = [left, right].map((column, k) => {
      const verdict = verdictOf(column);
      return `${"AB"[k]} was ${column.name}${verdict ? `, ${verdict}` : ""}`;
    });
    this.#update(`${who.join("; ")}. ${scoreWords(this.score)}`);
    this.on.onRound();
  }

  forgetScore() {
    this.score = {};
    keep(SCORE_KEY, JSON.stringify(this.score));
    this.#update("The score begins anew.");
  }

  /** @param {string} words */
  #update(words) {
    const isOpen = this.round !== null && this.round.choice === null;
    this.root.hidden = words === "";
    this.answers.hidden = !isOpen;
    this.again.hidden = this.round === null || isOpen;
    this.start.setAttribute("aria-pressed", String(this.round !== null));
    const n = nRounds(this.score);
    this.forget.hidden = n === 0 || isOpen;
    setText(this.start, this.round ? "End the blind test" : n ? `Blind test (${n} so far)` : "Blind test");
    setText(this.words, words);
  }
}
