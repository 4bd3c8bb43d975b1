/**
 * The run in six numbers. Must not know the DOM around it or how totals came about.
 */

import { html, setText } from "./dom.js";
import { percent, quantity, significant } from "./format.js";

const CELLS = [
  ["tokens", "tokens"],
  ["share", "by the LLM"],
  ["moved", "moved, estimated"],
  ["saved", "of LLM-only bytes"],
  ["handOffs", "hand-offs"],
  ["speed", "tokens/s, measured"],
];

export class Counters {
  constructor() {
    this.values = {};
    this.notes = {};
    this.root = html("dl", { class: "cv-counters" });
    for (const [name, label] of CELLS) {
      this.values[name] = html("dd", { class: "cv-count" }, "–");
      this.notes[name] = html("dt", { class: "cv-count-label" }, label);
      this.root.append(html("div", { class: `cv-counter cv-counter-${name}` }, this.notes[name], this.values[name]));
    }
  }

  update(view) {
    const totals = view.series.totals(view.shown);
    const empty = totals.nTokens === 0;
    setText(this.values.tokens, totals.nTokens.toLocaleString("en-US"));
    setText(this.values.share, empty ? "–" : percent(totals.llmShare));
    setText(this.values.moved, empty ? "–" : quantity("bytes", totals.bytes));
    setText(this.values.saved, empty ? "–" : percent(totals.bytesShare));
    setText(this.values.handOffs, String(totals.handOffs));
    // Nobody has timed decisions that were never made.
    const timed = totals.measuredS > 0 && view.decisions.firstFlip < 0;
    setText(this.values.speed, timed ? significant(totals.nTokens / totals.measuredS) : "–");
  }
}
