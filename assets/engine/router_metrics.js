/**
 * How well confidences part tokens, and how they are spread; as in `citer_core/evaluation/metrics.py` and
 * `citer_core/training/router_training.py`. Pure.
 */

const N_BINS = 20;
const N_QUANTILES = 100;
const N_TAUS = 101;

/**
 * The chance that a token with target 1 has the greater score than one with target 0, ties counting half.
 * @param {ArrayLike<number>} scores @param {ArrayLike<number>} targets
 * @returns {number|null} null where one of the two is missing
 */
export function aucOf(scores, targets) {
  const order = Array.from(scores, (_, i) => i).sort((a, b) => scores[a] - scores[b]);
  let [nOne, rankSum] = [0, 0];
  for (let start = 0, end = 0; start < order.length; start = end) {
    while (end < order.length && scores[order[end]] === scores[order[start]]) end++;
    for (const i of order.slice(start, end)) {
      if (!targets[i]) continue;
      nOne++;
      rankSum += (start + end + 1) / 2; // ties share their mean rank
    }
  }
  const nZero = order.length - nOne;
  return nOne && nZero ? (rankSum - (nOne * (nOne + 1)) / 2) / (nOne * nZero) : null;
}

/**
 * How many confidences lie in each twentieth of 0 to 1, by target.
 * @param {ArrayLike<number>} confidences @param {ArrayLike<number>} targets
 * @returns {[number[], number[]]}
 */
export function histogramOf(confidences, targets) {
  const counts = [0, 1].map(() => Array.from({ length: N_BINS }, () => 0));
  for (let i = 0; i < confidences.length; i++) {
    counts[targets[i]][Math.min(N_BINS - 1, Math.floor(confidences[i] * N_BINS))]++;
  }
  return /** @type {[number[], number[]]} */ (counts);
}

/** Below which this share lies. @param {ArrayLike<number>} sorted rising @param {number} share */
export function quantileOf(sorted, share) {
  const place = share * (sorted.length - 1);
  const low = Math.min(Math.floor(place), Math.max(0, sorted.length - 2));
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** The tau for a share of LLM tokens, by what a router said of texts. @param {number} share @param {number[][]} said */
export const tauFor = (share, said) => quantileOf(Float64Array.from(said.flat()).sort(), share);

/** What a card says of how confidences are spread. @param {Float64Array} confidences */
export function spreadOf(confidences) {
  const sorted = confidences.slice().sort();
  const sixDecimals = (/** @type {number} */ value) => Math.round(value * 1e6) / 1e6;
  let nBelow = 0;
  const shares = Array.from({ length: N_TAUS }, (_, i) => {
    const tau = i / (N_TAUS - 1);
    while (nBelow < sorted.length && (sorted[nBelow] < tau || tau === 1)) nBelow++;
    return sixDecimals(nBelow / sorted.length);
  });
  return {
    confidence_quantiles: Array.from({ length: N_QUANTILES + 1 }, (_, i) =>
      sixDecimals(quantileOf(sorted, i / N_QUANTILES)),
    ),
    llm_shares_at_tau: shares,
  };
}
