/**
 * The one tooltip that all tokens share. Must not know runs: it is given lines of text and an element to sit at.
 */

import { html } from "./dom.js";

export class Tooltip {
  /** @param {Element} frame */
  constructor(frame) {
    this.frame = frame;
    this.root = html("div", { class: "cv-tooltip", role: "tooltip", hidden: true });
    /** @type {Element|null} */
    this.anchor = null;
  }

  /** @param {Element} anchor @param {{text: string, className?: string}[]} lines */
  show(anchor, lines) {
    this.anchor = anchor;
    this.root.replaceChildren(...lines.map((line) => html("div", { class: line.className }, line.text)));
    this.root.hidden = false;
    // A token may wrap: its first line box is where the eye is.
    const box = anchor.getClientRects()[0] ?? anchor.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const left = Math.max(4, Math.min(box.left - frame.left, frame.width - width - 4));
    const above = box.top - frame.top - height - 6;
    const top = box.top - height - 6 < 0 ? box.bottom - frame.top + 8 : above;
    this.root.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide() {
    this.anchor = null;
    this.root.hidden = true;
  }
}
