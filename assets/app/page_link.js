/**
 * Copy link and its way back: what page.js does with `link.js`, and for another view what that view says of itself.
 *
 * A link to a recorded run shows it at once. A link to a live run fills the controls in and is written as soon as
 * an engine is there to write it; when that run ends, tau and token are restored.
 *
 * @typedef {import("../run/run_look.js").PriceChoice} PriceChoice
 */

import { part } from "../viewer/dom.js";
import { controlsOf } from "./page_price.js";
import { isUsualPrice } from "../run/run_look.js";
import { forksOf } from "./link_forks.js";
import { isSameButForTau, dialsOf } from "../run/dials.js";
import { OWN_NOT_HERE, isOwn } from "../run/own_router.js";
import { plural } from "../run/format.js";
import { MAX_LINK_LENGTH, buildLink, isRunOfLink, linkStateOf, readLink } from "./link.js";

/**
 * @typedef {import("./link_forks.js").LinkForks} LinkForks
 * @typedef {LinkForks & {ids: number[], key: string, at: number, then: () => void}} Job `ids`: of what there is
 *   already; `key` and `at`: of the branch that is being written
 */

/**
 * Branches that a link names, written again one after another over the run on the screen.
 *
 * Only this browser's own decoder writes them: an address that was sent must not spend a server's compute.
 */
class PageForks {
  /** @type {Job|null} */
  job = null;

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  /**
   * @param {LinkForks} wanted of the run on the screen
   * @param {() => void} then once they are there
   */
  start(wanted, then) {
    const { page } = this;
    const trace = page.viewer.trace();
    const root = page.viewer.branching.book.shown;
    if (!trace || !root) return;
    const nForks = wanted.forks.length;
    if (!page.browser.has({ pair_revision: trace.pair.revision })) {
      const branches = plural(nForks, "branch", "branches");
      page.notice(
        `This link holds ${branches} of its run too. Only the bundled pair, in this browser, writes branches again.`,
        { tone: "calm" },
      );
      if (wanted.shown === 0) then();
      return;
    }
    this.job = { ...wanted, ids: [root.id], key: "", at: 0, then };
    this.#next();
  }

  #next() {
    const { job, page } = this;
    if (!job) return;
    const { branching } = page.viewer;
    const fork = job.forks[job.ids.length - 1];
    if (!fork) {
      this.job = null;
      branching.show(job.ids[job.shown]);
      job.then();
      return;
    }
    const parent = branching.book.get(job.ids[fork.parent]);
    if (!parent || fork.at >= parent.trace.events.length) {
      this.job = null;
      page.notice(`Left out of this link: a branch from token ${fork.at + 1}, which its run does not have.`);
      return;
    }
    Object.assign(job, { key: parent.key, at: fork.at });
    branching.show(parent.id);
    branching.again(parent.trace, fork);
  }

  /** A run has ended: is it the branch that is waited for? */
  runEnded() {
    const { job, page } = this;
    const entry = page.viewer.branching.book.shown;
    if (!job || !entry) return;
    const { parent, finish_reason: reason, settings } = entry.trace;
    if (parent?.key !== job.key || parent.fork !== job.at || reason === "cancelled") {
      this.job = null; // a person has done something else, or stopped it
      return;
    }
    job.ids.push(entry.id);
    page.form.setDials(dialsOf(settings));
    page.viewer.pacing.showAll();
    setTimeout(() => this.#next()); // once the page has done with this one
  }
}

const COPIED_MS = 2500;

/** @param {string[]} refused */
const refusedWords = (refused) => (refused.length ? ` Left out of this link: ${refused.join(" ")}` : "");

