/**
 * A small network on the SLM's state and its three uncertainties, with its gradient: the shape of `citer-plus`.
 *
 * logit = w . u + b + v . relu(W x + c), x = [state, u]; or, without hidden neurons, w . u + b + a . x. What is added
 * to w . u starts at zero, so a network begins as a router by max-probability. Plain loops over 64-bit numbers. Pure.
 *
 * @typedef {Object} Batch some tokens
 * @property {Float64Array} inputs x of each, one after another; the last three of each are u
 * @property {Float64Array} offsets added to each logit in the loss
 * @property {Uint8Array} targets 1 prefers the SLM
 */

import { N_UNCERTAINTIES } from "./stored_router.js";

export class RouterNetwork {
  /**
   * @param {number} nIn numbers of x @param {number} width hidden neurons; 0 for none
   * @param {() => number} random from 0 to 1, for the first weights
   */
  constructor(nIn, width, random) {
    this.nIn = nIn;
    this.width = width;
    const sizes = width ? [N_UNCERTAINTIES, 1, nIn * width, width, width] : [N_UNCERTAINTIES, 1, nIn];
    this.parameters = new Float64Array(sizes.reduce((sum, size) => sum + size, 0));
    this.parts = this.partsOf(this.parameters);
    this.parts.direct[0] = 1;
    const bound = 1 / Math.sqrt(nIn);
    for (const part of width ? [this.parts.first, this.parts.shift] : []) {
      for (let i = 0; i < part.length; i++) part[i] = bound * (2 * random() - 1);
    }
  }

  /**
   * Parameters, or anything of their shape, by name.
   * @param {Float64Array} all
   */
  partsOf(all) {
    const { nIn, width } = this;
    let at = 0;
    const take = (/** @type {number} */ n) => all.subarray(at, (at += n));
    return {
      direct: take(N_UNCERTAINTIES), // w
      bias: take(1),
      first: take(nIn * width), // W, all neurons of one input together
      shift: take(width), // c
      last: take(width || nIn), // v, or a
    };
  }

  /**
   * Logits of some tokens, without offsets.
   * @param {Float64Array} inputs
   * @param {Float64Array} [neurons] takes what enters each hidden neuron
   * @returns {Float64Array}
   */
  logits(inputs, neurons = new Float64Array((inputs.length / this.nIn) * this.width)) {
    const { nIn, width } = this;
    const { direct, bias, first, shift, last } = this.parts;
    const logits = new Float64Array(inputs.length / nIn);
    for (let row = 0; row < logits.length; row++) {
      const [x, z] = [row * nIn, row * width];
      let sum = bias[0];
      for (let k = 0; k < N_UNCERTAINTIES; k++) sum += direct[k] * inputs[x + nIn - N_UNCERTAINTIES + k];
      for (let j = 0; j < width; j++) neurons[z + j] = shift[j];
      for (let i = 0; i < nIn; i++) {
        const value = inputs[x + i];
        if (width === 0) sum += last[i] * value;
        const weights = i * width;
        for (let j = 0; j < width; j++) neurons[z + j] += value * first[weights + j];
      }
      for (let j = 0; j < width; j++) if (neurons[z + j] > 0) sum += neurons[z + j] * last[j];
      logits[row] = sum;
    }
    return logits;
  }

  /**
   * The mean loss of some tokens, and its gradient.
   * @param {Batch} batch @param {Float64Array} gradient of the parameters; written over
   * @returns {number}
   */
  loss({ inputs, offsets, targets }, gradient) {
    const { nIn, width } = this;
    const { last } = this.parts;
    const to = this.partsOf(gradient.fill(0));
    const n = targets.length;
    const neurons = new Float64Array(n * width);
    const logits = this.logits(inputs, neurons);
    const back = new Float64Array(width);
    let loss = 0;
    for (let row = 0; row < n; row++) {
      const [x, z] = [row * nIn, row * width];
      loss += crossEntropy(logits[row] + offsets[row], targets[row]) / n;
      const slope = (sigmoid(logits[row] + offsets[row]) - targets[row]) / n;
      to.bias[0] += slope;
      for (let k = 0; k < N_UNCERTAINTIES; k++) to.direct[k] += slope * inputs[x + nIn - N_UNCERTAINTIES + k];
      for (let j = 0; j < width; j++) {
        const isOn = neurons[z + j] > 0;
        back[j] = isOn ? slope * last[j] : 0;
        if (isOn) to.last[j] += slope * neurons[z + j];
        to.shift[j] += back[j];
      }
      for (let i = 0; i < nIn; i++) {
        const value = inputs[x + i];
        if (width === 0) to.last[i] += slope * value;
        const weights = i * width;
        for (let j = 0; j < width; j++) to.first[weights + j] += value * back[j];
      }
    }
    return loss;
  }
}

/** @param {number} logit */
export const sigmoid = (logit) => 1 / (1 + Math.exp(-logit));

/** -log of what a logit gives its target. @param {number} logit @param {number} target */
export const crossEntropy = (logit, target) =>
  Math.max(logit, 0) - logit * target + Math.log1p(Math.exp(-Math.abs(logit)));

/** Adam (arXiv 1412.6980) with its usual numbers. */
export class Adam {
  #nSteps = 0;

  /** @param {number} size @param {number} rate */
  constructor(size, rate) {
    this.rate = rate;
    this.mean = new Float64Array(size);
    this.square = new Float64Array(size);
  }

  /** @param {Float64Array} parameters @param {Float64Array} gradient */
  step(parameters, gradient) {
    const [decay, squareDecay, epsilon] = [0.9, 0.999, 1e-8];
    this.#nSteps++;
    const rate = this.rate / (1 - decay ** this.#nSteps);
    const correction = Math.sqrt(1 - squareDecay ** this.#nSteps);
    const { mean, square } = this;
    for (let i = 0; i < parameters.length; i++) {
      const slope = gradient[i];
      mean[i] = decay * mean[i] + (1 - decay) * slope;
      square[i] = squareDecay * square[i] + (1 - squareDecay) * slope * slope;
      parameters[i] -= (rate * mean[i]) / (Math.sqrt(square[i]) / correction + epsilon);
    }
  }
}
