/**
 * Where the bundled pair's runs are computed: a choice beside the device, which a browser remembers.
 *
 * Must not know what is computed.
 *
 * @typedef {import("./page_browser.js").Where} Where
 */

import { html } from "../viewer/dom.js";

const WHERE_KEY = "citer-where";

/** @returns {Where} */
function chosenBefore() {
  try {
    return localStorage.getItem(WHERE_KEY) === "server" ? "server" : "browser";
  } catch {
    return "browser"; // some browsers refuse a store inside a frame
  }
}

export class WhereControl {
  /** @param {number} bytes that this browser loads @param {() => void} onChange */
  constructor(bytes, onChange) {
    this.where = chosenBefore();
    this.root = html(
      "select",
      {
        id: "cx-where",
        class: "cx-quiet",
        "aria-label": "Where the bundled pair runs",
        title: `The bundled pair is small enough to run in this browser: ${(bytes / 1e6).toFixed(0)} MB, loaded once.`,
      },
      html("option", { value: "browser" }, "In this browser"),
      html("option", { value: "server" }, "On the server"),
    );
    this.root.value = this.where;
    this.root.addEventListener("change", () => {
      this.where = this.root.value === "server" ? "server" : "browser";
      try {
        localStorage.setItem(WHERE_KEY, this.where);
      } catch {
        // then the choice holds for this visit
      }
      onChange();
    });
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
