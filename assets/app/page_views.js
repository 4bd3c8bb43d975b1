/**
 * The page's views: one is open at a time, and the address says which. A view is a panel of the document, filled when
 * it is first opened.
 *
 * Must not know what is in a view. The run on the screen stays what it is while one looks elsewhere.
 */

import { messageOf } from "../run/format.js";
import { allOf, part } from "../viewer/dom.js";

const EXPLORE = "explore";

/** @typedef {{inAddress?: () => URLSearchParams}} MountedView what of it a link should open again */

/** @type {Record<string, (panel: HTMLElement, page: Page) => Promise<MountedView|void>>} */
const MOUNTS = {
  compare: async (panel, page) => (await import("../compare/compare.js")).mountCompare(panel, page),
  lab: async (panel, page) => (await import("../lab/lab.js")).mountLab(panel, page),
  labels: async (panel, page) => (await import("../labels/labels.js")).mountLabels(panel, page),
  evidence: async (panel, page) => (await import("../evidence/evidence.js")).mountEvidence(panel, page),
  profile: async (panel, page) => (await import("../profile/profile.js")).mountProfile(panel, page),
  learn: async (panel, page) => (await import("../learn/learn.js")).mountLearn(panel, page),
  class: async (panel, page) => (await import("../class/class.js")).mountClass(panel, page),
  api: async () => nameThisHost(),
};
const LOCAL_ADDRESS = "http://127.0.0.1:7860";

/** Examples of programs call the address that the page is seen at. */
function nameThisHost() {
  const here = new URL(".", document.baseURI).href.replace(/\/$/, "");
  for (const code of allOf("#cx-tab-api code"))
    code.textContent = (code.textContent ?? "").replaceAll(LOCAL_ADDRESS, here);
}

export class PageViews {
  open = EXPLORE;
  /** @type {Map<string, MountedView>} */
  filled = new Map();
  /** @type {Promise<void>} of the view that was opened last */
  filling = Promise.resolve();

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.panels = allOf("[data-panel]");
    /** @type {HTMLElement[]} */
    this.links = allOf("a[data-view]");
    document.addEventListener("click", (event) => this.#followed(event));
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
    return this.panels.some((panel) => panel.dataset.panel === name) ? String(name) : EXPLORE;
  }

  get isExplore() {
    return this.open === EXPLORE;
  }

  /** What the open view is called. */
  get title() {
    return this.links.find((link) => link.dataset.view === this.open)?.textContent ?? "";
  }

  /**
   * A link to a view, wherever it stands: without a new page, unless it is to have a window of its own.
   * @param {MouseEvent} event
   */
  #followed(event) {
    const link = event.target instanceof Element ? event.target.closest('a[href^="?view="]') : null;
    if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0)
      return;
    const { searchParams, hash } = new URL(link.href);
    if ([...searchParams].length > 1) return; // it says more than which view
    event.preventDefault();
    this.go(searchParams.get("view") ?? EXPLORE, hash);
  }

  /** Opens a view, as an entry of the browser's history. @param {string} name @param {string} [hash] a place in it */
  go(name, hash = "") {
    this.#showMenu(false);
    if (name === this.open && !hash) return;
    const url = new URL(location.href);
    url.hash = hash;
    if (name === EXPLORE) url.searchParams.delete("view");
    else url.searchParams.set("view", name);
    history.pushState(null, "", url);
    this.show(name);
  }

  /** Opens a view, and waits for it. @param {string} name @returns {Promise<MountedView|undefined>} */
  async opened(name) {
    this.go(name);
    await this.filling;
    return this.filled.get(name);
  }

  /** The address of the open view as it stands. */
  address() {
    const query = this.filled.get(this.open)?.inAddress?.() ?? new URLSearchParams();
    return `${new URL(".", document.baseURI)}?${new URLSearchParams([["view", this.open], ...query])}`;
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
    for (const panel of this.panels) {
      panel.hidden = panel.dataset.panel !== name;
      if (!panel.hidden) this.filling = this.#fill(name, panel).then(() => this.#toPlace(panel));
    }
    scrollTo(0, 0);
  }

  /** What the address names in a view. @param {HTMLElement} panel */
  #toPlace(panel) {
    const place = /^#[\w-]+$/.test(location.hash) ? panel.querySelector(location.hash) : null;
    for (const one of panel.querySelectorAll(".cx-here")) one.classList.remove("cx-here");
    place?.classList.add("cx-here");
    place?.scrollIntoView({ block: "center" });
  }

  /** @param {string} name @param {HTMLElement} panel */
  async #fill(name, panel) {
    if (this.filled.has(name)) return;
    this.filled.set(name, {});
    await this.page.firstDrawn; // a view may want what the page has
    try {
      this.filled.set(name, (await MOUNTS[name]?.(part(panel, `#cx-${name}`), this.page)) ?? {});
    } catch (error) {
      panel.append(`The view could not be started: ${messageOf(error)}`);
    }
  }

  /** @param {boolean} isOpen */
  #showMenu(isOpen) {
    this.menu?.setAttribute("aria-expanded", String(isOpen));
  }
}
