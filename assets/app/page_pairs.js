/**
 * The page's side of the server's pair: watches it, shows it in the header, opens the picker, and follows a change that
 * this page or another one has made.
 *
 * Glue only; `pair_picker.js` draws. While the picker is off, nothing is asked once the engine is ready.
 */

import { plainButton, setText } from "../viewer/dom.js";
import { keep, keptJson, tabStorage } from "../viewer/kept.js";
import { buttonWords } from "./pair_words.js";

/** @typedef {{id: string, token: string}} OwnChange */

const SOON_MS = 700;
const NOW_AND_THEN_MS = 5000;

// Who began a change may cancel it, after a reload too; another tab has a store of its own.
const OWN_CHANGE = "citer-own-change";

/** @param {string} id */
const headerPart = (id) => document.getElementById(id);

export class PagePairs {
  /** @type {EngineStatus|null} */
  status = null;
  /** @type {import("./pair_picker.js").PairPicker|null} */
  picker = null;
  /** @type {string|null} */
  followed = null;
  /** @type {string|null} */
  title = null;
  /** @type {number|undefined} */
  generation;
  /** @type {() => void} */
  wake = () => {};
  /** @type {(status: EngineStatus) => void} */
  #tell = () => {};
  /** @type {Promise<EngineStatus>} the first one that is known */
  told = new Promise((resolve) => (this.#tell = resolve));
  nFills = 0;

  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    /** @type {OwnChange|null} */
    this.own = keptJson(OWN_CHANGE, tabStorage());
    this.button = headerPart("cx-pair");
    this.button?.addEventListener("click", () => this.open());
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
  }

  /** Title of the pair that is loaded, or that is being loaded at first. */
  get loaded() {
    return this.title ?? this.page.pairTitle;
  }

  /** Asks for the engine's state: often while something changes, now and then where another page may change it. */
  async watch() {
    for (;;) {
      try {
        this.#take(await this.page.ask("engine_status"));
      } catch {
        // The server is being restarted or the network is away: everything keeps its words, and we ask again.
      }
      const { status } = this;
      const isChanging = !status || status.state === "loading" || (status.change && !status.change.is_over);
      if (!isChanging && !status.picker?.on && !status.will_retry) return;
      await new Promise((resolve) => {
        this.wake = () => resolve(undefined);
        setTimeout(resolve, isChanging || document.hidden ? SOON_MS * (document.hidden ? 10 : 1) : NOW_AND_THEN_MS);
      });
    }
  }

  /** @param {EngineStatus} status */
  #take(status) {
    const before = this.status;
    this.status = status;
    this.#tell(status);
    this.#drawHeader(status);
    this.page.browser.serverChanged();
    this.page.link.compute();
    this.#follow(status.change);
    if (before?.change && !before.change.is_over && status.change?.is_over) this.#changeEnded();
    const isNew =
      before?.state === "loading" ||
      !before ||
      before.generation !== status.generation ||
      before.state !== status.state;
    if (!before && status.state === "loading") this.#offerProblems(); // problems can be picked while models are loaded
    if (status.state === "loading" || !isNew) return;
    if (status.state === "failed") this.page.notice(status.message);
    // A stored router that does not fit is left out; the others, and the page, go on.
    else if (status.problems?.length) this.page.notice(status.problems.join("\n"));
    else if (before?.state === "failed") this.page.notice("");
    this.offerRouters();
    this.#offerProblems();
    this.page.tau.update();
    if (this.title && status.pair && this.generation !== status.generation) {
      this.page.notice(`The pair is ${status.pair} now. Routers and problems to pick follow it.`, { tone: "calm" });
    }
    this.generation = status.generation;
    this.title = status.pair ?? this.title;
  }

  /** Problems to pick from, once the page is used. */
  async #offerProblems() {
    const number = ++this.nFills;
    const { page } = this;
    await page.firstUse;
    try {
      const offered = await page.ask("offered");
      if (number === this.nFills) page.form.offerProblems(offered);
    } catch {
      // then there is nothing to pick; whatever is typed can be asked
    }
  }

  /** The pair's routers, and a person's own. @param {string} [chosen] the usual one where that is none of them */
  offerRouters(chosen = "") {
    const { page, status } = this;
    page.thresholds = { ...status?.thresholds, ...page.browser.ofOwn("tau") };
    const names = Object.keys(page.thresholds);
    const about = names.length ? "Who decides which model writes" : (status?.message ?? "");
    const usual = names.includes(chosen) ? chosen : page.link.router(status?.default_router ?? null);
    page.form.offerRouters(names, usual, about, page.browser.ofOwn("label"));
  }

  /** @param {EngineStatus} status */
  #drawHeader(status) {
    const badge = headerPart("cx-device");
    const words = status.state === "failed" ? "Recorded runs only" : status.message;
    if (badge) {
      setText(badge, words);
      Object.assign(badge, { title: status.message }).dataset.state = status.state;
    }
    if (!this.button) return;
    this.button.hidden = !status.pair && !status.change && status.state !== "failed";
    setText(this.button, buttonWords(status));
    this.button.title = status.picker?.on
      ? "The pair of models: what is loaded, and others"
      : (status.picker?.why ?? "");
  }

  /**
   * The picker shows what goes on, and the end of what it has shown; not one of long ago.
   * @param {PairChange|null|undefined} change
   */
  #follow(change) {
    if (change && !change.is_over) this.followed = change.id;
    // Only who began a change can cancel it: the server gives the token to that page alone.
    const isOwn = change?.id !== undefined && change.id === this.own?.id;
    this.picker?.setChange(change && change.id === this.followed ? change : null, isOwn);
  }

  async #changeEnded() {
    if (!this.picker?.isOpen) return;
    await this.#list();
  }

  /** @param {string|null} [wanted] */
  async #list(wanted = null) {
    try {
      const listed = await this.page.ask("list_pairs");
      this.picker?.show(listed, wanted);
    } catch {
      this.picker?.say("The server could not be reached. Close this and try again.");
    }
  }

  /** Opens the picker. @param {string|null} wanted a pair to be chosen at first */
  async open(wanted = null) {
    const { PairPicker } = await import("./pair_picker.js");
    this.picker ??= new PairPicker(document.body, {
      onLoad: (pair, dtype) => this.#change(pair, dtype),
      onCancel: () => this.page.ask("cancel_change", { token: this.own?.token }).then(this.wake, this.wake),
    });
    const { status } = this;
    if (status?.change?.is_over) this.followed = null;
    this.#follow(status?.change ?? null);
    this.picker.open();
    if (status && !status.picker?.on) this.picker.showOff(status);
    else await this.#list(wanted);
  }

  /** @param {string} pair @param {string} dtype */
  async #change(pair, dtype) {
    try {
      const answer = await this.page.ask("change_pair", { pair, dtype });
      if (answer.notice) this.picker?.say(answer.notice);
      else {
        this.own = answer.change;
        keep(OWN_CHANGE, JSON.stringify({ id: answer.change.id, token: answer.change.token }), tabStorage());
        if (this.status) this.status = { ...this.status, change: answer.change };
        this.#follow(answer.change);
      }
    } catch {
      this.picker?.say("The server could not be reached. Try again.");
    }
    this.wake();
  }

  /**
   * Beside a notice that another pair is needed: the way to it.
   * @param {{pair: string|null}} needs
   * @param {HTMLElement} line
   */
  offer(line, needs) {
    if (!needs.pair || !this.status?.picker?.on) return;
    line.append(
      " ",
      plainButton("Change the pair", "cx-quiet cx-notice-action", () => this.open(needs.pair)),
    );
  }
}
