/**
 * Predict, then reveal: mark the tokens of a recorded run that need the LLM; then see where the router called it.
 *
 * Must not know the viewer. Recorded runs only: nothing is asked of a server but the file.
 *
 * @typedef {{file: string, title: string}} RunFile
 */

import { html, options, plainButton, setText } from "../viewer/dom.js";
import { messageOf, percent, plural, probability } from "../run/format.js";
import { visibleText } from "../viewer/text.js";
import { MarkedText } from "./marked_text.js";
import { beforeTakeBack, byRouter, scoreMarks, whereChanged, whereSlipped } from "./score.js";

const RECORDED_RUNS = new URL("../traces/", import.meta.url);
/** @type {Record<string, (events: any[]) => boolean[]>} */
const TRUTHS = { router: byRouter, changed: whereChanged, slip: whereSlipped };
/** @typedef {{key: string, title: string, task: string, truths: Record<string, string>, most?: number}} Exercise */
/** @type {Exercise} */
const PREDICT = {
  key: "exercise",
  title: "Predict, then reveal",
  task:
    "Which tokens would you not leave to a small model? Mark them, then compare with the run. Hint: " +
    "it is rarely the long words.",
  truths: { router: "where the router called the LLM", changed: "where the LLM wrote another token" },
};
/** @type {Exercise} */
const SLIP = {
  key: "slip",
  title: "Find the slip",
  task:
    "The small model wrote this. Mark the first token that the large model took back when it looked: " +
    "it is the first one that is much less probable to it than its own choice.",
  truths: { slip: "the first token that the LLM took back" },
  most: 1,
};

export class PredictPanel {
  /** @param {RunFile[]} runs @param {URLSearchParams} wanted what a link asks for */
  constructor(runs, wanted, { key, title, task, truths, most } = PREDICT) {
    this.key = key;
    const heading = `cx-learn-${key}`;
    /** @param {string} label @param {[string, string][]} offered @param {() => void} onchange */
    const choice = (label, offered, onchange) =>
      html("select", { class: "cx-learn-select", "aria-label": label, onchange }, ...options(offered));
    const names = Object.entries(truths);
    const files = runs.map(({ file, title }) => /** @type {[string, string]} */ ([file, title]));
    this.pick = choice("Recorded run", files, () => this.load());
    this.truth = choice("What counts as needing the LLM", names, () => this.text.truth && this.reveal());
    this.truth.hidden = names.length < 2;
    this.question = html("p", { class: "cx-learn-question" });
    this.text = new MarkedText(() => this.draw(), most);
    this.revealButton = plainButton("Reveal", "cx-learn-button cx-learn-primary", () => this.reveal());
    this.again = plainButton("Clear the marks", "cx-learn-button", () => this.text.clear());
    this.count = html("span", { class: "cx-learn-small" });
    this.result = html("p", { class: "cx-learn-result", role: "status" });
    this.card = html("div", {});
    this.root = html("section", { class: "cx-learn-card", "aria-labelledby": heading }, [
      html("h2", { id: heading }, title),
      html("p", { class: "cx-learn-small" }, task),
      html("div", { class: "cx-learn-row" }, this.pick, this.truth),
      this.question,
      this.text.root,
      html("div", { class: "cx-learn-row" }, this.revealButton, this.again, this.count),
      this.result,
      this.card,
    ]);
    const run = runs.find(({ file }) => file === `${wanted.get(key)}.json`);
    if (run) this.pick.value = run.file;
    if (Object.hasOwn(truths, wanted.get("truth") ?? "")) this.truth.value = wanted.get("truth") ?? "";
    if (runs.length) this.load();
  }

  /** What is marked; each has a text. @returns {any[]} */
  get events() {
    return this.text.tokens;
  }

  /** Which exercise it is. */
  inAddress() {
    const run = this.pick.value.replace(/\.json$/, "");
    return { [this.key]: run, ...(this.truth.hidden ? {} : { truth: this.truth.value }) };
  }

