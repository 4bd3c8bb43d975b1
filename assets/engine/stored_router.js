/**
 * A trained router from its two files, the card and the weights: the MLPs of `citer_core/routing/routers`.
 *
 * As there, the batch norm is folded into the layer before it and the last two layers into one, so a score is one small
 * product and a sum. Knows files and features, not the decode loop.
 *
 * @typedef {import("./features.js").Router} Router
 * @typedef {import("./features.js").RouterFeatures} RouterFeatures
 * @typedef {import("./kernel.js").Kernel} Kernel
 * @typedef {import("./safetensors.js").FileTensor} FileTensor
 */

import { EQUAL_PRIORS } from "../run/decision.js";
import { copyRow, putMatrix } from "./matrices.js";
import { ModelFileProblem, floatsOf } from "./safetensors.js";

export const NORM_EPS = 1e-5; // of torch's batch norms
export const PLUS_EPSILON = 1e-6;
export const N_UNCERTAINTIES = 3;
const MOST_PATHS = 80; // as in `citer_core/routing/inside.py`
const { fround } = Math;

/** Reads tensors, each once, and checks their shapes. */
class RouterTensors {
  /** @param {Map<string, FileTensor>} tensors @param {string} name */
  constructor(tensors, name) {
    this.tensors = tensors;
    this.name = name;
    this.left = new Set(tensors.keys());
  }

  /** @param {string} key @param {number[]} shape @returns {Float32Array} */
  take(key, ...shape) {
    const tensor = this.tensors.get(key);
    if (!this.left.delete(key) || !tensor || tensor.shape.join() !== shape.join()) {
      throw new ModelFileProblem(`The weights of router "${this.name}" do not fit its card (${key}).`);
    }
    const floats = floatsOf(tensor);
    if (!floats.every(Number.isFinite)) {
      throw new ModelFileProblem(`The router "${this.name}" holds values that are not numbers: it is damaged.`);
    }
    return floats;
  }

  end() {
    if (this.left.size) {
      throw new ModelFileProblem(`The weights of router "${this.name}" do not fit its card (${[...this.left][0]}).`);
    }
  }
}

/** The published MLP, folded: n -> 2n, ReLU, 1. */
class FoldedMlp {
  /** @param {Kernel} kernel @param {RouterTensors} tensors @param {string} prefix @param {number} nIn */
  constructor(kernel, tensors, prefix, nIn) {
    const inner = 2 * nIn;
    const take = (/** @type {string} */ key, /** @type {number[]} */ ...shape) => tensors.take(prefix + key, ...shape);
    const weight = take("0.weight", inner, nIn);
    const bias = take("0.bias", inner);
    const norm = ["weight", "bias", "running_mean", "running_var"].map((key) => take(`1.${key}`, inner));
    const [second, secondBias] = [take("4.weight", nIn, inner), take("4.bias", nIn)];
    const [third, thirdBias] = [take("6.weight", 1, nIn), take("6.bias", 1)];
    const [gain, shift, mean, variance] = norm;
    const scales = Array.from(gain, (value, i) => value / Math.sqrt(variance[i] + NORM_EPS));
    this.kernel = kernel;
    this.inner = inner;
    this.nParams = inner * nIn + 2 * inner + 1;
    this.matrix = putMatrix(kernel, [
      { shape: [inner, nIn], floats: weight.map((value, i) => value * scales[Math.floor(i / nIn)]) },
    ]);
    this.bias = bias.map((value, i) => (value - mean[i]) * scales[i] + shift[i]);
    this.last = Float32Array.from({ length: inner }, (_, i) => {
      let sum = 0;
      for (let k = 0; k < nIn; k++) sum += third[k] * second[k * inner + i];
      return sum;
    });
    this.lastBias = third.reduce((sum, value, k) => sum + value * secondBias[k], thirdBias[0]);
    this.out = kernel.alloc(this.matrix.nOut);
    this.row = kernel.alloc(this.matrix.nIn);
  }

  /** @param {number} x place of its inputs, a zero behind an odd number of them */
  logit(x) {
    const { kernel, matrix, out, bias, last } = this;
    kernel.multiply(x, matrix.nIn, matrix, out, matrix.nOut, 1, false);
    let sum = this.lastBias;
    for (let i = 0; i < this.inner; i++) sum += Math.max(0, kernel.floats[out + i] + bias[i]) * last[i];
    return sum;
  }

  /** What that sum was made of, just after it was asked for. @param {number} x @param {number} n inputs */
  parts(x, n) {
    const { kernel, matrix, out, bias, last, row } = this;
    const { floats } = kernel;
    const gains = Array.from({ length: n }, () => 0);
    /** @type {[number, number, number][]} */
    const paths = [];
    const pushes = Array.from(last, (weight, j) => Math.max(0, floats[out + j] + bias[j]) * weight);
    pushes.forEach((push, j) => {
      if (push === 0) return;
      copyRow(kernel, matrix, j, row);
      for (let k = 0; k < n; k++) {
        const adds = last[j] * floats[row + k] * floats[x + k];
        gains[k] += adds;
        paths.push([k, j, adds]);
      }
    });
    paths.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    return { inputs: [...kernel.view(x, n)], gains, pushes, paths: paths.slice(0, MOST_PATHS) };
  }
}

