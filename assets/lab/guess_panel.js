/** A guess of how many of a hundred unseen problems come out right, before it is known. */

import { html, setText } from "../viewer/dom.js";

const USUAL = 75;

export class GuessPanel {
  /** @type {number|null} a share */
  value = null;
  output = html("output", {}, "?");
  title = html("h3", { class: "cb-guess-title" });
  about = html("p", {});

  /** @param {() => void} onMove */
  constructor(onMove) {
    this.range = html("input", {
      type: "range",
      class: "cb-range",
      min: 0,
      max: 100,
      value: USUAL,
      "aria-label": "Your guess: right answers of 100",
      oninput: () => {
        this.value = Number(this.range.value) / 100;
        setText(this.output, this.range.value);
        onMove();
      },
    });
    this.root = html("div", { class: "cb-guessing" }, [
      this.title,
      this.about,
      html("div", { class: "cb-guess-row" }, this.range, this.output),
    ]);
  }

  reset() {
    this.value = null;
    this.range.value = String(USUAL);
    setText(this.output, "?");
  }

  /** @param {string} title @param {string} about */
  ask(title, about) {
    setText(this.title, title);
    this.title.hidden = !title;
    setText(this.about, about);
  }
}
