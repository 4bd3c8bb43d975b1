/**
 * The greatest tau that keeps a finished run within a budget, by replay.
 *
 * Pure: must not know the DOM. Only a distinct confidence changes anything, and what the LLM costs grows with tau, so
 * bisection over those finds every point that the run can reach, and says which the budget falls between.
 */

import { tauOfCut } from "./cut.js";
import { isForced, replay } from "./decision.js";
import { seriesOf } from "./series.js";

/**
 * Budgets: what is counted, in the unit that a person types.
 * @type {Record<string, {label: string, of: (series: RunSeries) => number}>}
 */
export const BUDGETS = {
  share: { label: "% of tokens by the LLM", of: (series) => series.totals().llmShare * 100 },
  gigabytes: { label: "GB moved", of: (series) => series.totals().bytes / 1e9 },
  bytesShare: { label: "% of LLM-only bytes", of: (series) => series.totals().bytesShare * 100 },
};
/** A share of 20 may come out as 20.000000000000004. */
const ROUNDING = 1e-9;

/**
 * The distinct confidences that decide anything, ascending: a token chosen by hand stays what it is.
 * @param {TokenEvent[]} events
 */
function edgesOf(events) {
  const free = events.filter((event) => !isForced(event)).map((event) => event.slm_confidence);
  return [...new Set(free)].sort((a, b) => a - b);
}

/**
 * @param {RunView} view a finished run
 * @param {string} budget one of `BUDGETS`
 * @param {number} limit
 * @returns {{tau: number|null, value: number, least: number, next: number|null, isExact: boolean}} `value` is what the
 *   run would use
 *   at that tau, the reachable point nearest to the limit within it; `next` the nearest one above, null where there is
 * none.
 *   `tau` is null where even tau 0 (`least`) is over the limit.
 */
export function solveTau(view, budget, limit) {
  const edges = edgesOf(view.events);
  /** @param {number} k */
  const valueAt = (k) =>
    BUDGETS[budget].of(
      seriesOf(view.costModel, view.events, replay(view.events, tauOfCut(edges, k), view.facts), view.ownSeries),
    );
  const slack = ROUNDING * Math.max(1, limit);
  /** @param {number} value */
  const isWithin = (value) => value <= limit + slack;
  const least = valueAt(0);
  if (!isWithin(least)) return { tau: null, value: least, least, next: least, isExact: false };
  let low = { k: 0, value: least };
  /** @type {{k: number, value: number|null}} */
  let high = { k: edges.length + 1, value: null }; // not allowed, as far as we know
  while (high.k - low.k > 1) {
    const k = (low.k + high.k) >> 1;
    const value = valueAt(k);
    if (isWithin(value)) low = { k, value };
    else high = { k, value };
  }
  return {
    tau: tauOfCut(edges, low.k),
    value: low.value,
    least,
    next: high.value,
    isExact: Math.abs(low.value - limit) <= slack,
  };
}
