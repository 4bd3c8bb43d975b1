/**
 * The run at a glance, beside its text: the LLM's share and the decisive tokens in big figures, and what was moved,
 * beside either model alone, as three bars.
 *
 * Must not know the DOM around it or how totals came about. The bars share one unit, so that they can be compared.
 */

import { decisiveWords } from "./counters.js";
import { button, html, setText, term } from "./dom.js";
import { percent, significant, unitFor } from "../run/format.js";
import { looksWords } from "../run/looks.js";

/** @type {[CostLine, string][]} */
const BARS = [
  ["slmOnly", "SLM alone"],
  ["routed", "Routed"],
  ["llmOnly", "LLM alone"],
];
const ESTIMATED = "Memory moved, estimated from the models’ sizes; the cost line below says how";

export class Figures {
  /**
   * @param {(kept: import("../run/run_look.js").KeptTokens) => void} onKeep whose tokens are to stand out, or not
   * @param {string} [glossary] its address
   */
  constructor(onKeep, glossary) {
    /** @param {string} look @param {string} title @param {import("../run/run_look.js").KeptTokens} kept */
    const figure = (look, title, kept) => button("–", `cv-figure ${look}`, { title, onclick: () => onKeep(kept) });
    this.share = figure("cv-figure-share", "Show only what the LLM wrote", "llm");
    this.decisive = figure("cv-figure-decisive", "Show only the decisive tokens", "decisive");
    const numbers = html("dl", { class: "cv-figures-numbers" }, [
      html("div", {}, [
        html("dt", {}, html("span", { class: "cv-wide" }, "of the tokens "), "by the LLM"),
        html("dd", {}, this.share),
      ]),
      html("div", { title: "LLM tokens where the SLM would have written another one" }, [
        html("dt", {}, term("decisive", glossary)),
        html("dd", {}, this.decisive),
      ]),
    ]);
    this.looks = html("p", { class: "cv-muted", hidden: true });
    /** @type {Record<string, {bar: HTMLElement, value: HTMLElement}>} */
    this.bars = {};
    const rows = BARS.map(([line, label]) => {
      const bar = html("span", { class: `cv-moved-bar cv-moved-${line}` });
      const value = html("dd", {}, "–");
      this.bars[line] = { bar, value };
      const track = html("span", { class: "cv-moved-track", "aria-hidden": "true" }, bar);
      return html("div", { class: `cv-moved cv-moved-row-${line}` }, html("dt", {}, label), track, value);
    });
    this.root = html("section", { class: "cv-figures", "aria-label": "This run in figures" }, [
      numbers,
      this.looks,
      html("dl", { class: "cv-moved-list", title: ESTIMATED }, ...rows),
    ]);
  }

  /** @param {RunView} view */
  update({ series, shown, events, costModel }) {
    const totals = series.totals(shown);
    const isEmpty = totals.nTokens === 0;
    setText(this.share, isEmpty ? "–" : percent(totals.llmShare, 0));
    setText(this.decisive, isEmpty ? "–" : decisiveWords(totals));
    setText(this.looks, looksWords(costModel, events.slice(0, shown)));
    this.looks.hidden = this.looks.textContent === "";
    const moved = BARS.map(([line]) => series.at(line, "bytes", shown));
    const most = Math.max(...moved);
    const unit = unitFor("bytes", most);
    BARS.forEach(([line], i) => {
      const { bar, value } = this.bars[line];
      bar.style.width = most ? percent(moved[i] / most, 2) : "0";
      setText(value, isEmpty ? "–" : `${significant(moved[i] / unit.scale)} ${unit.name}`);
    });
  }
}
