/**
 * The page around the viewer: presets, dials and tau's histogram, prices, start and stop, downloads.
 *
 * Glue only: the viewer draws, `form.js` has the controls, `page_exports.js` takes a run away and back. A transport is
 * asked for what this page cannot do by itself; moving a dial or a price makes no request.
 */

import { PageLink } from "./page_link.js";
import { PageBranches } from "./page_branches.js";
import { PageBrowser } from "./page_browser.js";
import { Form } from "./form.js";
import { watchLook } from "./page_look.js";
import { pageExports } from "./page_exports.js";
import { PageOutside } from "./page_outside.js";
import { choiceOf, priceOf } from "./page_price.js";
import { PagePairs } from "./page_pairs.js";
import { PageRecorded } from "./page_recorded.js";
import { PageRun } from "./page_run.js";
import { PageTau } from "./page_tau.js";
import { viewerOf } from "./page_viewer.js";
import { PageViews } from "./page_views.js";
import { firstSign, nextTask } from "./when.js";
import { answerOf } from "../transport/server.js";
import { dialsOf, isSameButForTau } from "../run/dials.js";
import { usualLook } from "../run/run_look.js";
import { part, setText } from "../viewer/dom.js";
import { OWN_ROUTERS_KEY, kept, tabStorage } from "../viewer/kept.js";
import { drawHistogram } from "../viewer/viewer.js";

/** @param {string} id */
const byId = (id) => document.getElementById(id);

export class Page {
  /** @type {string|null} */
  run = null;
  isLive = false;
  isStarting = false;
  /** @type {string|null} */
  waiting = null;
  /** @type {(() => void)|null} */
  stopOther = null;
  nAsked = 0;
  /** @type {Promise<import("./own_routers.js").OwnRouters>|null} */
  #ownRouters = null;
  /** @type {Promise<import("./page_compare.js").PageCompare>|null} */
  #comparing = null;
  /** @type {Set<string>} */
  replaced = new Set();

  /** @type {Record<string, number>} */
  thresholds = {};
  /** @type {number|null} */
  frame = null;
  /** @type {number|null} the token that is pinned in the viewer */
  pinned = null;
  /** What runs are priced as. */
  price = usualLook().price;
  /** @type {() => void} */
  wasDrawn = () => {};
  /** @type {Promise<void>} */
  firstDrawn = new Promise((resolve) => (this.wasDrawn = resolve));
  firstUse = firstSign();

  /** @param {PageProps} props @param {Transport} transport @param {Viewer} viewer */
  constructor(props, transport, viewer) {
    this.transport = transport;
    this.props = props;
    this.pricing = props.pricing;
    this.pairTitle = props.pair;

    this.views = new PageViews(this);
    this.tau = new PageTau(this);
    this.branches = new PageBranches(this);
    this.ownRun = new PageRun(this);
    this.viewer = viewer;
    this.form = new Form(this);
    this.link = new PageLink(this);
    this.recorded = new PageRecorded(this);
    /** @param {string} id @param {(button: HTMLElement) => void} act */
    const on = (id, act) => {
      const button = byId(id);
      button?.addEventListener("click", () => act(button));
    };
    on("cx-copy-link", () => this.link.copy());
    // Few people need these two, so they are loaded when asked for.
    on("cx-tour", async (button) => (await import("../learn/tour.js")).startTour(this, button));
    on("cx-present", async (button) => (await import("../learn/presenter.js")).present(this, button));
    const file = byId("cx-router-file");
    file?.addEventListener("change", async () => (await this.ownRouters()).opened());
    if (file) file.hidden = !props.plotly; // as above
    this.outside = new PageOutside(this);
    this.showRunning(false);
    watchLook();
    this.pairs = new PagePairs(this);
    this.browser = new PageBrowser(this, props.browser_pair);
    part(document, "#cx-more").append(pageExports(this));
    this.pairs.watch();
    this.ownRun.watch();
  }

  /** What takes in and keeps the routers of a person's own. */
  ownRouters() {
    this.#ownRouters ??= import("./own_routers.js").then(({ OwnRouters }) => new OwnRouters(this));
    return this.#ownRouters;
  }

  /** Who makes live comparisons. */
  comparing() {
    this.#comparing ??= import("./page_compare.js").then(({ PageCompare }) => new PageCompare(this));
    return this.#comparing;
  }

