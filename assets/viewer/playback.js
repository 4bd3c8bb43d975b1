/**
 * Play, pause, step and scrub through a finished run. Must not know tokens, nor where runs
 * come from: it counts how many are shown. `isComing` and `isHeld` of the run's view say how it stands.
 */

import { html, options, setText, svg, button } from "./dom.js";
import { keep, kept } from "./kept.js";

const INSTANT_KEY = "citer-instant";

/**
 * A run that is being written is shown at a pace that one can follow, however fast it comes; one press shows it as it
 * comes. Nothing is slowed but the showing: what is measured stays what it was.
 */
export class Pacing {
  /** @type {number|null} tokens a second; null shows them as they come */
  rate = null;
  /** @type {HTMLButtonElement|null} */
  root = null;

  /**
   * @param {Viewer} viewer
   * @param {import("./playback.js").Playback} playback
   * @param {{livePace?: number, onShowing?: () => void}} how
   */
  constructor(viewer, playback, { livePace, onShowing }) {
    this.viewer = viewer;
    this.playback = playback;
    this.onShowing = onShowing;
    if (!livePace) return;
    this.livePace = livePace;
    const title = `Shows new runs as fast as they come, not ${livePace} tokens a second. The figures’ speed is real.`;
    const onclick = () => {
      this.#setInstant(this.rate !== null);
      if (this.rate === null) this.showAll();
      keep(INSTANT_KEY, this.rate === null ? "yes" : "no");
    };
    this.root = button("Instant", "cv-instant", { title, onclick });
    // Who wants no movement begins without.
    const chosen = kept(INSTANT_KEY);
    this.#setInstant(chosen === null ? matchMedia("(prefers-reduced-motion: reduce)").matches : chosen === "yes");
  }

  /** @param {boolean} isInstant */
  #setInstant(isInstant) {
    this.rate = isInstant ? null : (this.livePace ?? null);
    this.root?.setAttribute("aria-pressed", String(isInstant));
  }

  /** Shows now what has come. */
  showAll() {
    const { view } = this.viewer;
    if (!view.isComing) return;
    view.isComing = false;
    this.playback.scrub(view.n);
    this.#caughtUp();
  }

  /** Holds what is shown where it is. @returns {boolean} whether more of it was to come */
  hold() {
    const { view } = this.viewer;
    if (!view.isComing) return false;
    view.isComing = false;
    view.isHeld = true;
    this.playback.pause();
    this.#caughtUp();
    return true;
  }

  #caughtUp() {
    this.viewer.schedule("all");
    this.onShowing?.();
  }

  /** There are more tokens. @param {RunView} view */
  appended(view) {
    if (!view.isComing && !view.isHeld) return;
    // What a branch shares with its parent has been read.
    this.playback.follow(view.n, view.isComing ? this.rate : null, view.forkAt ?? 0);
    view.shown = this.playback.shown;
  }

  /** No more will come. @param {RunView} view */
  ended(view) {
    if (view.isComing || view.isHeld) this.playback.settle();
    else this.playback.setLength(view.n, false);
    if (view.shown >= view.n) view.isComing = false;
  }

  /** More is shown. @param {RunView} view */
  revealed(view) {
    if (!view.isComing || view.live || view.shown < view.n) return;
    view.isComing = false;
    this.#caughtUp();
  }
}

/**
 * Tokens per second at 1x: a calm reading pace, the same for every pair, since recorded milliseconds differ a
 * thousandfold.
 */
const BASE_RATE = 12;
/** Drawn, because phones show the characters for these as coloured emoji. */
const ICONS = {
  play: "M4 2.5v11l9.5-5.5z",
  pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
  back: "M10.5 3v10l-7-5zM3 3h1.5v10H3z",
  forward: "M5.5 3v10l7-5zM11.5 3H13v10h-1.5z",
};
const SPEEDS = [0.5, 1, 2, 4, 8];
const LIVE_PACE = "live";
/** A background tab delivers one huge step on return; a frame never plays more than this. */
const MOST_FRAME_S = 0.1;

/**
 * How many tokens are shown after `seconds` more at the pace in which they were written.
 * @param {number} shown
 * @param {number} seconds
 * @param {number} n
 * @param {(k: number) => number} timeOf seconds that the first k tokens took
 * @returns {{shown: number, left: number}} `left` seconds belong to the next token
 */
export function advanceLive(shown, seconds, n, timeOf) {
  let left = seconds;
  let k = shown;
  while (k < n && timeOf(k + 1) - timeOf(k) <= left) {
    left -= timeOf(k + 1) - timeOf(k);
    k++;
  }
  return { shown: k, left };
}

