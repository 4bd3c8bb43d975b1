/**
 * `BranchBook`: a run and the branches that were made of it: who is whose child, names, and what changed.
 *
 * Pure: must not know the DOM or how a branch comes about. Entries keep whole traces, so any of them can be shown
 * again.
 *
 * @typedef {{id: number, name: string, parentId: number|null, fork: number, trace: Trace, key: string,
 *   probe?: ProbedToken[]|null, truth?: Truth|null}} BranchEntry
 */

import { diffTokens, traceKey } from "./branch_diff.js";

/** Traces of thousands of tokens are megabytes each. */
export const MOST_BRANCHES = 24;
const MOST_NAME_CHARS = 60;

/** @param {BranchEntry} entry */
const idsOf = (entry) => entry.trace.events.map((event) => event.token_id);

/**
 * Entries in the order in which they are kept where there is no room for all: the shown one's ancestors first.
 * @param {BranchEntry[]} entries parents before their children
 * @param {BranchEntry|null} shown
 */
export function shownFirst(entries, shown) {
  /** @type {BranchEntry[]} */
  const chain = [];
  for (let entry = shown; entry; entry = entries.find(({ id }) => id === entry?.parentId) ?? null) chain.unshift(entry);
  return [...chain, ...entries.filter((entry) => !chain.includes(entry))];
}

export class BranchBook {
  constructor() {
    /** @type {BranchEntry[]} the root first, then in the order of making */
    this.entries = [];
    /** @type {number|null} */
    this.shownId = null;
    this.nMade = 0;
  }

  /** Starts over with a run that is no branch of what is here. @param {Trace|null} trace */
  reset(trace) {
    this.entries = [];
    this.nMade = 0;
    this.shownId = trace ? this.#add(trace, null, 0, "Original").id : null;
  }

  /**
   * As they were kept.
   * @param {{name: string, parent: number|null, fork: number}[]} rows `parent`: its place among them, before its own
   * @param {Trace[]} traces of each
   * @param {number} shown
   */
  restore(rows, traces, shown) {
    this.reset(null);
    rows.forEach(({ name, parent, fork }, i) => {
      this.#add(traces[i], parent, fork, name.trim().slice(0, MOST_NAME_CHARS) || `Branch ${i}`);
    });
    this.shownId = shown;
  }

  /** @param {Trace} trace @param {number|null} parentId @param {number} fork @param {string} name */
  #add(trace, parentId, fork, name) {
    const entry = { id: this.nMade++, name, parentId, fork, trace, key: traceKey(trace) };
    this.entries.push(entry);
    return entry;
  }

  /** The entry of that id, or null. @param {number|null} id */
  get(id) {
    return this.entries.find((entry) => entry.id === id) ?? null;
  }

  get shown() {
    return this.get(this.shownId);
  }

  get isFull() {
    return this.entries.length > MOST_BRANCHES;
  }

  /** The entry that a branch says it comes from; the one on the screen where several are alike. @param {Trace} trace */
  parentOf(trace) {
    const key = trace.parent?.key;
    if (!key) return null;
    return this.shown?.key === key ? this.shown : (this.entries.findLast((entry) => entry.key === key) ?? null);
  }

  /**
   * Adds a finished branch and shows it.
   * @param {Trace} trace
   * @param {BranchEntry} parent
   * @returns {BranchEntry}
   */
  add(trace, parent) {
    const entry = this.#add(trace, parent.id, trace.parent?.fork ?? 0, `Branch ${this.nMade}`);
    this.shownId = entry.id;
    return entry;
  }

  /** @param {number} id @param {string} name */
  rename(id, name) {
    const entry = this.get(id);
    if (entry && name.trim()) entry.name = name.trim().slice(0, MOST_NAME_CHARS);
  }

  /**
   * Takes a branch out; its own branches become its parent's. The root stays.
   * @param {number} id
   * @returns {boolean} whether it was there
   */
  remove(id) {
    const gone = this.get(id);
    if (!gone || gone.parentId === null) return false;
    this.entries = this.entries.filter((entry) => entry !== gone);
    for (const entry of this.entries) {
      // What a grandchild shares with its grandparent ends at the earlier of the two forks.
      if (entry.parentId === id)
        Object.assign(entry, { parentId: gone.parentId, fork: Math.min(entry.fork, gone.fork) });
    }
    if (this.shownId === id) this.shownId = gone.parentId;
    return true;
  }

  /** Tokens of an entry that its parent does not have, 1 each; null for the root. @param {BranchEntry} entry */
  changes(entry) {
    const parent = this.get(entry.parentId);
    return parent ? diffTokens(idsOf(entry), idsOf(parent)).ours : null;
  }

  /**
   * Two entries token by token.
   * @param {BranchEntry} one
   * @param {BranchEntry} other
   */
  compare(one, other) {
    return diffTokens(idsOf(one), idsOf(other));
  }
}
