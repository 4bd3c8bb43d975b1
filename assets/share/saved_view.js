/**
 * What a one-file page keeps beside its run: tau, the pinned token, how the run is shown, its price and its branches.
 *
 * Must not know the document that holds it. What is read passes the same gate as a trace, and is bounded: the page may
 * come from any sender.
 *
 * @typedef {{name: string, parent: number|null, fork: number}} SavedBranch `parent`: its place in the list
 * @typedef {import("../run/run_look.js").RunLook & {schema: string, threshold: number|null, token: number|null,
 *   pricing: Pricing|null, branches: SavedBranch[], shown: number}} SavedHead `threshold`: null for the run's own
 * @typedef {SavedHead & {traces: (Trace|null)[]}} SavedView a trace for each branch; null for the one that is shown
 */

import { MOST_BRANCHES, shownFirst } from "../run/branch_book.js";
import { GateError, parseJson, readKind } from "../run/gate.js";
import { FLAG, oneNamed, listOf, orNone, realAbove, realFrom, recordOf, textUpTo, wholeFrom } from "../run/kinds.js";
import { DEVICE_RATE, FILTER, usualLook } from "../run/run_look.js";
import { TraceFileError, checkTrace, traceToJson } from "../run/trace_file.js";
import { MODEL_TABLE } from "../run/trace_schema.js";

const VIEW_SCHEMA = "citer-view";
export const MAX_VIEW_CHARS = 6_000_000; // half of what a trace may have: branches share most of their text with it
const MOST_TOKENS = 4096;

/** @param {number} high */
const rateKind = (high) => ({ ...realAbove(0, high), wanted: "a number above 0" });
const SHORT_TEXT = textUpTo(200);
const DEVICE_KIND = recordOf(
  { name: SHORT_TEXT, bandwidth: rateKind(1e18), peak_flops: rateKind(1e21) },
  { memory_bytes: orNone(rateKind(1e18)) },
);
const PRICING_KIND = recordOf(
  { device: DEVICE_KIND },
  { label: SHORT_TEXT, slm: MODEL_TABLE, llm: MODEL_TABLE, routerParams: orNone(wholeFrom(0, 1e15), "a whole number") },
);
const PRICE_KIND = recordOf({
  pair: orNone(SHORT_TEXT, "the label of a pair"),
  bandwidth: orNone(DEVICE_RATE),
  compute: orNone(DEVICE_RATE),
});
const BRANCH_KIND = recordOf({
  name: SHORT_TEXT,
  parent: orNone(wholeFrom(0, MOST_BRANCHES), "a place"),
  fork: wholeFrom(0, MOST_TOKENS),
});
const VIEW_TABLE = recordOf({
  schema: oneNamed(VIEW_SCHEMA),
  threshold: orNone(realFrom(0, 1)),
  token: orNone(wholeFrom(0, MOST_TOKENS), "the number of a token"),
  filter: orNone(FILTER),
  certainty: FLAG,
  price: PRICE_KIND,
  pricing: orNone(PRICING_KIND),
  branches: listOf(BRANCH_KIND, MOST_BRANCHES + 1),
  shown: wholeFrom(0, MOST_BRANCHES),
});

/**
 * The run's branches as the page has them, the text under a moved tau as one more; none where there is the run alone.
 * @param {Viewer} viewer
 * @returns {{entries: BranchEntry[], shown: BranchEntry|null}}
 */
function branchesOf({ view, branching: { book } }) {
  const trace = view.trace();
  if (view.live || !trace || !book.shown || book.entries.length < 2) return { entries: [], shown: null };
  if (!view.origin) return { entries: book.entries, shown: book.shown };
  const name = `At τ ${trace.settings.threshold}`;
  const moved = { ...book.shown, id: -1, name, parentId: book.shown.id, fork: trace.parent?.fork ?? 0, trace };
  return { entries: [...book.entries, moved], shown: moved };
}

