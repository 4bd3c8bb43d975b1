/**
 * How the run ended and whether its answer is right: a sign and a word, never colour alone. Must not judge answers
 * itself.
 */

import { html, setText } from "./dom.js";
import { FINISH_WORDS } from "../run/format.js";

const VERDICTS = {
  right: { sign: "✓", word: "Right" },
  wrong: { sign: "✕", word: "Wrong" },
  unknown: { sign: "?", word: "Not checked" },
};

export class Answer {
  constructor() {
    this.sign = html("span", { class: "cv-verdict-sign", "aria-hidden": "true" });
    this.word = html("span", {});
    this.badge = html("span", { class: "cv-verdict" }, this.sign, this.word);
    this.detail = html("span", { class: "cv-answer-detail" });
    this.root = html("p", { class: "cv-answer", hidden: true }, this.badge, this.detail);
  }

  /** What it says; "" while there is nothing to judge. */
  get words() {
    if (this.root.hidden) return "";
    const verdict = this.badge.hidden ? "" : `${this.sign.textContent} ${this.word.textContent}, `;
    return `${verdict}${this.detail.textContent}`;
  }

  /** @param {RunView} view */
  update(view) {
    const finished = view.finishReason !== null && view.shown >= view.n && view.n > 0;
    this.root.hidden = !finished;
    if (!finished) return;
    const { answer } = view;
    const verdict =
      !answer || answer.is_correct === null || answer.is_correct === undefined
        ? "unknown"
        : answer.is_correct
          ? "right"
          : "wrong";
    this.badge.dataset.verdict = verdict;
    this.badge.hidden = !answer;
    setText(this.sign, VERDICTS[verdict].sign);
    setText(this.word, VERDICTS[verdict].word);
    const parts = [];
    if (answer) {
      parts.push(answer.predicted_answer === null ? "no final answer found" : `answer ${answer.predicted_answer}`);
      if (answer.true_answer !== null && verdict !== "right") parts.push(`true answer ${answer.true_answer}`);
    }
    if (view.finishReason !== "eos") parts.push(FINISH_WORDS[view.finishReason ?? ""] ?? String(view.finishReason));
    if (view.decisions.doubt !== null) parts.push("as recorded, not at this τ");
    setText(this.detail, parts.join(" · "));
  }
}
