/**
 * Where the bundled pair's runs are computed: a choice beside the device, which a browser remembers.
 *
 * Must not know what is computed.
 *
 * @typedef {import("./page_browser.js").Where} Where
 */

import { html, options } from "../viewer/dom.js";
import { keep, kept } from "../viewer/kept.js";

const WHERE_KEY = "citer-where";

/** @param {string|null} text @returns {Where} */
const whereOf = (text) => (text === "server" ? "server" : "browser");

export class WhereControl {
  /** @param {number} bytes that this browser loads @param {() => void} onChange */
  constructor(bytes, onChange) {
    this.where = whereOf(kept(WHERE_KEY));
    this.root = html(
      "select",
      {
        id: "cx-where",
        class: "cx-quiet",
        "aria-label": "Where the bundled pair runs",
        title: `The bundled pair is small enough to run in this browser: ${(bytes / 1e6).toFixed(0)} MB, loaded once.`,
        onchange: () => {
          this.where = whereOf(this.root.value);
          keep(WHERE_KEY, this.where);
          onChange();
        },
      },
      options(Object.entries({ browser: "In this browser", server: "On the server" })),
    );
    this.root.value = this.where;
  }

  /** Puts it beside the device's badge. */
  show() {
    document.getElementById("cx-device")?.after(this.root);
  }

  /** Beside another pair's name it would seem to be about that one. @param {boolean} isOffered */
  offer(isOffered) {
    this.root.hidden = !isOffered;
  }

  /** For this visit. @param {Where} where */
  choose(where) {
    this.where = this.root.value = where;
  }
}
