/**
 * The run in seven numbers. Must not know the DOM around it or how totals came about.
 */

import { html, setText } from "./dom.js";
import { percent, quantity, significant } from "../run/format.js";

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
    setText(this.values.tokens, totals.nTokens.toLocaleString("en-US"));
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
