/**
 * The routed text: one inline element per token, tinted by writer and certainty.
 *
 * Must not know prices, streaming or what a click does; viewer.js tells it what to draw. It only ever appends, and on a
 * repaint touches only tokens whose look has changed. In a long run those that can be seen come first, and the others
 * when the reader's hand rests, which keeps a tau drag within one frame at any length.
 */

import { certaintyStep, isForced } from "../run/decision.js";
import { endTabStop, html, makeTabStop } from "./dom.js";
import { WRITER_NAMES, probability, plural } from "../run/format.js";
import { MAX_MARKS, SPACED, fillTokenText, setWordApart, spellTex, visibleText } from "./text.js";

const SHOWN_MS = 1400;
const FEW_MARKS = 200;

/**
 * What the LLM took back, where it stood: struck through for a moment, then folded into a mark that opens it again.
 */
class TakenBack {
  /** @param {NonNullable<TokenEvent["discarded"]>} gone @param {boolean} isMath */
  constructor(gone, isMath) {
    const [, slip] = gone[0];
    const words = `${plural(gone.length, "token")} taken back, the first is “${visibleText(slip)}”`;
    this.mark = html("button", { type: "button", class: "cv-crease", "aria-label": words, title: words }, [
      `−${gone.length}`,
    ]);
    this.text = html("del", { class: "cv-gone", hidden: true });
    let marks = 0;
    for (const [, text] of gone) {
      const token = html("span", {});
      if (!isMath || !spellTex(token, text, /** @type {HTMLElement} */ (this.text.lastElementChild) ?? undefined))
        marks += fillTokenText(token, text, FEW_MARKS - marks);
      this.text.append(token);
    }
    this.text.firstElementChild?.classList.add("cv-slip");
    this.root = html("span", { class: "cv-taken-back" }, this.text, this.mark);
    this.mark.addEventListener("click", () => this.#open(Boolean(this.text.hidden)));
    this.#open(false);
  }

  /** @param {boolean} isOpen */
  #open(isOpen) {
    clearTimeout(this.timer);
    this.text.hidden = !isOpen;
    this.mark.setAttribute("aria-expanded", String(isOpen));
  }

  /** Opens it at one of its tokens. @param {number} place */
  openAt(place) {
    this.#open(true);
    for (const [i, token] of [...this.text.children].entries()) token.toggleAttribute("data-pinned", i === place);
  }

  /** Lets it be seen for a moment, unless a person wants no movement. */
  show() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.#open(true);
    this.timer = setTimeout(() => this.#open(false), SHOWN_MS);
  }
}

/** Up to so many tokens are brought up to date at once. */
const AT_ONCE = 1000;
const REST_MS = 120;
const SLICE = 500;
const FEW = 40; // tokens that one reading step shows: who jumps further does not want to watch
/** Looks that draw something around a token or beside it. */
const FRAMED = / cv-(flip|fork|match-now)\b/;

export class TokenPanel {
  /** @type {HTMLElement[]} */
  nodes = [];
  /** @type {string[]} */
  looks = [];
  /** @type {Map<number, TakenBack>} what the LLM took back, by the token that it wrote instead */
  takenBack = new Map();
  /** @type {number|null} */
  tabStop = null;
  /** @type {number|null} */
  pinned = null;
  /** @type {number|null} */
  hovered = null;
  /** @type {RunView|null} */
  late = null;
  /** @type {ReturnType<typeof setTimeout>|null} */
  restTimer = null;
  nRead = Infinity;
  shown = 0;
  marks = 0;
  follow = true;
  isBehind = false;

  constructor() {
    this.text = html("div", { class: "cv-text", role: "group", "aria-label": "Routed text" });
    this.scroller = html("div", { class: "cv-text-scroller" }, this.text);
    this.root = this.scroller;
    this.reset();
    // Before the frame that shows the place: a reader never sees what is still to be brought up to date.
    this.scroller.addEventListener(
      "scroll",
      () => {
        if (this.late) this.#paint(this.late, ...this.#visible());
      },
      { passive: true },
    );
  }

  reset() {
    clearTimeout(this.restTimer ?? undefined);
    this.restTimer = this.late = null;
    // Before anything changes: behind it, each question about places costs a layout.
    if (this.nodes.length > 0 && this.scroller.scrollTop > 0) this.scroller.scrollTop = 0;
    this.text.replaceChildren();
    this.text.classList.remove("cv-spaced");
    this.nodes = [];
    this.looks = [];
    this.takenBack.clear();
    this.nRead = Infinity;
    this.shown = 0;
    this.marks = 0;
    this.tabStop = null;
    this.pinned = null;
    this.hovered = null;
    this.follow = true;
  }

  /** The token that an event happened on, or null. @param {EventTarget|null} target */
  indexOf(target) {
    const node = target instanceof Element ? /** @type {HTMLElement|null} */ (target.closest(".cv-t")) : null;
    return node && this.text.contains(node) ? Number(node.dataset.i) : null;
  }

