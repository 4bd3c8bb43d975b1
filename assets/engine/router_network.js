/**
 * A small network on the SLM's state and its three uncertainties, with its gradient: the shape of `citer-plus`.
 *
 * logit = w . u + b + v . relu(W x + c), x = [state, u]; or, without hidden neurons, w . u + b + a . x. What is added
 * to w . u starts at zero, so a network begins as a router by max-probability. Parameters are
 * 64-bit numbers, products of 32 bits.
 *
 * @typedef {Object} Batch some tokens
 * @property {Float32Array} inputs x of each, one after another; the last three of each are u
 * @property {Float64Array} offsets added to each logit in the loss
 * @property {Uint8Array} targets 1 prefers the SLM
 */

import { N_UNCERTAINTIES } from "./stored_router.js";

export class RouterNetwork {
  /**
   * @param {import("./layer_products.js").LayerProducts} products room for batches of such inputs
   * @param {number} width hidden neurons; 0 for none @param {() => number} random from 0 to 1, for the first weights
   */
  constructor(products, width, random) {
    const { nIn } = products;
    this.products = products;
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

  /** What enters each hidden neuron. @param {Float32Array} inputs of no more rows than there is room for */
  #neurons(inputs) {
    const { width, products } = this;
    const { first, shift } = this.parts;
    const neurons = products.neurons(inputs, first, width);
    for (let i = 0; i < neurons.length; i++) neurons[i] += shift[i % width];
    return neurons;
  }

  /** Logits of some tokens, without offsets. @param {Float32Array} inputs @returns {Float64Array} */
  logits(inputs) {
    const { nIn, products } = this;
    const logits = new Float64Array(inputs.length / nIn);
    for (let row = 0; row < logits.length; row += products.mostRows) {
      const some = inputs.subarray(row * nIn, (row + products.mostRows) * nIn);
      logits.set(this.#outputs(some, this.width ? this.#neurons(some) : null), row);
    }
    return logits;
  }

  /** @param {Float32Array} inputs @param {Float32Array|null} neurons null where there are none */
  #outputs(inputs, neurons) {
    const { nIn, width } = this;
    const { direct, bias, last } = this.parts;
    const outputs = new Float64Array(inputs.length / nIn);
    for (let row = 0; row < outputs.length; row++) {
      let sum = bias[0];
      const u = (row + 1) * nIn - N_UNCERTAINTIES;
      for (let k = 0; k < N_UNCERTAINTIES; k++) sum += direct[k] * inputs[u + k];
      if (neurons) for (let j = 0; j < width; j++) sum += Math.max(0, neurons[row * width + j]) * last[j];
      else for (let i = 0; i < nIn; i++) sum += inputs[row * nIn + i] * last[i];
      outputs[row] = sum;
    }
    return outputs;
  }

  /**
   * The mean loss of some tokens, and its gradient.
   * @param {Batch} batch of no more tokens than there is room for
   * @param {Float64Array} gradient of the parameters; written over
   * @returns {number}
   */
  loss({ inputs, offsets, targets }, gradient) {
    const { nIn, width, products } = this;
    const { last } = this.parts;
    const to = this.partsOf(gradient.fill(0));
    const n = targets.length;
    const neurons = width ? this.#neurons(inputs) : null;
    const outputs = this.#outputs(inputs, neurons);
    const slopes = new Float32Array(n * width);
    let loss = 0;
    for (let row = 0; row < n; row++) {
      const logit = outputs[row] + offsets[row];
      loss += crossEntropy(logit, targets[row]) / n;
      const slope = (sigmoid(logit) - targets[row]) / n;
      to.bias[0] += slope;
      const u = (row + 1) * nIn - N_UNCERTAINTIES;
      for (let k = 0; k < N_UNCERTAINTIES; k++) to.direct[k] += slope * inputs[u + k];
      if (!neurons) for (let i = 0; i < nIn; i++) to.last[i] += slope * inputs[row * nIn + i];
      else {
        for (let j = 0; j < width; j++) {
          const neuron = neurons[row * width + j];
          if (neuron <= 0) continue;
          to.last[j] += slope * neuron;
          to.shift[j] += slope * last[j];
          slopes[row * width + j] = slope * last[j];
        }
      }
    }
    if (width) to.first.set(products.gradient(inputs, slopes, width));
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
