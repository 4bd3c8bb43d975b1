/**
 * The dialog in which a pair is chosen: what each needs, what will happen, progress, Cancel and what came of it.
 *
 * Draws and reports; must not know the server. A native modal dialog, so that focus stays in it and Escape closes it.
 */

import { html, plainButton, setText } from "../viewer/dom.js";
import { bytesInWords, dtypeOf, factsOf, planOf, progressOf, roomInWords, whyNot } from "./pair_words.js";

const OWN = "own";

/**
 * @param {string} name of the group @param {string} value @param {string|null} chosen
 * @param {(value: string) => void} act
 */
const radioOf = (name, value, chosen, act) =>
  html("input", { type: "radio", name, value, checked: value === chosen, onchange: () => act(value) });

export class PairPicker {
  /** @type {PairList|null} */
  listed = null;
  /** @type {string|null} */
  chosen = null;
  /** @type {string|null} */
  dtype = null;
  /** @type {PairChange|null} */
  change = null;
  isOwn = false;
  said = "";
  /** @type {[HTMLInputElement, HTMLInputElement]|null} */
  own = null;

  /**
   * @param {HTMLElement} place the dialog is appended here
   * @param {{onLoad: (pair: string, dtype: string) => void, onCancel: () => void}} on
   */
  constructor(place, on) {
    this.on = on;
    this.loaded = html("p", { class: "cx-pairs-loaded" });
    this.list = html("fieldset", { class: "cx-pairs-list" });
    this.precision = html("fieldset", { class: "cx-pairs-precision" });
    this.plan = html("p", { class: "cx-pairs-plan" });
    this.bar = html("progress", { class: "cx-pairs-bar", max: 1, "aria-label": "Progress" });
    this.state = html("p", { class: "cx-pairs-state", role: "status" });
    this.load = plainButton("Load this pair", "cx-pairs-load", () => this.#load());
    this.cancel = plainButton("Cancel", "cx-quiet", () => this.on.onCancel());
    this.close = plainButton("Close", "cx-quiet", () => this.dialog.close());
    this.note = html("p", { class: "cx-pairs-note" });
    /** A click on the backdrop is one on the dialog itself: everything else is inside one of its parts. */
    const onclick = (/** @type {Event} */ event) => event.target === this.dialog && this.dialog.close();
    this.dialog = html("dialog", { class: "cx-pairs", "aria-labelledby": "cx-pairs-title", onclick }, [
      html("div", { class: "cx-pairs-head" }, html("h2", { id: "cx-pairs-title" }, "Pair of models"), this.close),
      this.loaded,
      this.precision,
      html("div", { class: "cx-pairs-body" }, this.list, this.note),
      html("div", { class: "cx-pairs-foot" }, [
        this.plan,
        this.bar,
        this.state,
        html("div", { class: "cx-pairs-go" }, this.cancel, this.load),
      ]),
    ]);
    place.append(this.dialog);
  }

  get isOpen() {
    return this.dialog.open;
  }

  /** Opens it before the list is known: `show` fills it. */
  open() {
    if (this.dialog.open) return;
    setText(this.loaded, "Looking at what is here and how much memory is free…");
    this.#drawFoot();
    this.dialog.showModal();
  }

  /** @param {PairList} listed what `list_pairs` gives @param {string|null} wanted a pair to be chosen at first */
  show(listed, wanted = null) {
    this.listed = listed;
    const rows = listed.pairs;
    /** @param {PairRow} row */
    const canLoad = (row) => !whyNot(row, this.dtype ?? "", listed);
    if (wanted !== null && rows.some((row) => row.name === wanted)) this.chosen = wanted;
    else if (!this.chosen || !rows.some((row) => row.name === this.chosen && canLoad(row)))
      this.chosen = rows.find(canLoad)?.name ?? rows[0]?.name ?? null;
    this.dtype ??= rows.map((row) => Object.keys(row.variants)[0]).at(-1) ?? null;
    const free =
      listed.free_bytes === null
        ? "how much memory is free is not known"
        : `${bytesInWords(listed.free_bytes)} of memory free on this ${listed.device === "cpu" ? "machine" : "device"}`;
    const now = rows.find((row) => Object.values(row.variants).some((variant) => variant.is_loaded));
    setText(
      this.loaded,
      `${now ? `${now.title} is loaded` : "Another pair is loaded"}; ${free}. The pair is the ` +
        "server’s: everyone on this page gets the new one.",
    );
    setText(this.note, listed.note);
    this.#drawPrecision();
    this.#drawList();
    this.#drawFoot();
  }

  /** Where the pair cannot be changed: which one is loaded, and why it stays. @param {EngineStatus} status */
  showOff(status) {
    setText(this.loaded, `${status.pair ?? "No pair"} is loaded (${status.message}).`);
    setText(this.note, status.picker?.why ?? "");
    this.list.hidden = this.precision.hidden = this.load.hidden = true;
  }

  /**
   * @param {PairChange|null} change the one that goes on, or the last one
   * @param {boolean} isOwn whether this page began it, and may cancel it
   */
  setChange(change, isOwn = false) {
    if (change && !change.is_over) this.said = "";
    this.change = change;
    this.isOwn = isOwn;
    if (this.dialog.open) this.#drawFoot();
  }

  /** Something that the server refused. @param {string} words */
  say(words) {
    this.said = words;
    this.#drawFoot();
  }

  #row() {
    return this.listed?.pairs.find((row) => row.name === this.chosen) ?? null;
  }