  // ------------------------------------------------------------ live runs

  /** The one message of an answer. @param {string} what @param {unknown} [asked] @returns {Promise<any>} */
  ask(what, asked = null) {
    return answerOf(this.transport, what, asked);
  }

  /** A message of a run, or a notice. @param {PageMessage} message */
  take(message) {
    const { run } = message;
    if (message.notice !== undefined) {
      if (message.level === "wait") this.waits(message);
      else {
        this.ownRun.forget();
        this.notice(message.notice, message);
        this.pairs.wake(); // perhaps another page has changed the pair
        this.giveUp();
      }
      return;
    }
    if (run === undefined) return;
    if (run !== this.run) {
      // Whichever message comes first: every one carries the id, and the viewer asks for what it missed.
      if (this.replaced.has(run)) return;
      if (this.run) this.replaced.add(this.run);
      this.run = run;
      if (this.waiting) this.notice("");
      this.isStarting = false;
      this.isLive = true;
      this.recorded.wanted = null;
      this.waiting = null;
      this.showRunning(true);
      this.viewer.setStatus("");
      this.recorded.setMode("live");
    }
    if (!this.browser.owns(run)) this.ownRun.heard(run, Boolean(message.end));
    this.viewer.receive(message);
    this.drawHistogram();
  }

  /** A place in the line, or models that are still loading. @param {PageMessage} message */
  waits(message) {
    if (message.run) {
      if (this.replaced.has(message.run) || message.run === this.run) return;
      this.waiting = message.run;
      this.ownRun.heard(message.run);
    }
    if (message.place) this.notice(message.notice ?? "", { tone: "calm" });
    else if (message.notice) this.viewer.setStatus(message.notice, { busy: true });
  }

  /** How many tokens of a run are here. @param {string} run */
  nTokens(run) {
    return run === this.run ? this.viewer.events.length : 0;
  }

  /**
   * After a reload: what this tab had asked for is there again, as a message of the run or of its place in the line.
   * @param {Asked|null} asked
   * @param {PageMessage} message
   */
  resumed(asked, message) {
    const { head } = message;
    if (head) {
      this.form.setProblem(head.prompt.question, head.prompt.data_type);
      this.form.setDials(dialsOf(head.settings));
    } else {
      if (asked) {
        this.form.setProblem(asked.question, asked.data_type);
        this.form.setDials(dialsOf(asked.settings));
      }
      this.awaits();
    }
    this.take(message);
    this.viewer.pacing.showAll(); // it has been seen
  }

  /** The run cannot be had any more. @param {string} why */
  lost(why) {
    this.giveUp();
    if (this.isLive) this.ended();
    this.showRunning(false);
    this.notice(why);
  }

  /** @param {string} run @param {number} base */
  async fetchRun(run, base) {
    const message = await this.ask("fetch_run", { run, base });
    if (message.error) throw new Error(message.error);
    return message;
  }

  starting() {
    this.views.toText();
    this.ownRun.forget();
    this.awaits();
  }

  awaits() {
    this.nAsked++;
    this.isStarting = true;
    this.waiting = null;
    this.notice("");
    this.viewer.setStatus("Waiting for the first token.", { busy: true });
    this.showRunning(true);
  }

  /**
   * Something else than a run that Stop may end, such as a measurement; null where there is nothing.
   * @param {(() => void)|null} stop
   */
  setOther(stop) {
    this.stopOther = stop;
    this.showRunning(this.isLive || this.isStarting);
  }

  /** Generate while idle, Stop while there is something to stop. @param {boolean} isRunning */
  showRunning(isRunning) {
    this.form.setRunning(isRunning, isRunning || Boolean(this.stopOther) || this.viewer.view.isComing);
  }

  /** What is shown of a run has caught up with it, or was held: the dials may have moved meanwhile. */
  shown() {
    this.showRunning(this.isLive || this.isStarting);
    if (!this.viewer.view.isHeld) this.dialsMoved();
  }

