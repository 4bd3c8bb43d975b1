/**
 * A field in which one types to find one of many: the browser's own list of what fits, and Enter for the first of it.
 *
 * Must not know what is found.
 */

import { html } from "./dom.js";

/** @template T */
export class SearchBox {
  /** @type {Map<string, T>} */
  offered = new Map();

  /** @param {string} id @param {string} placeholder @param {(found: T) => void} onPick */
  constructor(id, placeholder, onPick) {
    /** @param {string|undefined} title */
    const pick = (title) => {
      const found = this.offered.get(title ?? "");
      if (found === undefined) return;
      this.input.value = title ?? "";
      onPick(found);
    };
    this.list = html("datalist", { id });
    this.input = html("input", {
      type: "search",
      list: id,
      autocomplete: "off",
      placeholder,
      oninput: () => pick(this.input.value), // the browser's list fills in the whole title
      onkeydown: (event) => {
        const typed = this.input.value.trim().toLowerCase();
        if (event.key === "Enter" && typed)
          pick([...this.offered.keys()].find((title) => title.toLowerCase().includes(typed)));
      },
    });
    this.root = html("span", { class: "cx-search" }, this.input, this.list);
  }

  /** @param {Map<string, T>} offered by what is shown */
  offer(offered) {
    this.offered = offered;
    this.list.replaceChildren(...[...offered.keys()].map((value) => html("option", { value })));
    this.input.value = "";
  }
}