/**
 * @typedef {Object} Network
 * @property {FoldedMlp} mlp
 * @property {number} [more] parameters beside it that a step reads
 * @property {number} nIn
 * @property {(features: RouterFeatures) => {at: number, direct: number}} reads the place of the MLP's inputs, and what
 *   is added to what it gives
 */

/**
 * What each kind of card computes.
 * @type {Record<string, (kernel: Kernel, tensors: RouterTensors, size: number) => Network>}
 */
const NETWORKS = {
  citer(kernel, tensors, size) {
    const mlp = new FoldedMlp(kernel, tensors, "", size);
    return { mlp, nIn: size, reads: ({ hidden }) => ({ at: hidden, direct: 0 }) };
  },
  "query-level"(kernel, tensors, size) {
    const mlp = new FoldedMlp(kernel, tensors, "", size);
    const at = kernel.alloc(size + 1);
    /** @type {Network["reads"]} */
    const reads = ({ promptHidden }) => {
      kernel.floats.set(/** @type {Float32Array} */ (promptHidden), at);
      return { at, direct: 0 };
    };
    return { mlp, nIn: size, reads };
  },
  "citer-plus"(kernel, tensors, size) {
    const mlp = new FoldedMlp(kernel, tensors, "residual.", size + N_UNCERTAINTIES);
    const [weight, bias] = [tensors.take("linear.weight", 1, N_UNCERTAINTIES), tensors.take("linear.bias", 1)];
    const [mean, variance] = ["mean", "var"].map((key) => tensors.take(`scale.running_${key}`, N_UNCERTAINTIES));
    const at = kernel.alloc(size + N_UNCERTAINTIES + 1);
    /** @type {Network["reads"]} */
    const reads = ({ slm, hidden }) => {
      const p = Math.min(fround(1 - PLUS_EPSILON), Math.max(fround(PLUS_EPSILON), slm.maxProbability));
      const logOdds = fround(Math.log(p / fround(1 - p)));
      const said = [logOdds, Math.log(fround(slm.entropy + fround(PLUS_EPSILON))), slm.margin];
      const scaled = said.map((value, i) => (value - mean[i]) / Math.sqrt(variance[i] + NORM_EPS));
      kernel.floats.copyWithin(at, hidden, hidden + size);
      kernel.floats.set(scaled, at + size);
      return { at, direct: scaled.reduce((sum, value, i) => sum + value * weight[i], bias[0]) };
    };
    return { mlp, more: 3 * N_UNCERTAINTIES + 1, nIn: size + N_UNCERTAINTIES, reads };
  },
};

/**
 * @param {Kernel} kernel
 * @param {any} card the JSON document
 * @param {string} name of its file
 * @param {Map<string, FileTensor>} weights
 * @param {number} hiddenSize of the SLM
 * @returns {Router}
 * @throws {ModelFileProblem}
 */
export function storedRouter(kernel, card, name, weights, hiddenSize) {
  const make = Object.hasOwn(NETWORKS, card.kind ?? "citer") ? NETWORKS[card.kind ?? "citer"] : null;
  if (card.schema_version !== 1 || !make) {
    throw new ModelFileProblem(`The card of router "${name}" is of a kind or version that this page does not know.`);
  }
  if (card.hidden_size !== hiddenSize) {
    throw new ModelFileProblem(
      `The router "${name}" reads hidden states of ${card.hidden_size} numbers, but the SLM of this pair gives ` +
        `${hiddenSize}.`,
    );
  }
  const tensors = new RouterTensors(weights, name);
  const { mlp, more = 0, nIn, reads } = make(kernel, tensors, hiddenSize);
  tensors.end();
  /** @param {RouterFeatures} features */
  const scored = (features) => {
    const { at, direct } = reads(features);
    return { at, logit: direct + mlp.logit(at) };
  };
  /** @type {Router} */
  const router = {
    name,
    label: String(card.label),
    revision: String(card.revision),
    nParams: mlp.nParams + more,
    readsLlm: false,
    usesLlmEntropy: false,
    usesPrompt: card.kind === "query-level",
    defaultThreshold: Number(card.recommended_threshold ?? 0.7),
    slmPrior: card.prior === undefined ? EQUAL_PRIORS : (card.training?.prefer_slm_share ?? EQUAL_PRIORS),
    confidence: (features) => fround(1 / (1 + Math.exp(-scored(features).logit))),
    layers: (features) => {
      const { at, logit } = scored(features);
      return { ...mlp.parts(at, nIn), n_state: hiddenSize, logit };
    },
  };
  if (!givesNumbers(kernel, router, hiddenSize)) {
    throw new ModelFileProblem(`The router "${name}" gives scores that are not numbers: it is damaged.`);
  }
  return router;
}

/**
 * Whether its scores of a few plain states are numbers.
 * @param {Kernel} kernel @param {Router} router @param {number} size
 */
function givesNumbers(kernel, router, size) {
  const hidden = kernel.alloc(size + 1);
  const slm = { maxProbability: 0.5, entropy: 1, margin: 0.25 };
  return [-1, 0, 1].every((value) => {
    const promptHidden = new Float32Array(size).fill(value);
    kernel.floats.set(promptHidden, hidden);
    const features = /** @type {unknown} */ ({ slm, hidden, promptHidden });
    return router.confidence(/** @type {RouterFeatures} */ (features)) >= 0;
  });
}