  /** Between two tokens on the server; the run's last message ends it here. */
  stop() {
    const wasHeld = this.viewer.pacing.hold();
    if (this.browser.stop()) return;
    if (this.isLive && this.run !== null) {
      this.ask("stop_run", { run: this.run }).catch(() =>
        this.notice("The server could not be reached to stop the run."),
      );
    } else if (this.isStarting) {
      if (this.waiting) {
        this.replaced.add(this.waiting);
        // it leaves the line also when no page reads it
        this.ask("stop_run", { run: this.waiting }).catch(() => {});
        this.notice("");
      }
      this.branches.leave();
      this.ownRun.forget();
      this.giveUp();
      this.showRunning(false);
    } else if (!wasHeld) this.stopOther?.();
  }

  ended() {
    this.isLive = false;
    this.link.runEnded();
    this.dialsMoved();
    this.showRunning(false);
  }

  /** An answer is over, however it went: a connection that was lost brings no end of a run, and the server knows it. */
  settled() {
    if (this.isLive || this.waiting) this.ownRun.follow(this.waiting ?? this.run);
    else {
      this.giveUp();
      this.showRunning(false);
    }
  }

  /** The wait for a first token is over. */
  giveUp() {
    if (this.isStarting) this.viewer.setStatus("");
    this.isStarting = false;
    this.waiting = null;
  }

  /**
   * @param {string} text
   * @param {{needs?: Needs|null, tone?: string}} more a pair that is needed; "calm" where nothing is wrong
   */
  notice(text, { needs = null, tone = "" } = {}) {
    const line = byId("cx-notice");
    if (!line) return;
    if (text && navigator.userActivation?.isActive) setTimeout(() => line.scrollIntoView({ block: "nearest" }));
    line.textContent = text;
    line.dataset.tone = tone;
    if (needs) this.pairs.offer(line, needs);
  }

  // ------------------------------------------------------------ dials and prices

  /** The form's dials stand somewhere else, or over another run. */
  dialsMoved() {
    this.replayTau();
    this.browser.dialsMoved(this.form.dials);
    this.drawHistogram();
  }

  /** Another tau can be replayed; what another dial does is known once the run is written again. */
  replayTau() {
    const { viewer, form } = this;
    const isTau = isSameButForTau(form.dials, viewer.view.head?.settings ?? {});
    viewer.setThreshold(isTau ? form.tau : null);
  }

  /** @param {number} tau */
  moveTau(tau) {
    this.form.setDials({ threshold: tau });
  }

  drawHistogram() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      const container = byId("cx-histogram");
      if (container) drawHistogram(container, this.viewer.events, this.form.tau);
      this.tau.update();
    });
  }

  /** @param {string} name @param {number} gigabytesPerSecond @param {number} teraflops */
  setPricing(name, gigabytesPerSecond, teraflops) {
    const { pricing, said } = priceOf(this.pricing, name, gigabytesPerSecond, teraflops);
    setText(part(document, "#cx-price-said"), said);
    if (pricing === undefined) return;
    this.price = choiceOf(this.pricing, name, gigabytesPerSecond, teraflops);
    this.viewer.setPricing(pricing);
  }

  /**
   * What Generate sends: what the controls say.
   * @param {Asked} asked
   */
  asked(asked) {
    this.outside.check(asked);
    return asked;
  }

  routerChosen() {
    this.link.isChosen = true;
    this.tau.update();
  }
}

/** @param {PageProps} props @param {Transport} transport */
export async function mountPage(props, transport) {
  document.body.dataset.drawing = ""; // from here on this script says when the page is seen (`document.py`)
  await nextTask();
  const viewer = viewerOf(props, () => page);
  await nextTask();
  const page = new Page(props, transport, viewer);
  window.citer = page;
  try {
    await nextTask();
    await openAtFirst(page);
    await nextTask();
  } finally {
    document.body.dataset.drawn = ""; // until now nothing was seen of it, so that nothing jumps
    document.getElementById("cx-early")?.remove(); // the run itself stands in its place
    page.wasDrawn();
  }
}

/**
 * What is on the screen at first, once this tab's routers are known: a lesson's page, this tab's run, what the address
 * names, or the opening run.
 * @param {Page} page
 */
async function openAtFirst(page) {
  if (kept(OWN_ROUTERS_KEY, tabStorage())) await page.ownRouters();
  const lesson = new URLSearchParams(location.search).get("lesson");
  if (lesson) await (await import("../learn/lesson.js")).openLesson(page, lesson);
  else if (await page.ownRun.resume()) return;
  const [first] = page.recorded.cards;
  if (first && !page.run && !page.link.restore()) await page.recorded.show(first, false);
}
