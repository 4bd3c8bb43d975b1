/**
 * The run in seven numbers, and at a glance. Must not know the DOM around it or how totals came about.
 */

import { html, setText, button, term } from "./dom.js";
import { percent, quantity, significant, unitFor } from "../run/format.js";
import { looksWords } from "../run/looks.js";
import { inDigits } from "../run/kinds.js";

/** @type {[CostLine, string][]} */
const BARS = [
  ["slmOnly", "SLM alone"],
  ["routed", "Routed"],
  ["llmOnly", "LLM alone"],
];
const ESTIMATED = "Memory moved, estimated from the models’ sizes; the cost line below says how";

/**
 * The run at a glance, beside its text: the LLM's share and the decisive tokens in big figures, and what was moved,
 * beside either model alone, as three bars.
 */
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

const CELLS = [
  ["tokens", "tokens"],
  ["share", "by the LLM"],
  ["decisive", "decisive tokens"],
  ["moved", "moved, estimated"],
  ["saved", "of LLM-only bytes"],
  ["handOffs", "hand-offs"],
  ["speed", "tokens/s, measured"],
];

const DECISIVE_TITLE = "LLM tokens where the SLM would have written another one";

/**
 * How many are decisive, as far as that is known: "2", or "2 to 5" where three are not.
 * @param {{nDecisive: number, nDecisiveUnknown: number}} how
 */
export function decisiveWords({ nDecisive, nDecisiveUnknown }) {
  return nDecisiveUnknown ? `${nDecisive} to ${nDecisive + nDecisiveUnknown}` : String(nDecisive);
}

/**
 * Tokens a second: the run's own as it was measured, or under another price an estimate of that price's. The measured
 * number of one pair never stands beside another one's bytes; and decisions that were never made have no time.
 * @param {RunView} view
 * @returns {{label: string, perSecond: number|null}}
 */
export function speedOf(view) {
  const { nTokens, measuredS } = view.series.totals(view.shown);
  if (view.prices.pricing) {
    const seconds = view.series.at("routed", "seconds", view.shown);
    return { label: "tokens/s, estimated", perSecond: seconds > 0 ? nTokens / seconds : null };
  }
  const timed = measuredS > 0 && view.decisions.firstFlip < 0;
  return { label: "tokens/s, measured", perSecond: timed ? nTokens / measuredS : null };
}

export class Counters {
  constructor() {
    /** @type {Record<string, HTMLElement>} */
    this.values = {};
    /** @type {Record<string, HTMLElement>} */
    this.notes = {};
    this.root = html("dl", { class: "cv-counters" });
    for (const [name, label] of CELLS) {
      this.values[name] = html("dd", { class: "cv-count" }, "–");
      this.notes[name] = html("dt", { class: "cv-count-label" }, label);
      if (name === "decisive") this.notes[name].title = DECISIVE_TITLE;
      this.root.append(html("div", { class: `cv-counter cv-counter-${name}` }, this.notes[name], this.values[name]));
    }
  }

  /** @param {RunView} view */
  update(view) {
    const totals = view.series.totals(view.shown);
    const empty = totals.nTokens === 0;
    setText(this.values.tokens, inDigits(totals.nTokens));
    setText(this.values.share, empty ? "–" : percent(totals.llmShare));
    setText(this.values.decisive, empty ? "–" : decisiveWords(totals));
    setText(this.values.moved, empty ? "–" : quantity("bytes", totals.bytes));
    setText(this.values.saved, empty ? "–" : percent(totals.bytesShare));
    setText(this.values.handOffs, String(totals.handOffs));
    const speed = speedOf(view);
    setText(this.notes.speed, speed.label);
    setText(this.values.speed, speed.perSecond === null ? "–" : significant(speed.perSecond));
  }
}
