/**
 * What a model's logits at one position say: the most probable tokens, their probabilities, entropy.
 *
 * Log-probabilities are rounded to float32, as the server's are. Knows no model and no router.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 */

export const TOP_K = 5;

export class Distribution {
  /**
   * @param {Kernel} kernel
   * @param {number} logits their place
   * @param {number} size tokens that may be written, at most as many as there are logits
   */
  constructor(kernel, logits, size) {
    this.kernel = kernel;
    this.logits = logits;
    this.size = size;
    this.weights = kernel.alloc(size);
    this.topIds = new Int32Array(Math.min(TOP_K, size));
    this.logSum = 0;
  }

  /** Looks at the logits that are there now. @returns {boolean} false where they are not numbers */
  update() {
    const { kernel, logits, size, weights, topIds } = this;
    const { floats } = kernel;
    this.#fill(topIds);
    const top = floats[logits + topIds[0]];
    kernel.exponentials(logits, weights, size, top);
    let sum = 0;
    for (let i = 0; i < size; i++) sum += floats[weights + i];
    this.top = top;
    this.sum = sum;
    this.logSum = Math.log(sum);
    return Number.isFinite(top) && Number.isFinite(sum);
  }

  /** The logits themselves, where they are. */
  values() {
    return this.kernel.view(this.logits, this.size);
  }

  /** The ids of as many of the most probable tokens as there is room for. @param {Int32Array} ids best first */
  #fill(ids) {
    const { logits, size } = this;
    const { floats } = this.kernel;
    const n = ids.length;
    let filled = 0;
    let least = -Infinity;
    for (let id = 0; id < size; id++) {
      const value = floats[logits + id];
      if (filled === n && !(value > least)) continue;
      let place = filled < n ? filled++ : n - 1;
      for (; place > 0 && value > floats[logits + ids[place - 1]]; place--) ids[place] = ids[place - 1];
      ids[place] = id;
      if (filled === n) least = floats[logits + ids[n - 1]];
    }
    return ids;
  }

  /** The most probable token, the lowest id at a tie. */
  get greedyId() {
    return this.topIds[0];
  }

  /** The natural logarithm of a token's probability. @param {number} id */
  logProbability(id) {
    return Math.fround(this.kernel.floats[this.logits + id] - /** @type {number} */ (this.top) - this.logSum);
  }

  /** Of the most probable token. */
  get maxProbability() {
    return Math.fround(Math.exp(this.logProbability(this.topIds[0])));
  }

  /** Probability of the first choice less that of the second. */
  get margin() {
    const [first, second] = [this.topIds[0], this.topIds[1]].map((id) => Math.exp(this.logProbability(id)));
    return Math.fround(Math.fround(first) - Math.fround(second));
  }

  /** In nats. */
  get entropy() {
    const { floats } = this.kernel;
    const top = /** @type {number} */ (this.top);
    let weighted = 0;
    for (let i = 0; i < this.size; i++) {
      const weight = floats[this.weights + i];
      if (weight > 0) weighted += weight * (floats[this.logits + i] - top);
    }
    return Math.fround(this.logSum - weighted / /** @type {number} */ (this.sum));
  }

  /**
   * The most probable tokens, best first.
   * @param {(id: number) => string} textOf @param {number} [n] how many
   * @returns {Candidate[]}
   */
  candidates(textOf, n = this.topIds.length) {
    const ids = n === this.topIds.length ? this.topIds : this.#fill(new Int32Array(Math.min(n, this.size)));
    return [...ids].map((id) => [id, textOf(id), Math.round(Math.exp(this.logProbability(id)) * 1e6) / 1e6]);
  }
}
