/**
 * The two products of a layer that is trained, on the kernel: what enters its neurons, and the gradient of its weights.
 *
 * Room for one batch, made once for all networks of a worker, because the kernel's memory is never given back. Knows no
 * loss.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 */

import { roundedUp } from "./kernel.js";
import { PANEL } from "./product_code.js";

export class LayerProducts {
  /**
   * @param {Kernel} kernel @param {number} nIn inputs of the layer
   * @param {number} mostNeurons a multiple of 16 @param {number} mostRows even
   */
  constructor(kernel, nIn, mostNeurons, mostRows) {
    this.kernel = kernel;
    this.nIn = nIn;
    this.stride = roundedUp(nIn, 2); // an even number is multiplied; the last may be zero
    this.mostRows = mostRows;
    this.at = {
      rows: kernel.alloc(mostRows * this.stride),
      columns: kernel.alloc(nIn * mostRows),
      weights: kernel.alloc(this.stride * mostNeurons),
      neurons: kernel.alloc(mostRows * mostNeurons),
      slopes: kernel.alloc(mostRows * mostNeurons),
      gradient: kernel.alloc(nIn * mostNeurons),
    };
  }

  /**
   * What enters the neurons, but for their shifts, row by row; good until the next call.
   * @param {Float32Array} inputs of at most `mostRows` rows
   * @param {Float64Array} weights all neurons of one input together @param {number} width neurons
   * @returns {Float32Array}
   */
  neurons(inputs, weights, width) {
    const { kernel, at, nIn, stride } = this;
    const { floats } = kernel;
    const n = inputs.length / nIn;
    for (let row = 0; row < n; row++) {
      floats.set(inputs.subarray(row * nIn, (row + 1) * nIn), at.rows + row * stride);
    }
    for (let panel = 0; panel < width; panel += PANEL) {
      for (let i = 0; i < nIn; i++) {
        const to = at.weights + panel * stride + i * PANEL;
        for (let j = 0; j < PANEL; j++) floats[to + j] = weights[i * width + panel + j];
      }
    }
    kernel.multiplyPart(at.rows, stride, at.weights, stride * PANEL, at.neurons, width, n, stride, width / PANEL);
    return kernel.view(at.neurons, n * width);
  }

  /**
   * The gradient of the weights, in their order; good until the next call.
   * @param {Float32Array} inputs of the batch
   * @param {Float32Array} slopes of the loss at each neuron, row by row @param {number} width neurons
   * @returns {Float32Array}
   */
  gradient(inputs, slopes, width) {
    const { kernel, at, nIn, mostRows } = this;
    const { floats } = kernel;
    const n = slopes.length / width;
    const even = roundedUp(n, 2);
    for (let i = 0; i < nIn; i++) {
      const to = at.columns + i * mostRows;
      for (let row = 0; row < n; row++) floats[to + row] = inputs[row * nIn + i];
      if (even > n) floats[to + n] = 0;
    }
    for (let panel = 0; panel < width; panel += PANEL) {
      for (let row = 0; row < n; row++) {
        const to = at.slopes + panel * mostRows + row * PANEL;
        for (let j = 0; j < PANEL; j++) floats[to + j] = slopes[row * width + panel + j];
      }
    }
    kernel.multiplyPart(
      at.columns,
      mostRows,
      at.slopes,
      mostRows * PANEL,
      at.gradient,
      width,
      nIn,
      even,
      width / PANEL,
    );
    return kernel.view(at.gradient, nIn * width);
  }
}
