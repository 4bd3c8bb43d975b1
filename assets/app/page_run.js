/**
 * The run that this page asked for, across a reload, a wait in line and a lost connection: its id is remembered, and
 * where its messages do not come any more, the server is asked for it anew.
 *
 * Must not know the viewer: `page` of page.js takes what is found. The id is the permission to see the run,
 * so it stays in this tab's `sessionStorage`.
 */

import { RUN_KEY, keep, keptJson, tabStorage } from "../viewer/kept.js";

const LOOK_EVERY_MS = 1000;
const SILENT_MS = 6000; // the server says something every three seconds, even where there is nothing to say
const ASK_LIVE_MS = 400;
const ASK_WAITING_MS = 1500;
const ASK_LOST_MS = [500, 1000, 2000, 3000];
const GIVE_UP_MS = 120_000;

export const CONNECTION_LOST =
  "The connection to the server is lost. Your run goes on there for a while; this page looks for it.";
export const CONNECTION_BACK = "The connection is back, and your run with it.";
export const RUN_GONE =
  "The connection was lost for too long, and the server no longer has this run. Generate it again.";

/** @param {number} ms @returns {Promise<void>} */
const elapse = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class PageRun {
  /** @type {Asked|null} */
  asked = null;
  /** @type {string|null} */
  run = null;
  isOver = true;
  heardAt = 0;
  nHeard = 0;
  /** @type {string|null} */
  following = null;

  /**
   * @param {Page} page of page.js
   * @param {{storage?: Storage|null, now?: () => number, pause?: (ms: number) => Promise<void>}} [how] tests have
   *   their own
   */
  constructor(page, { storage = tabStorage(), now = () => performance.now(), pause = elapse } = {}) {
    this.page = page;
    this.storage = storage;
    this.now = now;
    this.pause = pause;
  }

  /** Looks from time to time whether the run is still heard of. */
  watch() {
    setInterval(() => {
      if (!this.isOver && this.now() - this.heardAt > SILENT_MS) this.follow(this.run);
    }, LOOK_EVERY_MS);
  }

  /** Generate was pressed with this. @param {Asked} asked */
  asking(asked) {
    this.asked = asked;
  }

  /** A message of a run, or about its place in the line, came in. @param {string} run */
  heard(run, isOver = false) {
    this.heardAt = this.now();
    this.nHeard++;
    if (run !== this.run) {
      this.run = run;
      this.#remember();
    }
    this.isOver = isOver;
  }

  /** Another run, or a recorded one, is on the screen: a reload should not bring this one back. */
  forget() {
    this.run = null;
    this.isOver = true;
    this.following = null;
    this.asked = null;
    keep(RUN_KEY, null, this.storage);
  }

  /**
   * After a reload: goes on where this tab was.
   * @returns {Promise<boolean>} whether there was something to go on with
   */
  async resume() {
    const kept = this.#kept();
    if (!kept) return false;
    let message;
    try {
      message = await this.page.ask("fetch_run", { run: kept.run, base: 0 });
    } catch {
      return false;
    }
    if (!message || message.error || (message.notice !== undefined && message.run !== kept.run)) {
      this.forget();
      return false;
    }
    this.asked = kept.asked;
    this.page.resumed(kept.asked, message);
    if (kept.isLost) this.page.notice(CONNECTION_BACK, { tone: "calm" });
    if (!message.end) this.follow(kept.run);
    return true;
  }

  /**
   * Asks the server for the run until it ends, or until its messages come by themselves again.
   * @param {string|null} run
   */
  async follow(run) {
    if (!run || this.following === run) return;
    this.following = run;
    let nFailed = 0;
    let lostAt = null;
    while (this.following === run) {
      let message;
      try {
        message = await this.page.ask("fetch_run", { run, base: this.page.nTokens(run) });
      } catch {
        message = null;
      }
      if (this.following !== run) return;
      if (!message) {
        lostAt ??= this.now();
        if (nFailed === 1) {
          this.page.notice(CONNECTION_LOST, { tone: "calm" });
          this.#remember(true);
        }
        if (this.now() - lostAt > GIVE_UP_MS) break;
        await this.pause(ASK_LOST_MS[Math.min(nFailed++, ASK_LOST_MS.length - 1)]);
        continue;
      }
      if (message.error) break;
      this.page.take(message);
      if (nFailed > 1) this.page.notice(CONNECTION_BACK, { tone: "calm" });
      nFailed = 0;
      lostAt = null;
      if (this.isOver) {
        this.following = null;
        return;
      }
      const { nHeard } = this;
      await this.pause(message.notice === undefined ? ASK_LIVE_MS : ASK_WAITING_MS);
      if (this.nHeard !== nHeard && this.following === run) {
        this.following = null; // they come by themselves
        return;
      }
    }
    if (this.following !== run) return;
    this.forget();
    this.page.lost(RUN_GONE);
  }

  #remember(isLost = false) {
    const { run, asked } = this;
    keep(RUN_KEY, JSON.stringify({ run, asked, search: globalThis.location?.search ?? "", isLost }), this.storage);
  }

  /** What this tab remembers, if it is ours and of this address. */
  #kept() {
    const found = keptJson(RUN_KEY, this.storage);
    if (typeof found?.run !== "string" || found.search !== (globalThis.location?.search ?? "")) return null;
    // A page from before an update may have left another form of what was asked.
    return { ...found, asked: found.asked?.settings ? found.asked : null };
  }
}