export class Playback {
  /**
   * @param {(shown: number) => void} onShow
   * @param {(k: number) => number} timeOf measured seconds of the first k tokens
   */
  constructor(onShow, timeOf) {
    this.onShow = onShow;
    this.timeOf = timeOf;
    this.n = 0;
    this.shown = 0;
    /** @type {number|"live"} */
    this.speed = 1;
    /** @type {number|null} */
    this.frame = null;
    /** @param {string} look @param {string} label @param {SVGPathElement} path @param {() => void} onclick */
    const iconButton = (look, label, path, onclick) => {
      const icon = svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, path);
      return html("button", { type: "button", class: `cv-button ${look}`, "aria-label": label, onclick }, icon);
    };
    this.playIcon = svg("path", {});
    this.toggleButton = iconButton("cv-play", "Play", this.playIcon, () => this.toggle());
    const back = iconButton("cv-step", "One token back", svg("path", { d: ICONS.back }), () => this.step(-1));
    const forward = iconButton("cv-step", "One token forward", svg("path", { d: ICONS.forward }), () => this.step(1));
    this.range = html("input", {
      type: "range",
      class: "cv-scrub",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "aria-label": "Tokens shown",
      oninput: () => this.scrub(Number(this.range.value)),
    });
    this.position = html("span", { class: "cv-position" });
    const onchange = () => (this.speed = select.value === LIVE_PACE ? LIVE_PACE : Number(select.value));
    const select = html("select", { class: "cv-speed", "aria-label": "Playback speed", onchange });
    select.append(...SPEEDS.map((speed) => html("option", { value: speed, selected: speed === 1 }, `${speed}×`)));
    select.append(...options([[LIVE_PACE, "as timed"]]));
    this.root = html("div", { class: "cv-playback" }, back, forward, this.range, this.position, select);
  }

  /** @type {number|null} tokens a second of a run that is still coming in */
  followRate = null;

  get isPlaying() {
    return this.frame !== null;
  }

  /**
   * Another run, or more of it; everything is shown.
   * @param {number} n
   * @param {boolean} live
   */
  setLength(n, live) {
    this.pause();
    this.followRate = null;
    this.n = this.shown = n;
    this.root.inert = this.toggleButton.disabled = live || n === 0;
    this.#draw();
  }

  /**
   * There is more of a run that is being written: shown one after another at this rate, however fast it comes.
   * @param {number} n
   * @param {number|null} rate tokens a second; null shows no more by itself
   * @param {number} from so many are shown at once
   */
  follow(n, rate, from = 0) {
    this.n = n;
    this.shown = Math.min(n, Math.max(this.shown, from));
    this.followRate = rate;
    if (rate !== null) this.#start();
    this.#draw();
  }

  /** No more will come; a person may play, step and scrub in what is there. */
  settle() {
    this.root.inert = this.toggleButton.disabled = this.n === 0;
    this.#draw();
  }

  play() {
    if (this.isPlaying || this.n === 0) return;
    if (this.shown >= this.n) this.#show(0);
    this.followRate = null;
    this.#start();
  }

  #start() {
    if (this.isPlaying) return;
    /** @type {number|null} */
    let last = null;
    let due = 0;
    /** @param {number} now */
    const tick = (now) => {
      const passed = last === null ? 0 : Math.min((now - last) / 1000, MOST_FRAME_S);
      last = now;
      // Where nothing was measured there is no pace of its own.
      const live = this.followRate === null && this.speed === LIVE_PACE && this.timeOf(this.n) > 0;
      const rate = this.followRate ?? BASE_RATE * (this.speed === LIVE_PACE ? 1 : this.speed);
      due += live ? passed : passed * rate;
      const whole = Math.floor(due);
      const next = live
        ? advanceLive(this.shown, due, this.n, this.timeOf)
        : { shown: Math.min(this.n, this.shown + whole), left: due - whole };
      due = next.left;
      if (next.shown > this.shown) this.#show(next.shown);
      if (this.shown >= this.n) this.pause();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
    this.#draw();
  }

  pause() {
    if (this.frame === null) return;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.#draw();
  }

  toggle() {
    if (this.root.inert) return;
    if (this.isPlaying) this.pause();
    else this.play();
  }

  /** @param {number} by */
  step(by) {
    this.scrub(this.shown + by);
  }

  /** @param {number} shown */
  scrub(shown) {
    this.pause();
    this.#show(Math.max(0, Math.min(this.n, shown)));
  }

  /** @param {number} shown */
  #show(shown) {
    this.shown = shown;
    this.#draw();
    this.onShow(shown);
  }

  #draw() {
    this.playIcon.setAttribute("d", ICONS[this.isPlaying ? "pause" : "play"]);
    this.toggleButton.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
    this.range.max = String(this.n);
    this.range.value = String(this.shown);
    this.range.style.setProperty("--cv-filled", this.n ? `${(this.shown / this.n) * 100}%` : "0%");
    setText(this.position, `${this.shown} / ${this.n}`);
  }
}