  async load() {
    const file = this.pick.value;
    try {
      const response = await fetch(new URL(encodeURIComponent(file), RECORDED_RUNS));
      if (!response.ok) throw new Error(`status ${response.status}`);
      const trace = await response.json();
      if (this.pick.value === file) this.show(trace);
    } catch (error) {
      setText(this.result, `This run could not be read (${messageOf(error)}).`);
    }
  }

  /** What is to be marked. @param {Trace} trace @returns {{text: string}[]} */
  tokensOf({ events }) {
    return events;
  }

  /** @param {Trace} trace */
  show(trace) {
    setText(this.question, trace.prompt.question);
    this.text.show(this.tokensOf(trace), trace.prompt.data_type === "math");
  }

  reveal() {
    this.text.reveal(TRUTHS[this.truth.value](this.events));
    this.giveCode();
  }

  /** The marks, to be taken to a class. */
  async giveCode() {
    const marks = [...this.text.order].sort((a, b) => a - b);
    const { answerCard, exerciseName } = await import("../class/answer_card.js");
    if (marks.length && this.text.truth)
      this.card.replaceChildren(answerCard({ of: exerciseName(this.pick.value), marks }));
  }

  draw() {
    const { truth, nMarked, tokens } = this.text;
    setText(this.count, `${plural(nMarked, "token")} of ${tokens.length} marked`);
    this.revealButton.disabled = truth !== null;
    setText(this.again, truth ? "Try again" : "Clear the marks");
    setText(this.result, truth ? this.verdict(truth, nMarked) : "");
    if (!truth) this.card.replaceChildren();
  }

  /** @param {boolean[]} truth @param {number} nMarked */
  verdict(truth, nMarked) {
    const found = scoreMarks(this.text.marked, truth);
    const nTrue = found.hits + found.missed;
    if (nTrue === 0)
      return nMarked
        ? "No token counts in this run, so every mark is one too many. Score 0."
        : "No token counts in this run, and you marked none. Score 100.";
    return (
      `Score ${Math.round(100 * found.score)} of 100. You found ${found.hits} of ` +
      `${plural(nTrue, "token")} (✓), missed ${found.missed} (▲) and marked ${found.extra} that did not ` +
      "need it (○): " +
      `precision ${percent(found.precision, 0)}, recall ${percent(found.recall, 0)}. The same number of ` +
      `marks placed at random scores ${Math.round(100 * found.chance)}.`
    );
  }
}

/** The text as it stood when the LLM first took something back; one token of it is to be found. */
export class SlipPanel extends PredictPanel {
  /** What the LLM wrote instead. */
  own = "";

  /** @param {RunFile[]} runs in which something was taken back @param {URLSearchParams} wanted */
  constructor(runs, wanted) {
    super(runs, wanted, SLIP);
  }

  /** A slip is found or not: there is nothing to add up. @override */
  async giveCode() {}

  /** @override @param {Trace} trace */
  tokensOf({ events }) {
    const { tokens, own } = beforeTakeBack(events);
    this.own = own;
    return tokens;
  }

  /** @override @param {boolean[]} truth */
  verdict(truth) {
    const [slip, mark] = [truth, this.text.marked].map((one) => one.indexOf(true));
    const { text, judged } = this.events[slip];
    const named = (/** @type {string} */ words) => `“${visibleText(words)}”`;
    const other = mark < 0 || mark === slip ? null : this.events[mark];
    const yours = other?.judged ? ` To the LLM, ${named(other.text)} had ${probability(other.judged[0])}.` : "";
    return (
      `${mark === slip ? "Found." : "Not found."}${yours} It took back ${named(text)}, which had ` +
      `${probability(judged[0])}, and ${plural(this.events.length - slip - 1, "token")} behind it; its own ` +
      `${named(this.own)} had ${probability(judged[1])}.`
    );
  }
}
