/**
 * Presenter mode: the view that is open, alone and in large type, for a projector; in Explore it is driven by keys.
 *
 * Must not know how a view works: the viewer's own keys are sent on to it. Everything else on the page is hidden, not
 * removed, so a run that streams goes on.
 */

import { html, pairs, plainButton, setText, stylesheet } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";

const TAU_STEP = 0.05;
const VIEWER_KEYS = [" ", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "[", "]", "Home", "End", "Enter"];
const PRESENTER_KEYS = [
  ["N P", "next, previous run"],
  ["Space", "play or pause"],
  ["← →", "tokens"],
  ["[ ]", "LLM tokens"],
  ["− +", "tau"],
  ["R", "the run’s tau"],
  ["G", "generate"],
  ["F", "full screen"],
  ["?", "keys"],
  ["Esc", "let go, leave"],
];
const EVERYWHERE = ["F", "?", "Esc"];

/** Keys that this script has sent on to the viewer itself. */
const sentOn = new WeakSet();

/** @type {Presenter|null} */
let presenting = null;

class Presenter {
  /** @param {Page} page @param {HTMLElement|null} returnTo */
  constructor(page, returnTo) {
    this.page = page;
    this.returnTo = returnTo;
    this.title = html("strong", { class: "cp-title" });
    this.tau = html("span", { class: "cp-tau" });
    const keys = PRESENTER_KEYS.filter(([key]) => this.isOfRun || EVERYWHERE.includes(key));
    this.keys = pairs("cp-keys", keys, { hidden: true });
    this.leave = plainButton("Leave", "ct-button", () => this.end());
    this.help = plainButton("Keys (?)", "ct-button", () => this.showKeys(), { "aria-expanded": "false" });
    this.root = html("section", { class: "citer-presenter", "aria-label": "Presenter" }, [
      this.keys,
      html("div", { class: "cp-row" }, this.title, this.tau, this.help, this.leave),
    ]);
    this.abort = new AbortController();
    // Before anything else on the page, which has keys of its own.
    document.addEventListener("keydown", (event) => this.pressed(event), { signal: this.abort.signal, capture: true });
    this.timer = setInterval(() => this.update(), 200);
    document.body.append(this.root);
    document.body.classList.add("cx-presenting");
    scrollTo(0, 0);
    this.update();
    this.leave.focus({ preventScroll: true });
  }

  update() {
    const { viewer, views, form, isLive } = this.page;
    const trace = viewer.trace();
    const title = trace ? trace.title || (isLive ? "Live" : "A live run") : "";
    setText(this.title, this.isOfRun ? title : views.title);
    setText(this.tau, this.isOfRun ? `τ ${formatTau(form.tau)}` : "");
  }

  /** Whether a run is shown, which has most of the keys. */
  get isOfRun() {
    return this.page.views.isExplore;
  }

  showKeys() {
    this.keys.hidden = !this.keys.hidden;
    this.help.setAttribute("aria-expanded", String(!this.keys.hidden));
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || sentOn.has(event)) return;
    const onButton =
      event.target instanceof Node && this.root.contains(event.target) && (event.key === " " || event.key === "Enter");
    // A select and a slider of the viewer keep the keys that they need.
    if (event.target instanceof Element && event.target.closest("select, input")) return;
    const action = onButton && event.key === "Enter" ? null : this.actionFor(event.key);
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }

  /** @param {string} key */
  actionFor(key) {
    if (this.isOfRun && VIEWER_KEYS.includes(key)) return () => this.sendOn(key);
    /** @type {Record<string, () => void>} */
    const ofRun = {
      n: () => this.showRun(1),
      p: () => this.showRun(-1),
      "+": () => this.moveTau(TAU_STEP),
      "=": () => this.moveTau(TAU_STEP),
      "-": () => this.moveTau(-TAU_STEP),
      r: () => this.page.moveTau(this.page.viewer.trace() ? this.page.viewer.view.ownTau : this.page.form.tau),
      g: () => this.page.form.generate.click(),
    };
    /** @type {Record<string, () => void>} */
    const actions = {
      ...(this.isOfRun ? ofRun : {}),
      f: () =>
        document.fullscreenElement
          ? document.exitFullscreen()
          : document.documentElement.requestFullscreen().catch(() => {}),
      "?": () => this.showKeys(),
      Escape: () => this.escape(),
    };
    return actions[key.length === 1 ? key.toLowerCase() : key] ?? null;
  }

  /** The viewer listens on its own element; from there a key works wherever the focus is. @param {string} key */
  sendOn(key) {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    sentOn.add(event);
    this.page.viewer.root.dispatchEvent(event);
  }

  /** First lets go of a token, then leaves. */
  escape() {
    if (this.isOfRun && Number.isInteger(this.page.pinned)) this.sendOn("Escape");
    else this.end();
  }

  /** @param {number} by */
  showRun(by) {
    const { cards } = this.page.recorded;
    if (!cards.length) return;
    const at = cards.findIndex((card) => card.getAttribute("aria-pressed") === "true");
    const next = at < 0 ? 0 : (at + by + cards.length) % cards.length;
    this.page.recorded.show(cards[next], true);
  }

  /** @param {number} by */
  moveTau(by) {
    this.page.moveTau(Math.round(Math.min(1, Math.max(0, this.page.form.tau + by)) * 100) / 100);
  }

  end() {
    clearInterval(this.timer);
    this.abort.abort();
    if (document.fullscreenElement) document.exitFullscreen();
    document.body.classList.remove("cx-presenting");
    this.root.remove();
    presenting = null;
    this.returnTo?.focus();
  }
}

/**
 * Enters presenter mode; the focus goes back to `returnTo` when it is left.
 * @param {Page} page
 * @param {HTMLElement|null} [returnTo]
 */
export async function present(page, returnTo = null) {
  await stylesheet(new URL("./learn.css", import.meta.url).href);
  presenting ??= new Presenter(page, returnTo);
  return presenting;
}