  /** Draws tokens that are not there yet. @param {RunView} view */
  append(view) {
    this.#forget(view);
    const first = this.nodes.length;
    if (view.n === first) return;
    // Text that comes at a pace is followed as it is shown; to ask here would cost a layout of all of it.
    const isAtOnce = view.live && view.shown >= view.n;
    // Someone who scrolled up to read wants to stay there.
    if (isAtOnce) {
      this.follow = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 48;
    }
    const isMath = view.head?.prompt.data_type === "math";
    const fragment = document.createDocumentFragment();
    for (let i = first; i < view.n; i++) {
      const node = document.createElement("span");
      node.dataset.i = String(i);
      const { text } = view.events[i];
      if (text === "") node.dataset.mark = "•";
      else if (!isMath || !spellTex(node, text, this.nodes[i - 1]))
        this.marks += fillTokenText(node, text, MAX_MARKS - this.marks);
      // Spaces that mean something are kept; without them none is drawn at the end of a line.
      if (SPACED.test(text)) this.text.classList.add("cv-spaced");
      node.className = this.looks[i] = this.#look(view, i);
      if (FRAMED.test(node.className)) setWordApart(node);
      this.nodes.push(node);
      const gone = view.events[i].discarded;
      if (gone) {
        const taken = new TakenBack(gone, isMath);
        this.takenBack.set(i, taken);
        fragment.append(taken.root);
        taken.root.hidden = i >= view.shown;
        if (isAtOnce) taken.show();
      }
      fragment.append(node);
    }
    this.text.append(fragment);
    if (this.tabStop === null) this.#moveTabStop(0, view);
    this.isBehind = this.follow && isAtOnce;
  }