  #drawList() {
    const { listed } = this;
    if (!listed) return;
    /** @type {HTMLElement[]} */
    const cards = listed.pairs.map((row) => this.#card(row, listed));
    if (listed.allows_own) cards.push(this.#ownCard());
    this.list.replaceChildren(html("legend", { class: "cx-hidden" }, "Pairs"), ...cards);
  }

  /** @param {PairRow} row @param {PairList} listed */
  #card(row, listed) {
    const why = whyNot(row, this.dtype ?? "", listed);
    const radio = radioOf("cx-pair-choice", row.name, this.chosen, (name) => this.#choose(name));
    const marks = html("span", { class: "cx-pairs-marks" }, [
      why === "Loaded now." ? html("span", { class: "cx-pairs-mark" }, "loaded") : null,
      row.is_gated ? html("span", { class: "cx-pairs-mark" }, "gated") : null,
    ]);
    const facts = factsOf(row, this.dtype ?? "").map((fact) => html("li", {}, fact));
    return html("label", { class: "cx-pairs-card", "data-off": Boolean(why) && why !== "Loaded now." }, [
      radio,
      html("span", { class: "cx-pairs-text" }, [
        html("span", { class: "cx-pairs-title" }, row.title, marks),
        html("ul", { class: "cx-pairs-facts" }, ...facts),
        why && why !== "Loaded now." ? html("span", { class: "cx-pairs-why" }, why) : null,
      ]),
    ]);
  }

  /** Two models that a person names, where the server takes them. */
  #ownCard() {
    const radio = radioOf("cx-pair-choice", OWN, this.chosen, (name) => this.#choose(name));
    /** @param {string} label @param {string|undefined} value */
    const field = (label, value) => {
      const input = html("input", {
        type: "text",
        "aria-label": label,
        placeholder: `${label}: org/name or a folder`,
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => this.#drawFoot(),
        onfocus: () => {
          radio.checked = true;
          this.#choose(OWN);
        },
      });
      input.value = value ?? "";
      return input;
    };
    this.own = [field("SLM", this.own?.[0].value), field("LLM", this.own?.[1].value)];
    return html("div", { class: "cx-pairs-card" }, [
      html("label", { class: "cx-pairs-own" }, [
        radio,
        html("span", { class: "cx-pairs-title" }, "Two models of your own, of one family"),
      ]),
      html("div", { class: "cx-pairs-fields" }, ...this.own),
    ]);
  }

  #drawPrecision() {
    const names = [
      ...new Set(
        (this.listed?.pairs ?? []).filter((row) => !row.is_bundled).flatMap((row) => Object.keys(row.variants)),
      ),
    ];
    /** @param {string} name */
    const chosen = (name) => {
      this.dtype = name;
      this.#drawList();
      this.#drawFoot();
    };
    const formats = names.map((name) => html("label", {}, radioOf("cx-pair-dtype", name, this.dtype, chosen), name));
    this.precision.hidden = names.length < 2;
    this.precision.replaceChildren(html("legend", {}, "Number format of the weights"), ...formats);
  }

  /** @param {string} name */
  #choose(name) {
    this.chosen = name;
    this.said = "";
    this.#drawFoot();
  }

  #ownPair() {
    const [slm, llm] = (this.own ?? []).map((input) => input.value.trim());
    return slm && llm ? `${slm},${llm}` : "";
  }

  #drawFoot() {
    const { change, listed } = this;
    const hadFocus = this.dialog.open && [this.load, this.cancel].some((node) => node === document.activeElement);
    const isGoing = change !== null && !change.is_over;
    const row = this.#row();
    const isOwn = this.chosen === OWN;
    const why = row && listed ? whyNot(row, this.dtype ?? "", listed) : "";
    const canLoad = Boolean(listed) && !isGoing && (isOwn ? Boolean(this.#ownPair()) : Boolean(row) && !why);
    const { words, share } = change ? progressOf(change) : { words: "", share: null };
    setText(this.state, isGoing ? `${change.title}: ${words}` : this.said || words);
    this.state.dataset.tone = !isGoing && (this.said || change?.stage === "failed") ? "bad" : "calm";
    setText(
      this.plan,
      isGoing || !listed
        ? ""
        : isOwn
          ? `What is missing is downloaded first. ${roomInWords("after")}`
          : why || (row ? planOf(row, this.dtype ?? "") : ""),
    );
    this.bar.hidden = !isGoing;
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    this.cancel.hidden = !isGoing || !this.isOwn;
    setText(this.cancel, change?.is_cancelling ? "Cancelling…" : "Cancel");
    this.load.disabled = !canLoad;
    this.load.hidden = isGoing;
    // A button that disappears under the focus would throw the keyboard out of the dialog.
    if (
      hadFocus &&
      !this.dialog.contains(document.activeElement?.closest("button:not(:disabled):not([hidden])") ?? null)
    ) {
      const next = isGoing ? (this.isOwn ? this.cancel : this.close) : canLoad ? this.load : this.close;
      next.focus();
    }
  }

  #load() {
    this.said = "";
    const row = this.#row();
    this.on.onLoad(row ? row.name : this.#ownPair(), row ? dtypeOf(row, this.dtype ?? "") : (this.dtype ?? ""));
  }
}
