/**
 * Two runs side by side: text with what the other does not have, verdict, share and cost.
 *
 * Must not know where runs come from. Text goes in through text nodes, like everywhere.
 */

import { decisiveWords } from "./counters.js";
import { button, caption, html } from "./dom.js";
import { percent, plural, quantity } from "../run/format.js";
import { largeButton } from "./large.js";
import { fillTokenText } from "./text.js";
import { verdictMark } from "./branch_strip.js";

export class ComparePanel {
  /** @param {() => void} onClose */
  constructor(onClose) {
    this.columns = html("div", { class: "cv-compare-columns" });
    this.root = html("section", { class: "cv-compare cv-panel", "aria-label": "Two runs compared", hidden: true }, [
      html("div", { class: "cv-row" }, [
        html("h2", { class: "cv-heading" }, "Compared"),
        largeButton("The comparison"),
        button("Close", "cv-link", { onclick: () => onClose() }),
      ]),
      this.columns,
    ]);
  }

  hide() {
    this.root.hidden = true;
  }

  /** @param {BranchBook} book @param {[number, number]} ids @param {(trace: Trace) => Totals} totalsOf */
  show(book, ids, totalsOf) {
    const [one, other] = ids.map((id) => book.get(id));
    if (!one || !other) return;
    const changed = book.compare(one, other);
    this.columns.replaceChildren(
      this.#column(one, changed.ours, totalsOf),
      this.#column(other, changed.theirs, totalsOf),
    );
    this.root.hidden = false;
  }

  /** @param {BranchEntry} how @param {Uint8Array} changed @param {(trace: Trace) => Totals} totalsOf */
  #column({ name, trace }, changed, totalsOf) {
    const totals = totalsOf(trace);
    const { bytes, llmShare, handOffs } = totals;
    const text = html("p", { class: "cv-compare-text" });
    trace.events.forEach((event, i) => {
      if (event.text === "") return;
      const node = html("span", {
        class: `cv-t ${event.source === "llm" ? "cv-llm cv-c0" : "cv-slm cv-c0"}${changed[i] ? " cv-changed" : ""}`,
      });
      fillTokenText(node, event.text);
      text.append(node);
    });
    const nChanged = changed.reduce((sum, one) => sum + one, 0);
    return html("div", { class: "cv-compare-column" }, [
      html("h3", { class: "cv-subheading" }, [`${name} `, verdictMark(trace, (word) => ` ${word}`)]),
      caption(
        `${plural(trace.events.length, "token")}, ${nChanged} of them only here · ` +
          `${percent(llmShare, 0)} LLM, ${decisiveWords(totals)} decisive · ${plural(handOffs, "hand-off")} ` +
          `· ${quantity("bytes", bytes)}, estimated`,
      ),
      text,
    ]);
  }
}
