/**
 * What frames a run: its question above the text, where it comes from below the chart, and the state in words.
 *
 * Must not know tokens or decisions. Three elements that viewer.js places.
 */

import { button, html, setText } from "./dom.js";
import { formatTau, FINISH_WORDS } from "../run/format.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";

const VERDICTS = {
  right: { sign: "✓", word: "Right" },
  wrong: { sign: "✕", word: "Wrong" },
  unknown: { sign: "?", word: "Not checked" },
};

/**
 * How the run ended and whether its answer is right: a sign and a word, never colour alone. Must not judge answers
 * itself.
 */
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

const LONG_QUESTION = 200;
/** A question with its options, each on a line of its own, as every multiple choice of ours is written. */
const OPTIONS = /\n(?=[A-J]\. )/;

/** @param {Settings} settings @returns {string[]} how tokens were drawn, as far as it is not the usual way */
export function sampling(settings) {
  if (!(settings.temperature > 0)) return ["greedy"];
  return Object.entries(settings)
    .filter(([name, value]) => {
      const row = Object.hasOwn(SETTINGS_TABLE, name) ? SETTINGS_TABLE[/** @type {keyof Settings} */ (name)] : null;
      return row?.forSampling && value !== row.default;
    })
    .map(([name, value]) => `${name} ${value}`);
}

/**
 * Its stem and its options, which stand on one line where there is room; joined they are the question.
 * @param {string} question
 */
function questionParts(question) {
  const [stem, ...options] = question.split(OPTIONS);
  if (options.length < 2) return [question];
  return [
    html("strong", { class: "cv-stem" }, stem),
    ...options.flatMap((option) => ["\n", html("span", { class: "cv-option" }, option)]),
  ];
}

export class Head {
  from = "";

  constructor() {
    this.question = html("p", { class: "cv-question cv-clamped" });
    const onclick = () => {
      const clamped = this.question.classList.toggle("cv-clamped");
      setText(this.more, clamped ? "Show all" : "Show less");
      this.more.setAttribute("aria-expanded", String(!clamped));
    };
    this.more = button("Show all", "cv-link", { hidden: true, "aria-expanded": "false", onclick });
    this.root = html("div", { class: "cv-question-block", hidden: true }, this.question, this.more);
    this.pair = html("span", {});
    this.mode = html("span", { class: "cv-mode", hidden: true });
    /** Whose run it is and where it comes from: of this run, whatever pair is loaded. */
    this.flag = html("span", { class: "cv-outside", hidden: true });
    this.origin = html("p", { class: "cv-origin" }, this.pair, this.mode, this.flag);
    this.provenance = html("p", { class: "cv-caption cv-provenance" });
    this.status = html("span", { class: "cv-status-text" });
    this.alert = html("span", { class: "cv-status-error", role: "alert" });
    this.statusRow = html("div", { class: "cv-status", hidden: true }, this.status, this.alert);
  }

  /**
   * A state in words; "" clears it.
   * @param {string} text
   * @param {{isError?: boolean, busy?: boolean}} [how]
   */
  setStatus(text, { isError = false, busy = false } = {}) {
    setText(this.alert, isError ? text : "");
    setText(this.status, isError ? "" : text);
    this.statusRow.dataset.busy = String(busy && !isError);
    this.statusRow.hidden = text === "";
  }

  /**
   * Where the run comes from, in a word.
   * @param {string} text
   * @param {string} mode for the look
   */
  setMode(text, mode) {
    this.from = text;
    setText(this.mode, text);
    this.mode.dataset.mode = mode;
    this.mode.hidden = false;
  }

  /** What a reader should know of this run before its text; "" for nothing. @param {string} text */
  setFlag(text) {
    setText(this.flag, text);
    this.flag.hidden = text === "";
  }

  /** @param {RunView} how */
  update({ head, origin }) {
    const from = origin ? "Rewritten here" : this.from;
    setText(this.mode, from);
    this.mode.hidden = from === "";
    const question = head?.prompt?.question ?? "";
    if (this.question.textContent !== question) this.question.replaceChildren(...questionParts(question));
    this.root.hidden = !question;
    this.more.hidden = question.length < LONG_QUESTION;
    setText(this.pair, head?.pair.name ?? "");
    if (!head) {
      setText(this.provenance, "");
      return;
    }
    const { pair, router, settings, record, parent } = head;
    const parts = [
      head.title,
      `${pair.slm.name} + ${pair.llm.name}`,
      `router ${router.name}`,
      `τ ${formatTau(settings.threshold)}`,
      ...sampling(settings),
      parent ? `branch from token ${parent.fork + 1}` : null,
      record?.date ? `${record.date.slice(0, 10)} on ${record.hardware}` : null,
    ];
    setText(this.provenance, parts.filter(Boolean).join(" · "));
  }
}
