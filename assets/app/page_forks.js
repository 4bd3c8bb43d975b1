/**
 * Branches that a link names, written again one after another over the run on the screen.
 *
 * Only this browser's own decoder writes them: an address that was sent must not spend a server's compute. Must
 * not know how an address spells them; called by page_link.js.
 */

import { dialsOf } from "../run/dials.js";
import { plural } from "../run/format.js";

/**
 * @typedef {import("./link_forks.js").LinkForks} LinkForks
 * @typedef {LinkForks & {ids: number[], key: string, at: number, then: () => void}} Job `ids`: of what there is
 *   already; `key` and `at`: of the branch that is being written
 */

export class PageForks {
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
