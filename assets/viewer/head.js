/**
 * What frames a run: its question above the text, where it comes from below the chart, and the state in words.
 *
 * Must not know tokens or decisions. Three elements that viewer.js places.
 */

import { button, html, setText } from "./dom.js";
import { formatTau } from "../run/format.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";

const LONG_QUESTION = 260;

/** @param {Settings} settings @returns {string[]} how tokens were drawn, as far as it is not the usual way */
function sampling(settings) {
  if (!(settings.temperature > 0)) return ["greedy"];
  return Object.entries(settings)
    .filter(([name, value]) => {
      const row = Object.hasOwn(SETTINGS_TABLE, name) ? SETTINGS_TABLE[/** @type {keyof Settings} */ (name)] : null;
      return row?.forSampling && value !== row.default;
    })
    .map(([name, value]) => `${name} ${value}`);
}

export class Head {
  constructor() {
    this.question = html("p", { class: "cv-question cv-clamped" });
    this.more = button("Show all", "cv-link", { hidden: true, "aria-expanded": "false" });
    this.more.addEventListener("click", () => {
      const clamped = this.question.classList.toggle("cv-clamped");
      setText(this.more, clamped ? "Show all" : "Show less");
      this.more.setAttribute("aria-expanded", String(!clamped));
    });
    this.root = html("div", { class: "cv-question-block", hidden: true }, this.question, this.more);
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

  /** @param {RunView} how */
  update({ head }) {
    const question = head?.prompt?.question ?? "";
    setText(this.question, question);
    this.root.hidden = !question;
    this.more.hidden = question.length < LONG_QUESTION;
    if (!head) {
      setText(this.provenance, "");
      return;
    }
    const { pair, router, settings, record, parent } = head;
    const parts = [
      head.title,
      `${pair.slm.name} + ${pair.llm.name}`,
      `router ${router.name}`,
      `tau ${formatTau(settings.threshold)}`,
      ...sampling(settings),
      parent ? `branch from token ${parent.fork + 1}` : null,
      record?.date ? `${record.date.slice(0, 10)} on ${record.hardware}` : null,
    ];
    setText(this.provenance, parts.filter(Boolean).join(" · "));
  }
}
