/**
 * Keys and values of one text in one model, in the panels that the kernel multiplies.
 *
 * Keys of a head are a matrix from its dimensions to positions, values one from positions to its dimensions: scores and
 * mixing are products with them. Written in place, so forgetting is to count less. Knows nothing about weights.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 */

import { roundedUp } from "./kernel.js";
import { PANEL } from "./product_code.js";

/** Sizes of an attention layer. @typedef {{nQ: number, nKv: number, dim: number}} Heads */

export class KeyValueCache {
  /** @param {Kernel} kernel @param {number} nLayers @param {Heads} heads @param {number} capacity positions */
  constructor(kernel, nLayers, heads, capacity) {
    this.kernel = kernel;
    this.heads = heads;
    this.capacity = roundedUp(capacity, PANEL);
    this.perHead = this.capacity * heads.dim;
    this.at = kernel.alloc(2 * nLayers * heads.nKv * this.perHead);
    this.scores = kernel.alloc((heads.nQ / heads.nKv) * this.capacity);
    this.length = 0;
  }

  /** Place of a head's keys; its values come behind them. @param {number} layer @param {number} head */
  placeOf(layer, head) {
    return this.at + 2 * (layer * this.heads.nKv + head) * this.perHead;
  }

  /**
   * @param {number} layer @param {number} position
   * @param {number} keys place of all heads' keys at this position, the values right behind them
   */
  write(layer, position, keys) {
    const { floats } = this.kernel;
    const { nKv, dim } = this.heads;
    for (let head = 0; head < nKv; head++) {
      const place = this.placeOf(layer, head);
      const key = keys + head * dim;
      const toKey = place + (position >> 4) * dim * PANEL + (position & 15);
      for (let i = 0; i < dim; i++) floats[toKey + i * PANEL] = floats[key + i];
      const value = key + nKv * dim;
      const toValue = place + this.perHead + position * PANEL;
      for (let i = 0; i < dim; i++) floats[toValue + (i >> 4) * this.capacity * PANEL + (i & 15)] = floats[value + i];
    }
  }

  /**
   * What a position sees: the values of all positions up to itself, mixed by attention.
   * @param {number} layer @param {number} position
   * @param {number} queries place of [H_q, D] @param {number} mixed place of [H_q, D]
   */
  mix(layer, position, queries, mixed) {
    const { kernel, capacity, scores } = this;
    const { nQ, nKv, dim } = this.heads;
    const n = position + 1;
    const group = nQ / nKv;
    for (let head = 0; head < nKv; head++) {
      const keys = this.placeOf(layer, head);
      const first = head * group * dim;
      const nPanels = Math.ceil(n / PANEL);
      kernel.multiplyPart(queries + first, dim, keys, dim * PANEL, scores, capacity, group, dim, nPanels);
      for (let row = 0; row < group; row++) kernel.softmax(scores + row * capacity, n, dim ** -0.5);
      const values = keys + this.perHead;
      const nRead = roundedUp(n, 4); // the last of them weigh nothing
      const nOut = dim / PANEL;
      kernel.multiplyPart(scores, capacity, values, capacity * PANEL, mixed + first, dim, group, nRead, nOut);
    }
  }

  /** Forgets all but the first n positions. @param {number} n */
  rewind(n) {
    this.length = Math.min(this.length, n);
  }
}
