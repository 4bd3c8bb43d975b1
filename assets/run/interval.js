/** The interval of a share that was counted. Pure. */

const Z = 1.96;

/**
 * Wilson's 95% interval of k of n, as `citer_core/evaluation/metrics.py` has it.
 * @param {number} k @param {number} n
 */
export function interval(k, n) {
  const p = k / n;
  const middle = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n * n));
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}
