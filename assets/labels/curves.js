/**
 * How a router's confidences separate labelled tokens, at every tau at once: ROC, precision-recall, reliability.
 *
 * Pure: must not know the DOM. The tokens to be found are the critical ones (label 0); one without a label counts as
 * neither.
 *
 * @typedef {Object} Curves points as rows of numbers
 * @property {number[][]} roc tau, easy wasted, critical caught, from none to all by the LLM, without those on a line
 * @property {number[][]} pr tau, critical caught, critical ones among the LLM's, without steps that gain nothing
 * @property {number[][]} reliability of each tenth with tokens: mean confidence, share with label 1, its 95% interval's
 *   ends, tokens
 * @property {number[]} easy tokens by twentieth of confidence
 * @property {number[]} critical
 * @property {number|null} auc area under `roc`; null where all tokens have one label
 * @property {number|null} average_precision of finding critical tokens; null where there are none
 * @property {number} ece expected calibration error: mean distance of `reliability` from the diagonal
 */

import { tauOfCut } from "../run/cut.js";
import { interval } from "../run/interval.js";
import { UNDECIDED, cutsOf } from "./verdict.js";

const N_TENTHS = 10;
const N_TWENTIETHS = 20;

/** @param {ArrayLike<number>} confidence @param {ArrayLike<number>} label @returns {Curves} */
export function curvesOf(confidence, label) {
  const cuts = cutsOf(confidence, label);
  const { edges, waste, caught } = cuts;
  const [nEasy, nCritical] = [waste[edges.length], caught[edges.length]];
  const [easy, critical] = [1, 0].map((wanted) => histogram(confidence, label, wanted));
  const tenths = reliability(confidence, label);
  const outOf = (/** @type {number} */ n, /** @type {() => number} */ sum) => (n ? sum() / n : null);
  return {
    roc: nEasy && nCritical ? roc(cuts) : [],
    pr: nCritical ? precisionRecall(cuts) : [],
    reliability: tenths,
    easy,
    critical,
    auc: outOf(nEasy * nCritical, () =>
      sumOf(edges, (k) => ((caught[k] + caught[k + 1]) / 2) * (waste[k + 1] - waste[k])),
    ),
    average_precision: outOf(nCritical, () =>
      sumOf(edges, (k) => ((caught[k + 1] - caught[k]) * caught[k + 1]) / (caught[k + 1] + waste[k + 1])),
    ),
    ece: tenths.reduce((sum, [mean, share, , , n]) => sum + (Math.abs(mean - share) * n) / (nEasy + nCritical), 0),
  };
}

/** @param {ArrayLike<unknown>} over @param {(k: number) => number} of */
function sumOf({ length }, of) {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += of(k);
  return sum;
}

/**
 * The cuts that a filter keeps, and the last one.
 * @param {number} first @param {number} last @param {(k: number) => boolean} keeps
 */
const kept = (first, last, keeps) =>
  Array.from({ length: last + 1 - first }, (_, i) => first + i).filter((k) => k === last || keeps(k));

/** @param {import("./verdict.js").Cuts} cuts */
function roc({ edges, waste, caught }) {
  const m = edges.length;
  const step = (/** @type {number[]} */ of, /** @type {number} */ k) => of[k + 1] - of[k];
  const turns = (/** @type {number} */ k) =>
    k === 0 || step(waste, k - 1) * step(caught, k) !== step(waste, k) * step(caught, k - 1);
  return kept(0, m, turns).map((k) => [tauOfCut(edges, k), waste[k] / waste[m], caught[k] / caught[m]]);
}

/** @param {import("./verdict.js").Cuts} cuts */
function precisionRecall({ edges, waste, caught }) {
  const m = edges.length;
  const gains = (/** @type {number} */ k) => caught[k] > caught[k - 1]; // more than the cut before
  return kept(1, m, (k) => gains(k) || gains(k + 1)).map((k) => [
    tauOfCut(edges, k),
    caught[k] / caught[m],
    caught[k] / (caught[k] + waste[k]),
  ]);
}

/** @param {ArrayLike<number>} confidence @param {ArrayLike<number>} label */
function reliability(confidence, label) {
  const tenths = Array.from({ length: N_TENTHS }, () => ({ n: 0, sum: 0, ones: 0 }));
  for (let i = 0; i < label.length; i++) {
    if (label[i] === UNDECIDED) continue;
    const tenth = tenths[binOf(confidence[i], N_TENTHS)];
    tenth.n++;
    tenth.sum += confidence[i];
    tenth.ones += label[i];
  }
  return tenths
    .filter(({ n }) => n)
    .map(({ n, sum, ones }) => [sum / n, ones / n, ...Object.values(interval(ones, n)), n]);
}

/** @param {ArrayLike<number>} confidence @param {ArrayLike<number>} label @param {number} wanted */
function histogram(confidence, label, wanted) {
  const counts = Array.from({ length: N_TWENTIETHS }, () => 0);
  for (let i = 0; i < label.length; i++) if (label[i] === wanted) counts[binOf(confidence[i], N_TWENTIETHS)]++;
  return counts;
}

/** @param {number} confidence @param {number} n */
const binOf = (confidence, n) => Math.min(n - 1, Math.floor(confidence * n));