/**
 * Of a run's branches those that fit, the shown one's ancestors first: a branch without its parent says nothing.
 * @param {BranchEntry[]} entries parents before their children
 * @param {BranchEntry|null} shown
 * @param {number} mostChars
 * @returns {Map<BranchEntry, string>} each with its trace as JSON, in the order of `entries`; empty where the shown
 *   one's ancestors are too long
 */
function branchesThatFit(entries, shown, mostChars) {
  const kept = new Map();
  let nChars = 0;
  for (const entry of shownFirst(entries, shown)) {
    if (entry.parentId !== null && ![...kept.keys()].some(({ id }) => id === entry.parentId)) continue;
    const json = entry === shown ? "null" : traceToJson(entry.trace);
    if (nChars + json.length > mostChars) continue;
    nChars += json.length;
    kept.set(entry, json);
  }
  if (!shown || !kept.has(shown)) return new Map();
  return new Map(entries.filter((entry) => kept.has(entry)).map((entry) => [entry, kept.get(entry)]));
}

/**
 * What is on the screen beside the run, as JSON.
 * @param {Viewer} viewer
 * @param {import("../run/run_look.js").PriceChoice} [price] what the page's controls say
 * @param {number} [mostChars]
 * @returns {{json: string, nLeft: number}} and how many branches were too much
 */
export function viewOf(viewer, price = usualLook().price, mostChars = MAX_VIEW_CHARS / 2) {
  const { entries, shown } = branchesOf(viewer);
  const kept = branchesThatFit(entries, shown, mostChars);
  const order = [...kept.keys()];
  /** @param {number|null} id */
  const placeOf = (id) => order.findIndex((entry) => entry.id === id);
  /** @type {SavedHead} */
  const head = {
    schema: VIEW_SCHEMA,
    threshold: viewer.view.whatIf,
    token: viewer.view.pinned,
    ...viewer.legend.look,
    price,
    pricing: viewer.pricing,
    branches: order.map(({ name, parentId, fork }) => ({
      name,
      parent: parentId === null ? null : placeOf(parentId),
      fork,
    })),
    shown: shown && order.length ? placeOf(shown.id) : 0,
  };
  const json = `${JSON.stringify(head).slice(0, -1)},"traces":[${[...kept.values()].join(",")}]}`;
  return { json, nLeft: entries.length - order.length };
}

/**
 * @param {string} text
 * @returns {SavedView|null} null where nothing was kept
 * @throws {GateError} what is wrong with it
 */
export function readView(text) {
  const found = parseJson(text, MAX_VIEW_CHARS);
  if (found === null) return null;
  const head = /** @type {SavedHead} */ (readKind(VIEW_TABLE, found, ""));
  const { traces } = /** @type {{traces?: unknown}} */ (found);
  const { branches, shown } = head;
  const areWhole =
    Array.isArray(traces) &&
    traces.length === branches.length &&
    branches.every(({ parent }, i) => (i === 0 ? parent === null : parent !== null && parent < i)) &&
    traces.every((trace, i) => (trace === null) === (i === shown));
  if (!areWhole) throw new GateError("The branches and their runs do not belong together.");
  try {
    return { ...head, traces: traces.map((trace) => (trace === null ? null : checkTrace(trace))) };
  } catch (error) {
    throw error instanceof TraceFileError ? new GateError(error.message) : error;
  }
}

/**
 * Shows the run that is on the screen as it was; tau and what the page's controls say of its price are the page's.
 * @param {Viewer} viewer with the run
 * @param {SavedView} saved
 */
export function restoreView(viewer, { branches, traces, shown, filter, certainty, token }) {
  const trace = viewer.trace();
  if (!trace) return;
  if (branches.length)
    viewer.branching.restore(
      branches,
      traces.map((other) => other ?? trace),
      shown,
    );
  viewer.legend.show({ filter, certainty });
  viewer.pin(token);
}
