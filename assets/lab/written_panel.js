/**
 * One unseen problem written twice: with the visitor's router, and by max-probability at about the same share. Those
 * come first which only the former has right, for they say best what it has learned.
 *
 * @typedef {import("../engine/lab_desk.js").WrittenText} WrittenText
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {(way: "own"|"free", problem: Problem) => Promise<WrittenText>} Write
 */

import { html, plainButton, setText } from "../viewer/dom.js";
import { messageOf, plural } from "../run/format.js";
import { writeTokens } from "./token_text.js";

const MOST_TRIED = 12; // problems, before one is shown that max-probability has right too

export class WrittenPanel {
  /** @type {Write} */
  #write = () => Promise.reject(new Error("There is no router yet."));
  /** @type {Problem[]} that the router has right, and then others */
  #problems = [];
  #next = 0;
  #asked = 0;
  question = html("p", { class: "cb-question" });
  status = html("p", { class: "cv-muted", role: "status" });
  ways = html("div", {});
  another = plainButton("Another unseen problem", "cv-button cv-link", () => this.show());

  constructor() {
    this.root = html("div", {}, [this.question, this.ways, this.status, this.another]);
  }

  /** @param {Problem[]} problems those to show first are first @param {Write} write */
  set(problems, write) {
    [this.#problems, this.#write, this.#next] = [problems, write, 0];
    this.ways.replaceChildren();
    setText(this.question, "");
  }

  get isEmpty() {
    return !this.ways.childNodes.length;
  }

  /** Writes the next one. */
  async show() {
    const asked = ++this.#asked;
    this.another.hidden = true;
    setText(this.status, "Writing an unseen problem with both.");
    try {
      for (let tried = 0; ; tried++) {
        const problem = this.#problems[this.#next++ % this.#problems.length];
        const [own, free] = [await this.#write("own", problem), await this.#write("free", problem)];
        if (asked !== this.#asked) return;
        if (free.answer.is_correct === false && own.answer.is_correct) return this.#draw(problem, own, free);
        if (tried >= MOST_TRIED) return this.#draw(problem, own, free);
      }
    } catch (error) {
      if (asked === this.#asked) setText(this.status, `It could not be written (${messageOf(error)}).`);
    } finally {
      if (asked === this.#asked) this.another.hidden = false;
    }
  }

  /** @param {Problem} problem @param {WrittenText} own @param {WrittenText} free */
  #draw(problem, own, free) {
    setText(this.status, "");
    this.question.replaceChildren(
      problem.question,
      " ",
      html("span", { class: "cv-muted" }, "It has not seen this one."),
    );
    this.ways.replaceChildren(
      ...textOf(problem, own, "cb-text"),
      html("p", { class: "cb-beside" }, "The same problem by max-probability, at about the same share of LLM tokens:"),
      ...textOf(problem, free, "cb-text cb-small"),
    );
  }
}

/** @param {Problem} problem @param {WrittenText} written @param {string} look */
function textOf(problem, { tokens, answer }, look) {
  const place = html("p", { class: look });
  const texts = tokens.map(({ text }) => text);
  writeTokens(place, texts, problem.data_type === "math", (i) => `cb-${tokens[i].source}`);
  const byLlm = tokens.filter(({ source }) => source === "llm").map(({ text }) => text);
  const nDigits = byLlm.filter((text) => /\d/.test(text)).length;
  const asks = byLlm.length ? `, ${nDigits} of them ${nDigits === 1 ? "a digit" : "digits"}` : "";
  const isRight = Boolean(answer.is_correct);
  return [
    place,
    html("p", { class: "cb-outcome" }, [
      html("b", { class: isRight ? "cb-right" : "cb-wrong" }, [
        isRight ? "✓ Right" : "✗ Wrong",
        answer.predicted_answer === null ? ", no answer" : `: ${answer.predicted_answer}`,
      ]),
      ` · ${byLlm.length} of ${plural(tokens.length, "token")} by the LLM${asks}`,
    ]),
  ];
}
