/**
 * A run that is being written is shown at a pace that one can follow, however fast it comes; one press shows it as it
 * comes. Nothing is slowed but the showing: what is measured stays what it was.
 *
 * Must not know where runs come from. `isComing` and `isHeld` of the run's view say how it stands.
 */

import { button } from "./dom.js";
import { keep, kept } from "./kept.js";

const INSTANT_KEY = "citer-instant";

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
