/**
 * A run's branches as a link names them: of which one, from which token, and who writes it. Enough to write them again.
 *
 * Pure: must not know the DOM or how a branch is written. Called by link.js and page_link.js.
 *
 * @typedef {{parent: number, at: number, writer: Writer|"go", token: number|null, tau: number|null}} LinkFork `parent`:
 *   0 for the run itself, else the place of a fork before; `at`: counted from 0; "go" leaves its writer to the router;
 *   `tau`: null for the parent's
 * @typedef {{forks: LinkFork[], shown: number}} LinkForks `shown`: 0 for the run itself
 */

import { shownFirst } from "../run/branch_book.js";
import { GateError, readKind } from "../run/gate.js";
import { oneNamed, listOf, orNone, recordOf, wholeFrom } from "../run/kinds.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";

export const MOST_FORKS = 4;
const MOST_PLACES = 4096;
const GO_ON = "go";

export const FORK_SHOWN = wholeFrom(0, MOST_FORKS);
const FORKS = listOf(
  recordOf({
    parent: FORK_SHOWN,
    at: wholeFrom(1, MOST_PLACES),
    writer: oneNamed("slm", "llm", GO_ON),
    token: orNone(wholeFrom(0, 2 ** 31 - 1)),
    tau: orNone(SETTINGS_TABLE.threshold.kind),
  }),
  MOST_FORKS,
);

/** Whether a branch's first own token says how it came about. @param {BranchEntry} entry @param {BranchEntry} parent */
const isPlain = ({ trace, fork }, parent) =>
  trace.parent?.key === parent.key && trace.parent.fork === fork && fork < trace.events.length;

/** @param {BranchEntry} entry @param {number} parent @param {BranchEntry} from @returns {LinkFork} */
function forkOf({ trace, fork }, parent, from) {
  const event = trace.events[fork];
  const isForced = event.forced === true;
  const usual = event.source === "slm" ? event.slm_token_id : event.llm_top?.[0]?.[0];
  const { threshold } = trace.settings;
  return {
    parent,
    at: fork,
    writer: isForced ? event.source : GO_ON,
    token: isForced && usual !== event.token_id ? event.token_id : null,
    tau: threshold === from.trace.settings.threshold ? null : threshold,
  };
}

/**
 * Of a run's branches those that a link can hold, the shown one and what it comes from first.
 * @param {BranchEntry[]} entries the run itself first, parents before their children
 * @param {BranchEntry|null} shown
 * @returns {LinkForks|null} null where it cannot hold the shown one
 */
export function forksOf(entries, shown) {
  const byId = (/** @type {number|null} */ id) => entries.find((entry) => entry.id === id) ?? null;
  const kept = new Set(entries.slice(0, 1));
  for (const entry of shownFirst(entries, shown)) {
    const parent = byId(entry.parentId);
    if (kept.size <= MOST_FORKS && parent && kept.has(parent) && isPlain(entry, parent)) kept.add(entry);
  }
  if (!shown || !kept.has(shown)) return null;
  const order = entries.filter((entry) => kept.has(entry));
  const forks = order.slice(1).map((entry) => {
    const from = /** @type {BranchEntry} */ (byId(entry.parentId));
    return forkOf(entry, order.indexOf(from), from);
  });
  return { forks, shown: order.indexOf(shown) };
}

/** @param {LinkFork} fork */
export const forkInLink = ({ parent, at, writer, token, tau }) =>
  [parent, at + 1, writer, token ?? "", tau ?? ""].join("_").replace(/_+$/, "");

/**
 * @param {string[]} texts one for each
 * @returns {LinkFork[]}
 * @throws {GateError} what is wrong with them
 */
export function readForks(texts) {
  /** @param {string|undefined} text */
  const numberIn = (text) => (text ? (Number.isNaN(Number(text)) ? text : Number(text)) : null);
  const rows = texts.slice(0, MOST_FORKS + 1).map((text) => {
    const [parent, at, writer, token, tau] = text.split("_");
    return { parent: numberIn(parent), at: numberIn(at), writer, token: numberIn(token), tau: numberIn(tau) };
  });
  const forks = /** @type {LinkFork[]} */ (readKind(FORKS, rows, "br"));
  if (forks.some(({ parent }, i) => parent > i)) throw new GateError("br names a branch of one that comes after it.");
  return forks.map((fork) => ({ ...fork, at: fork.at - 1 }));
}
