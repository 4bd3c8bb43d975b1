/**
 * The page's views: one is open at a time, and the address says which. The views other than Explore are gradio's tabs,
 * whose own buttons are pressed; they are hidden, and so is whatever is not open.
 *
 * Must not know what is in a view. The run on the screen stays what it is while one looks elsewhere.
 */

import { allOf } from "../viewer/dom.js";

const EXPLORE = "explore";

/** @param {string} name */
const tabOf = (name) => document.getElementById(`cx-tab-${name}-button`);

export class PageViews {
  open = EXPLORE;

  constructor() {
    /** @type {HTMLElement[]} */
    this.links = allOf("a[data-view]");
    for (const link of this.links) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return; // in a window of its own
        event.preventDefault();
        this.go(link.dataset.view ?? EXPLORE);
      });
    }
    this.menu = document.getElementById("cx-menu");
    this.menu?.addEventListener("click", () => this.#showMenu(this.menu?.getAttribute("aria-expanded") !== "true"));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.menu?.getAttribute("aria-expanded") === "true") {
        this.#showMenu(false);
        this.menu.focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (event.target instanceof Element && !event.target.closest("#cx-menu, .cx-views")) this.#showMenu(false);
    });
    addEventListener("popstate", () => this.show(this.named()));
    this.show(this.named());
  }

  /** The view that the address names, if there is such a one. */
  named() {
    const name = new URLSearchParams(location.search).get("view");
    return this.links.some((link) => link.dataset.view === name) ? String(name) : EXPLORE;
  }

  /** Opens a view, as an entry of the browser's history. @param {string} name */
  go(name) {
    this.#showMenu(false);
    if (name === this.open) return;
    const url = new URL(location.href);
    if (name === EXPLORE) url.searchParams.delete("view");
    else url.searchParams.set("view", name);
    history.pushState(null, "", url);
    this.show(name);
  }

  /** The text in sight, wherever on the page one has asked for a run. */
  toText() {
    this.go(EXPLORE);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    scrollTo({ top: 0, behavior: calm ? "auto" : "smooth" });
  }

  /** @param {string} name */
  show(name) {
    this.open = name;
    if (name === EXPLORE) delete document.body.dataset.view;
    else document.body.dataset.view = name;
    for (const link of this.links) {
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    tabOf(name)?.click();
    scrollTo(0, 0);
  }

  /** @param {boolean} isOpen */
  #showMenu(isOpen) {
    this.menu?.setAttribute("aria-expanded", String(isOpen));
  }
}
