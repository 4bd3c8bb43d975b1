/**
 * What a network reads of labelled tokens: their states, and the SLM's three uncertainties, brought to one scale.
 *
 * The numbers of `citer_core/routing/routers/citer_plus.py`. Pure.
 *
 * @typedef {import("./labelling.js").Labelled} Labelled
 * @typedef {import("./router_network.js").Batch} Batch
 * @typedef {{mean: number[], variance: number[]}} Scale of the uncertainties, in float32
 */

import { NORM_EPS, N_UNCERTAINTIES, PLUS_EPSILON } from "./stored_router.js";

/**
 * The log-odds of the greedy token, the log of the entropy, the margin.
 * @param {Labelled["features"]} features @param {number} at
 */
function uncertaintiesOf({ maxProbability, margin, entropy }, at) {
  const p = Math.min(1 - PLUS_EPSILON, Math.max(PLUS_EPSILON, maxProbability[at]));
  return [Math.log(p / (1 - p)), Math.log(entropy[at] + PLUS_EPSILON), margin[at]];
}

/** Places of a problem's tokens that have a label. @param {Labelled} problem */
const labelledIn = ({ labels }) => [...labels.keys()].filter((at) => labels[at] !== null);

/** Of the labelled tokens of some problems. @param {Labelled[]} labelled @returns {Scale} */
export function scaleOf(labelled) {
  const said = labelled.flatMap((one) => labelledIn(one).map((at) => uncertaintiesOf(one.features, at)));
  const mean = said[0].map((_, k) => said.reduce((sum, row) => sum + row[k], 0) / said.length);
  const variance = mean.map((middle, k) => said.reduce((sum, row) => sum + (row[k] - middle) ** 2, 0) / said.length);
  return { mean: mean.map(Math.fround), variance: variance.map(Math.fround) };
}

/**
 * @param {Labelled[]} labelled @param {Scale} scale
 * @param {(problem: Labelled) => number[]} [placesIn] which tokens of each; those with a label if nothing is said
 * @returns {Batch} without offsets; a token without a label has the target 0
 */
export function batchOf(labelled, { mean, variance }, placesIn = labelledIn) {
  const tokens = labelled.flatMap((problem) => placesIn(problem).map((at) => ({ problem, at })));
  const [{ labels, features }] = labelled;
  const hiddenSize = features.hidden.length / labels.length;
  const nIn = hiddenSize + N_UNCERTAINTIES;
  const inputs = new Float32Array(tokens.length * nIn);
  for (const [row, { problem, at }] of tokens.entries()) {
    inputs.set(problem.features.hidden.subarray(at * hiddenSize, (at + 1) * hiddenSize), row * nIn);
    const said = uncertaintiesOf(problem.features, at);
    const scaled = said.map((value, k) => (value - mean[k]) / Math.sqrt(variance[k] + NORM_EPS));
    inputs.set(scaled, row * nIn + hiddenSize);
  }
  const targets = Uint8Array.from(tokens, ({ problem, at }) => Number(problem.labels[at]));
  return { inputs, targets, offsets: new Float64Array(tokens.length) };
}

/** Some tokens of a batch. @param {Batch} batch @param {ArrayLike<number>} rows @returns {Batch} */
export function taken({ inputs, targets, offsets }, rows) {
  const nIn = inputs.length / targets.length;
  const some = new Float32Array(rows.length * nIn);
  for (let to = 0; to < rows.length; to++) some.set(inputs.subarray(rows[to] * nIn, (rows[to] + 1) * nIn), to * nIn);
  return {
    inputs: some,
    targets: Uint8Array.from(rows, (row) => targets[row]),
    offsets: Float64Array.from(rows, (row) => offsets[row]),
  };
}
