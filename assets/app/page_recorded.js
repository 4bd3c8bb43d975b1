/**
 * Runs that come from a file, on the page: the shelf of recorded ones, and what a person opens.
 *
 * Glue only; must not know where a live run comes from. Called by page.js.
 *
 * @typedef {"live"|"recorded"|"imported"} RunMode
 * @typedef {import("../viewer/viewer.js").ShowOptions} ShowOptions
 */

import { allOf, part } from "../viewer/dom.js";
import { dialsOf } from "../run/dials.js";
import { messageOf } from "../run/format.js";

const TRACES = new URL("../traces/", import.meta.url);

/** @type {Record<RunMode, string>} */
const MODE_NAMES = { live: "Live", recorded: "Recorded", imported: "Imported" };

/**
 * A file of the recorded runs.
 * @param {string} file
 * @returns {Promise<any>}
 */
async function readJson(file) {
  const response = await fetch(new URL(file, TRACES));
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

export class PageRecorded {
  /** @type {HTMLElement|null} the card whose run is being read */
  wanted = null;
  /** @type {string|null} file of the recorded run on the screen */
  preset = null;
  /** @type {WeakMap<Trace, [RunMode, HTMLElement?]>} how a trace came here; any other one was streamed */
  origins = new WeakMap();

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.cards = allOf(".cx-preset");
    for (const card of this.cards) card.addEventListener("click", () => this.show(card, true));
    allOf(".cx-presets").forEach(oneTabStop);
    for (const shelf of allOf(".cx-shelf")) foldedShelf(shelf);
  }

  /**
   * Plays a recorded run from disk. A live run makes way: it is stopped.
   * @param {HTMLElement} card
   * @param {boolean} autoplay
   * @param {{dials?: Partial<Dials>, token?: number|null}} [how]
   */
  async show(card, autoplay, { dials = {}, token = null } = {}) {
    const { page } = this;
    this.#makeWay(card);
    if (autoplay) page.views.toText();
    try {
      const [trace, probe] = await Promise.all([
        readJson(card.dataset.file ?? ""),
        card.dataset.probe ? readJson(card.dataset.probe) : null,
      ]);
      if (this.wanted !== card) return;
      page.run = null;
      this.origins.set(trace, ["recorded", card]);
      this.setMode("recorded", card);
      const { pair, needs } = card.dataset;
      const isOther = pair !== page.pairs.loaded;
      if (autoplay)
        page.notice(
          isOther
            ? `This run was recorded with ${pair}. Generate asks the pair that is loaded, ${page.pairs.loaded}.`
            : "",
          isOther ? { needs: { pair: needs ?? null }, tone: "calm" } : {},
        );
      this.#put(trace, { autoplay, probe, pin: token }, dials);
    } catch (error) {
      if (this.wanted !== card) return;
      page.notice(`This recorded run could not be read (${messageOf(error)}). Reload the page.`);
    }
  }

  /** A checked trace that a person opened from a file. @param {Trace} trace */
  showImported(trace) {
    this.#makeWay(null);
    this.page.run = null;
    this.origins.set(trace, ["imported"]);
    this.setMode("imported");
    this.page.notice("");
    this.#put(trace);
  }

  /** @param {HTMLElement|null} wanted what will be shown instead of a live run */
  #makeWay(wanted) {
    const { page } = this;
    if (page.isLive || page.isStarting) page.stop();
    if (page.run) page.replaced.add(page.run);
    page.ownRun.forget();
    this.wanted = wanted;
  }

  /**
   * The editor holds the problem of the run that is shown.
   * @param {Trace} trace @param {ShowOptions} [how] @param {Partial<Dials>} [moved] to other places than the run's own
   */
  #put(trace, how = {}, moved = {}) {
    const { viewer, form } = this.page;
    viewer.showTrace(trace, how);
    form.setProblem(trace.prompt.question, trace.prompt.data_type);
    form.setDials({ ...dialsOf(trace.settings), ...moved });
  }

  /** @param {RunMode} mode @param {HTMLElement|null} [card] */
  setMode(mode, card = null) {
    this.page.viewer.head.setMode(MODE_NAMES[mode], mode);
    if (mode !== "live") this.page.outside.clear();
    this.preset = card?.dataset.file ?? null;
    for (const other of this.cards) other.setAttribute("aria-pressed", String(other === card));
  }

  /** The file that a run was read from, or null. @param {Trace} trace */
  fileOf(trace) {
    return this.origins.get(trace)?.[1]?.dataset.file ?? null;
  }

  /** Says again how a trace came here. @param {Trace} trace */
  showMode(trace) {
    this.setMode(...(this.origins.get(trace) ?? ["live"]));
  }
}

/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/**
 * A row of cards as one stop of the Tab key, with arrows between them, as in any toolbar: the problem is one Tab away
 * and not thirty.
 * @param {HTMLElement} row with buttons in it
 */
function oneTabStop(row) {
  const cards = [...row.querySelectorAll("button")];
  /** @param {Element} stop */
  const stopAt = (stop) => cards.forEach((card) => (card.tabIndex = card === stop ? 0 : -1));
  stopAt(cards[0]);
  row.addEventListener("focusin", (event) => {
    const card = cards.find((candidate) => candidate === event.target);
    if (card) stopAt(card); // some browsers focus the row, because it scrolls
  });
  row.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const at = cards.findIndex((card) => card === event.target);
    if (step === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const place = at + step;
    cards[Math.max(0, Math.min(cards.length - 1, place))].focus();
  });
}

/**
 * One line of them, and a button for all. What the line has no room for is shown too when the keyboard goes there.
 * @param {HTMLElement} shelf with a row of cards and the button
 */
function foldedShelf(shelf) {
  const [row, all] = [part(shelf, ".cx-presets"), part(shelf, "#cx-all-presets")];
  /** @param {boolean} isOpen */
  const unfold = (isOpen) => {
    shelf.toggleAttribute("data-open", isOpen);
    all.setAttribute("aria-expanded", String(isOpen));
  };
  all.addEventListener("click", () => unfold(!shelf.hasAttribute("data-open")));
  row.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && target.matches(":focus-visible") && target.offsetTop >= row.clientHeight)
      unfold(true);
  });
}
