/**
 * What a screen reader hears: one polite region, at most every few seconds; the newest text wins. Must not know runs.
 */

import { html, setText } from "./dom.js";

const ANNOUNCE_EVERY_MS = 5000;
const CALM_MS = 500;

export class Announcer {
  constructor() {
    this.root = html("div", { class: "cv-sr", role: "status", "aria-live": "polite" });
    /** @type {ReturnType<typeof setTimeout>|null} */
    this.timer = null;
    this.toSay = "";
    this.saidAt = -Infinity;
  }

  /** @param {string} text @param {boolean} important said as soon as the region is free */
  say(text, important = false) {
    this.toSay = text;
    if (this.timer !== null) return;
    const wait = Math.max(0, this.saidAt + ANNOUNCE_EVERY_MS - performance.now());
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.saidAt = performance.now();
        setText(this.root, this.toSay);
      },
      important ? wait : Math.max(wait, CALM_MS),
    );
  }

  /** What no longer holds is not said any more, nor left to be found. @param {string} text */
  unsay(text) {
    if (this.toSay !== text) return;
    this.toSay = "";
    if (this.timer === null) setText(this.root, "");
  }

  destroy() {
    clearTimeout(this.timer ?? undefined);
  }
}