  /** Takes away what the LLM took back; a command of LaTeX may begin in the token before. @param {RunView} view */
  #forget(view) {
    const first = Math.max(0, Math.min(this.nodes.length, view.redrawFrom - 1));
    view.redrawFrom = Infinity;
    for (const node of this.nodes.splice(first)) node.remove();
    this.looks.length = this.nodes.length;
    for (const [index, taken] of this.takenBack) {
      if (index < first) continue;
      taken.root.remove();
      this.takenBack.delete(index);
    }
    if (this.tabStop !== null && this.tabStop >= first) this.tabStop = null;
  }

  /** Scrolls to the newest token, where it is followed: once all else is drawn, so that one layout does for both. */
  keepUp() {
    if (!this.isBehind) return;
    this.isBehind = false;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    if (this.#isWhole) this.nodes[this.nodes.length - 1].scrollIntoView({ block: "nearest" });
  }

  /**
   * The end-of-text token has no text of its own; it is known only once the run has ended with it.
   * @param {RunView} view
   */
  markEnd(view) {
    const last = view.n - 1;
    if (last < 0 || view.finishReason !== "eos" || view.events[last].text !== "") return;
    this.nodes[last].dataset.mark = "end";
  }

  /** @param {RunView} view @param {number} i */
  #look(view, i) {
    const event = view.events[i];
    const { isLlm, isFlipped, decisive, nExact } = view.decisions;
    const tau = view.whatIf ?? event.threshold;
    let look = `cv-t ${isLlm[i] ? "cv-llm" : "cv-slm"} cv-c${certaintyStep(event.slm_confidence, tau)}`;
    if (i >= this.nRead && !isLlm[i]) look += " cv-unread";
    if (isFlipped[i]) look += " cv-flip";
    if (decisive[i] > 0) look += " cv-decisive";
    if (i >= nExact && !view.isPending) look += " cv-hyp";
    if (isForced(event)) look += " cv-forced";
    if (view.changed?.[i]) look += " cv-changed";
    if (view.forkAt === i) look += " cv-fork";
    if (view.matches?.[i]) look += view.matches[i] === 2 ? " cv-match cv-match-now" : " cv-match";
    if (event.text === "") look += " cv-empty";
    if (i >= view.shown) look += " cv-off";
    return look;
  }

  /**
   * Brings tokens `from` to `to` up to date: all of a short run, of a long one those in sight, and soon the others.
   * @param {RunView} view
   */
  repaint(view, from = 0, to = this.nodes.length) {
    if (to - from <= AT_ONCE && this.restTimer === null) {
      this.#paint(view, from, to);
      return;
    }
    const [first, end] = this.#visible();
    this.#paint(view, Math.max(from, first), Math.min(to, end));
    this.late = view;
    clearTimeout(this.restTimer ?? undefined);
    this.restTimer = setTimeout(() => this.#paintRest(0), REST_MS);
  }

  /** @param {number} from */
  #paintRest(from) {
    if (this.late) this.#paint(this.late, from, Math.min(this.nodes.length, from + SLICE));
    const isDone = from + SLICE >= this.nodes.length;
    this.restTimer = isDone ? null : setTimeout(() => this.#paintRest(from + SLICE), 0);
    if (isDone) this.late = null;
  }

  /** The tokens in sight and a screenful before and after, as [first, end). @returns {[number, number]} */
  #visible() {
    const frame = this.scroller.getBoundingClientRect();
    /** @param {(box: DOMRect) => boolean} isThere */
    const firstAt = (isThere) => {
      let low = 0;
      let high = this.nodes.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isThere(this.nodes[middle].getBoundingClientRect())) high = middle;
        else low = middle + 1;
      }
      return low;
    };
    return [
      firstAt((box) => box.bottom > frame.top - frame.height),
      firstAt((box) => box.top > frame.bottom + frame.height),
    ];
  }

  /** @param {RunView} view @param {number} from @param {number} to */
  #paint(view, from, to) {
    for (let i = from; i < to; i++) {
      const look = this.#look(view, i);
      if (look === this.looks[i]) continue;
      if (FRAMED.test(look)) setWordApart(this.nodes[i]);
      this.nodes[i].className = this.looks[i] = look;
    }
  }

  /**
   * Shows the first `view.shown` tokens only; the rest keeps its place, so nothing jumps.
   * @param {RunView} view
   * @param {number} previous
   */
  reveal(view, previous) {
    this.repaint(view, Math.min(previous, view.shown), Math.min(this.nodes.length, Math.max(previous, view.shown)));
    for (const [index, taken] of this.takenBack) {
      const isNew = index >= previous && index < view.shown;
      taken.root.hidden = index >= view.shown;
      if (isNew && view.shown - previous <= FEW) taken.show();
    }
  }

  /**
   * Marks what the LLM has not read, the hovered and the pinned token; the pinned one becomes the single tab stop.
   * @param {RunView} view
   */
  mark(view) {
    const [nRead, before] = [view.nRead, this.nRead];
    this.nRead = nRead;
    if (nRead !== before)
      this.repaint(view, Math.min(nRead, before), Math.min(this.nodes.length, Math.max(nRead, before)));
    if (this.hovered !== view.hovered) {
      this.nodes[this.hovered ?? -1]?.removeAttribute("data-hover");
      const hovered = this.nodes[view.hovered ?? -1];
      hovered?.setAttribute("data-hover", "");
      // Selected text has to stay where it is: what is moved falls out of the selection.
      if (hovered && document.getSelection()?.isCollapsed !== false) setWordApart(hovered);
      this.hovered = view.hovered;
    }
    if (this.pinned !== view.pinned) {
      for (const node of this.text.querySelectorAll("[data-pinned]")) node.removeAttribute("data-pinned");
      this.nodes[view.pinned ?? -1]?.setAttribute("data-pinned", "");
      this.pinned = view.pinned;
      const pinned = this.nodes[view.pinned ?? -1];
      if (pinned) setWordApart(pinned);
      if (view.pinned !== null) this.#moveTabStop(view.pinned, view);
      else if (this.tabStop !== null) this.#moveTabStop(this.tabStop, view);
    }
  }

  /**
   * Only one token has a role at a time, so a screen reader reads the rest as plain running text.
   * @param {number} index
   * @param {RunView} view
   */
  #moveTabStop(index, view) {
    const old = this.nodes[this.tabStop ?? -1];
    if (old && this.tabStop !== index) endTabStop(old);
    this.tabStop = index;
    const node = this.nodes[index];
    if (!node) return;
    const event = view.events[index];
    const writer = WRITER_NAMES[view.decisions.isLlm[index] ? "llm" : "slm"];
    const confidence = `SLM confidence ${probability(event.slm_confidence)}`;
    makeTabStop(
      node,
      index === view.pinned,
      `${visibleText(event.text)}, token ${index + 1}, ${writer}, ${confidence}`,
    );
  }

  /** Puts the keyboard on a token. @param {number} index */
  focus(index) {
    this.nodes[index]?.focus({ preventScroll: true });
    this.scrollTo(index);
  }

  /** Whether the text stands on the page at its whole length, as on a phone, so that the page scrolls for it. */
  get #isWhole() {
    return getComputedStyle(this.scroller).overflowY === "visible";
  }

  /** The page stays where it is, unless the text has no frame of its own. @param {number} index */
  scrollTo(index) {
    const node = this.nodes[index];
    if (!node) return;
    if (this.#isWhole) {
      node.scrollIntoView({ block: "nearest" });
      return;
    }
    const box = node.getBoundingClientRect();
    const frame = this.scroller.getBoundingClientRect();
    if (box.top < frame.top + 8) this.scroller.scrollTop -= frame.top + 40 - box.top;
    else if (box.bottom > frame.bottom - 8) this.scroller.scrollTop += box.bottom + 40 - frame.bottom;
  }

  /** Dims the other tokens; null shows all alike. @param {import("../run/run_look.js").KeptTokens|null} kept */
  setFilter(kept) {
    if (kept) this.text.dataset.filter = kept;
    else delete this.text.dataset.filter;
  }

  /** Tints by the distance from tau instead of by writer alone. @param {boolean} isOn */
  setCertainty(isOn) {
    this.text.classList.toggle("cv-certainty", isOn);
  }
}
