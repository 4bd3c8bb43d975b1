/**
 * The greatest tau that keeps a finished run within a budget, by replay.
 *
 * Pure: must not know the DOM. What the LLM costs grows with tau, so the answer is found by bisection on the slider's
 * own steps; a tau between two steps could not be set.
 */

import { replay } from "./decision.js";
import { seriesOf } from "./series.js";

/** Budgets: what is counted, in the unit that a person types. */
export const BUDGETS = {
  share: { label: "% of tokens by the LLM", of: (series) => series.totals().llmShare * 100 },
  gigabytes: { label: "GB moved", of: (series) => series.totals().bytes / 1e9 },
  bytesShare: { label: "% of LLM-only bytes", of: (series) => series.totals().bytesShare * 100 },
};
const STEPS = 100;

/**
 * @param {Object} view a finished run
 * @param {keyof typeof BUDGETS} budget
 * @param {number} limit
 * @returns {{tau: number, value: number, least: number}|{tau: null, value: number, least: number}} `value` is what the run
 *   would use at that tau; null where even tau 0 (`least`) is over the limit
 */
export function solveTau(view, budget, limit) {
  const valueAt = (step) => BUDGETS[budget].of(seriesOf(view.costModel, view.events, replay(view.events, step / STEPS), view.ownSeries));
  const least = valueAt(0);
  if (least > limit) return { tau: null, value: least, least };
  let low = 0;
  let high = STEPS + 1; // not allowed, as far as we know
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (valueAt(middle) <= limit) low = middle;
    else high = middle;
  }
  return { tau: low / STEPS, value: valueAt(low), least };
}
