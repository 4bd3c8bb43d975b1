/**
 * The blind test on the screen: two texts without names, three answers, and the running score.
 *
 * Must not know how columns are drawn: its owner looks at `round` and draws. The score stays in this browser.
 *
 * @typedef {import("./columns.js").Column} Column
 */

import { html, plainButton, setText } from "../viewer/dom.js";
import { keep, kept } from "../viewer/kept.js";
import { verdictOf } from "./findings.js";

/**
 * @typedef {"first"|"second"|"tie"} Choice
 * @typedef {Record<string, {wins: number, losses: number, ties: number}>} BlindScore by the way of writing
 * @typedef {{pair: [string, string], choice: Choice|null}} BlindRound ids of the columns, from left to right
 */

const MOST_ROUNDS = 1e6;
const WAYS = {
  slm: "SLM alone",
  routed: "routed",
  "look-back": "routed with look-back",
  llm: "LLM alone",
  speculative: "speculative decoding",
};

/**
 * Two columns whose texts differ, in random order: none where all are the same text.
 * @param {Column[]} columns
 * @param {() => number} random from 0 to below 1
 * @returns {BlindRound|null}
 */
export function drawRound(columns, random) {
  const pairs = columns.flatMap((one, i) =>
    columns.slice(i + 1).flatMap((other) => (sameText(one, other) || one.way === other.way ? [] : [[one, other]])),
  );
  if (!pairs.length) return null;
  const [one, other] = pairs[Math.floor(random() * pairs.length)];
  return { pair: random() < 0.5 ? [one.id, other.id] : [other.id, one.id], choice: null };
}

/** @param {Column} one @param {Column} other */
const sameText = (one, other) => one.ids.length === other.ids.length && one.ids.every((id, i) => id === other.ids[i]);

/**
 * The score after one more round; the old one stays as it is.
 * @param {BlindScore} score
 * @param {Column} left
 * @param {Column} right
 * @param {Choice} choice
 * @returns {BlindScore}
 */
export function scored(score, left, right, choice) {
  const next = { ...score };
  /** @param {Column} column @param {"wins"|"losses"|"ties"} what */
  const count = ({ way }, what) => {
    const before = next[way] ?? { wins: 0, losses: 0, ties: 0 };
    next[way] = { ...before, [what]: before[what] + 1 };
  };
  count(left, choice === "tie" ? "ties" : choice === "first" ? "wins" : "losses");
  count(right, choice === "tie" ? "ties" : choice === "second" ? "wins" : "losses");
  return next;
}

/**
 * A score as it was kept, or none: what is stored in a browser may be anything.
 * @param {string|null} text
 * @returns {BlindScore}
 */
export function readScore(text) {
  try {
    const given = Object(JSON.parse(text ?? "{}"));
    const rows = Object.keys(WAYS).flatMap((way) => {
      const row = Object(given[way]);
      const counts = ["wins", "losses", "ties"].map((name) => row[name]);
      return counts.every((n) => Number.isInteger(n) && n >= 0 && n <= MOST_ROUNDS)
        ? [[way, { wins: counts[0], losses: counts[1], ties: counts[2] }]]
        : [];
    });
    return Object.fromEntries(rows);
  } catch {
    return {};
  }
}

/** How many rounds there were. @param {BlindScore} score */
export const nRounds = (score) =>
  Object.values(score).reduce((sum, { wins, losses, ties }) => sum + wins + losses + ties, 0) / 2;

/** "You preferred the LLM alone in 3 of 4, ...". @param {BlindScore} score */
export function scoreWords(score) {
  const rows = Object.entries(WAYS).flatMap(([way, name]) => {
    const row = score[way];
    if (!row) return [];
    const n = row.wins + row.losses + row.ties;
    const ties = row.ties ? ` (${row.ties} even)` : "";
    return [`${name} in ${row.wins} of ${n}${ties}`];
  });
  return rows.length ? `So far you preferred ${rows.join(", ")}.` : "";
}

const ANSWERS = /** @type {[Choice, string][]} */ ([
  ["first", "A is better"],
  ["tie", "No difference"],
  ["second", "B is better"],
]);
const SCORE_KEY = "citer-blind-score";

/** @param {string} words @param {() => void} onclick */
const mainButton = (words, onclick) => plainButton(words, "cq-button cq-main", onclick);

export class BlindPanel {
  /** @type {BlindRound|null} */
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