export class PageLink {
  /** @type {import("./link.js").ReadLink|null} */
  state = null;
  isChosen = false;
  /** @type {string|null} */
  wantedRouter = null;
  isComputing = false;
  /** @type {ReturnType<typeof setTimeout>|null} */
  timer = null;

  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    this.forks = new PageForks(page);
  }

  /** @returns {string|null} the address of what is on the screen; null where nothing is, or it is too long for one */
  address() {
    const { viewer, recorded, pinned, price } = this.page;
    const shown = viewer.trace();
    if (!shown) return null;
    const { branches } = this;
    const trace = branches ? viewer.branching.book.entries[0].trace : shown;
    const file = branches ? recorded.fileOf(trace) : recorded.preset;
    const look = { ...viewer.legend.look, price };
    const base = new URL(".", document.baseURI).href;
    const { dials: moved, tau: threshold } = this.page.form;
    const dials = isSameButForTau(moved, viewer.view.ownDials) ? { threshold } : moved;
    const link = buildLink(base, linkStateOf(trace, file, dials, pinned, look, branches));
    return link.length <= MAX_LINK_LENGTH ? link : null;
  }

  /** What a link holds of the branches; null where there are none, or it cannot hold the one that is shown. */
  get branches() {
    const { view, branching } = this.page.viewer;
    const { entries, shown } = branching.book;
    return view.live || entries.length < 2 ? null : forksOf(entries, shown);
  }

  /** What a link does not hold of them. */
  #leftOut() {
    const { view, branching } = this.page.viewer;
    const n = branching.book.entries.length - 1;
    const nKept = this.branches?.forks.length ?? 0;
    return view.live || nKept >= n ? "" : `The link holds ${nKept} of ${plural(n, "branch", "branches")}.`;
  }

  /** Of the view that is open. */
  async copy() {
    const { views } = this.page;
    const link = views.isExplore ? this.address() : views.address();
    const said = part(document, "#cx-link-said");
    if (!link || link.length > MAX_LINK_LENGTH) {
      said.textContent = "This is too long for a link. Save the trace instead.";
      return;
    }
    const button = part(document, "#cx-copy-link");
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Link copied";
      clearTimeout(this.timer ?? undefined);
      this.timer = setTimeout(() => (button.textContent = "Copy link"), COPIED_MS);
      said.textContent = views.isExplore ? this.#leftOut() : "";
    } catch {
      // Pages without https, or inside a frame that may not write: a person can still select it.
      said.textContent = `Copy this link: ${link}`;
    }
  }

  /** Opens what the address names. @returns {boolean} whether it names anything */
  restore() {
    const { page } = this;
    const pairs = page.pricing.pairs.map(({ label }) => label);
    const state = readLink(location.search, pairs);
    if (!state) return false;
    this.setPrice(state.look.price);
    if (state.preset) {
      const card = page.recorded.cards.find((candidate) => candidate.dataset.file === `${state.preset}.json`);
      if (!card) {
        const why = "This link names a recorded run that is not here. The first one is shown instead.";
        page.notice(why + refusedWords(state.refused));
        return false;
      }
      page.viewer.legend.show(state.look);
      this.#show(card, state);
      page.notice(refusedWords(state.refused).trim());
      return true;
    }
    this.state = state;
    this.wantedRouter = state.problem?.router ?? null;
    if (this.#isAway) {
      page.notice(
        `${OWN_NOT_HERE} The run is written then; a recorded one is shown meanwhile.${refusedWords(state.refused)}`,
      );
      return false;
    }
    if (state.problem) page.form.fill(state.problem);
    const offered = this.router(null); // where the routers were offered before the link was read
    if (offered) page.form.router.value = offered;
    page.viewer.setStatus("Computing the run of this link, as soon as the models are here.", { busy: true });
    page.notice(refusedWords(state.refused).trim());
    this.compute();
    return true;
  }

  /** Whether the router that the link asks for is one of a person's own that is not here. */
  get #isAway() {
    const { wantedRouter: name, page } = this;
    return isOwn(name) && !page.browser.own.has(name ?? "");
  }

  /** A router of a person's own is here, for which a link may have waited. @param {string} name */
  routerCame(name) {
    const { state, wantedRouter, page } = this;
    if (name !== wantedRouter || !state?.problem) return;
    page.form.fill(state.problem);
    page.form.router.value = name;
    this.compute();
  }

  /** Writes what the link asks for, once and where an engine can. */
  compute() {
    const { page, state } = this;
    if (!state?.problem || this.isComputing || this.#isAway) return;
    if (!(page.browser.generates || page.pairs.status?.state === "ready")) return;
    this.isComputing = true;
    page.branches.generate(state.problem);
    page.notice(`Computing the run of this link.${refusedWords(state.refused)}`, { tone: "calm" });
  }

  /** @param {HTMLElement} card @param {import("./link.js").ReadLink} state */
  async #show(card, state) {
    const { recorded } = this.page;
    const { branches } = state;
    await recorded.show(card, false, branches ? {} : state);
    if (branches && recorded.wanted === card) this.forks.start(branches, () => this.#settle(state));
  }

  /** Dials and token as the link's writer left them. @param {import("./link.js").ReadLink} state */
  #settle({ dials, token }) {
    this.page.form.setDials(dials);
    if (token !== null) this.page.viewer.pin(token);
  }

  /** A price is not of one run: it holds at once. @param {PriceChoice} price */
  setPrice(price) {
    if (isUsualPrice(price)) return;
    const shown = controlsOf(this.page.pricing, price);
    this.page.form.setPrice(shown);
    this.page.setPricing(...shown);
  }

  /**
   * The link's router where the loaded engine has it and no other was chosen since, else the one that is chosen.
   * @param {string|null} chosen
   */
  router(chosen) {
    const wanted = this.isChosen ? null : this.wantedRouter;
    return wanted && Object.hasOwn(this.page.thresholds, wanted) ? wanted : chosen;
  }

  /** The first run of the link's problem opens where the link's writer stood. */
  runEnded() {
    const { state, page } = this;
    this.forks.runEnded();
    const trace = page.viewer.trace();
    if (!state?.problem || !trace || !isRunOfLink(trace, state.problem)) return;
    this.state = null;
    page.notice(refusedWords(state.refused).trim());
    page.viewer.legend.show(state.look);
    if (!state.branches) this.#settle(state);
    else setTimeout(() => state.branches && this.forks.start(state.branches, () => this.#settle(state)));
  }
}
