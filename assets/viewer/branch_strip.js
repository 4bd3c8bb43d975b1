/**
 * The run and its branches as a strip: choose one, rename it, delete it, mark two to compare, which stand side by side.
 *
 * Must not know how branches are made; it reads a `BranchBook` and calls back. Text goes in through text nodes.
 */

import { button, html, refill, caption } from "./dom.js";
import { percent, plural, quantity } from "../run/format.js";
import { decisiveWords } from "./counters.js";
import { largeButton } from "./large.js";
import { fillTokenText } from "./text.js";

/** Two runs side by side: text with what the other does not have, verdict, share and cost. */
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

/** @type {Map<unknown, [string, string]>} */
const VERDICT_WORDS = new Map([
  [true, ["✓", "right"]],
  [false, ["✕", "wrong"]],
]);

/** How a run ended, in a sign and a word. @param {Trace} trace @param {(word: string) => string|Node} said */
export function verdictMark(trace, said) {
  const [sign, word] = VERDICT_WORDS.get(trace.answer?.is_correct) ?? ["?", "not checked"];
  const shown = html("span", { "aria-hidden": "true" }, sign);
  return html("span", { class: "cv-verdict", "data-verdict": word.split(" ")[0] }, shown, said(word));
}

export class BranchStrip {
  /**
   * @param {{onShow: (id: number) => void, onRename: (id: number, name: string) => void,
   *   onDelete: (id: number) => void, onCompare: (ids: [number, number]|null) => void}} on
   */
  constructor(on) {
    this.on = on;
    /** @type {number[]} */
    this.compared = [];
    /** @type {number|null} */
    this.renaming = null;
    this.list = html("ol", { class: "cv-branch-list" });
    this.hint = html("p", { class: "cv-caption" });
    this.root = html("section", { class: "cv-branches", "aria-label": "Branches", hidden: true }, this.list, this.hint);
  }

  /**
   * @param {BranchBook} book
   * @param {(trace: Trace) => Totals} totalsOf
   * @param {boolean} isBusy a run is being written: nothing may be chosen
   */
  update(book, totalsOf, isBusy) {
    this.root.hidden = book.entries.length < 2;
    this.root.inert = isBusy;
    this.compared = this.compared.filter((id) => book.get(id));
    this.hint.textContent = this.compared.length === 1 ? "Mark another one to compare the two." : "";
    const items = () => book.entries.map((entry) => this.#item(entry, book, totalsOf));
    if (!refill(this.list, items)) this.list.querySelector("button")?.focus();
  }

  /** @param {BranchEntry} entry @param {BranchBook} book @param {(trace: Trace) => Totals} totalsOf */
  #item(entry, book, totalsOf) {
    const { id, name, trace } = entry;
    const isShown = book.shownId === id;
    const { bytes, llmShare } = totalsOf(trace);
    const parent = book.get(entry.parentId);
    const nChanged = book.changes(entry)?.reduce((sum, one) => sum + one, 0) ?? 0;
    const origin = parent
      ? `from token ${entry.fork + 1} of ${parent.name}, ${plural(nChanged, "token")} changed`
      : plural(trace.events.length, "token");
    const how = { type: "button", class: "cv-branch-show", "aria-pressed": String(isShown), "data-key": `show-${id}` };
    const show = html("button", { ...how, onclick: () => this.on.onShow(id) }, [
      html("span", { class: "cv-branch-name" }, [
        name,
        " ",
        verdictMark(trace, (word) => html("span", { class: "cv-sr" }, word)),
      ]),
      html("span", { class: "cv-branch-facts" }, `${percent(llmShare, 0)} LLM · ${quantity("bytes", bytes)}`),
      html("span", { class: "cv-branch-facts" }, origin),
    ]);
    const mark = html("input", {
      type: "checkbox",
      "data-key": `mark-${id}`,
      checked: this.compared.includes(id),
      onchange: () => {
        // A third mark replaces the oldest.
        this.compared = mark.checked ? [...this.compared, id].slice(-2) : this.compared.filter((other) => other !== id);
        const [one, other] = this.compared;
        this.on.onCompare(this.compared.length === 2 ? [one, other] : null);
      },
    });
    const tools = html("div", { class: "cv-branch-tools" }, [
      html("label", { class: "cv-check" }, mark, " Compare", html("span", { class: "cv-sr" }, ` ${name}`)),
    ]);
    if (this.renaming === id) return html("li", { class: "cv-branch" }, this.#nameField(entry), tools);
    /** @param {string} word @param {() => void} onclick */
    const tool = (word, onclick) =>
      button(word, "cv-link", { "aria-label": `${word} ${name}`, "data-key": `${word.toLowerCase()}-${id}`, onclick });
    const rename = () => {
      this.renaming = id;
      const field = this.#nameField(entry);
      show.replaceWith(field);
      field.focus();
      field.select();
    };
    tools.append(tool("Rename", rename));
    if (parent) tools.append(tool("Delete", () => this.on.onDelete(id)));
    return html("li", { class: "cv-branch" }, show, tools);
  }

  /** @param {BranchEntry} entry */
  #nameField(entry) {
    /** @param {string} name */
    const done = (name) => {
      if (this.renaming !== entry.id) return;
      this.renaming = null;
      this.on.onRename(entry.id, name);
      /** @type {HTMLElement|null} */
      const rename = this.list.querySelector(`[data-key="rename-${entry.id}"]`);
      rename?.focus();
    };
    const field = html("input", {
      type: "text",
      class: "cv-field",
      value: entry.name,
      maxlength: 60,
      "aria-label": "New name",
      "data-key": `name-${entry.id}`,
      onblur: () => done(field.value),
      onkeydown: (event) => {
        if (event.key === "Enter") done(field.value);
        else if (event.key === "Escape") done(entry.name);
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
    return field;
  }
}
