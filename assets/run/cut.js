/**
 * From a place between two confidences to a tau that a person can read: which k lowest ones go to the LLM.
 *
 * Pure: must not know runs or labels. Between two neighbouring confidences every tau decides alike, so the shortest
 * number there is as good as any.
 */

const MAX_DECIMALS = 12;

/**
 * The number with the fewest decimals in (low, high], but below 1, where tau would hand over every token.
 * @param {number} low
 * @param {number} high
 */
export function shortestBetween(low, high) {
  for (let decimals = 1; decimals <= MAX_DECIMALS; decimals++) {
    const scale = 10 ** decimals;
    let number = Math.floor(high * scale) / scale;
    if (number >= 1) number = (scale - 1) / scale;
    if (low < number && number <= high) return number;
  }
  return high < 1 ? high : (low + high) / 2;
}

/**
 * The tau that gives exactly the k lowest confidences to the LLM.
 * @param {ArrayLike<number>} edges distinct confidences, ascending
 * @param {number} k from 0 (none) to `edges.length` (all)
 */
export function tauOfCut(edges, k) {
  if (k === 0) return 0;
  return k === edges.length ? 1 : shortestBetween(edges[k - 1], edges[k]);
}
