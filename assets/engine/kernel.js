/**
 * One memory for all numbers, and the module that computes on it: products (`product_code.js`) and what needs e to a
 * power (`exponential_code.js`).
 *
 * The module is assembled where it is used, in a few milliseconds, so there is nothing to build and no file of bytes to
 * trust. Plain vector instructions of 128 bits and none of the relaxed ones, so every processor gives the same numbers.
 * Keys and values of the cache are panels too: attention is the same product.
 *
 * Places are counted in floats from the start of the memory. It grows while models are loaded, and `floats` is another
 * array then: callers take it anew at each call. Knows matrices, but no model.
 *
 * @typedef {(x: number, xStride: number, w: number, wStride: number, y: number, yStride: number, nRows: number,
 *   nIn: number, nPanels: number, adds: number) => void} Product
 * @typedef {Object} KernelExports
 * @property {Product} product
 * @property {Product} productOfHalves
 * @property {(x: number, nBytes: number, scale: number) => void} softmax
 * @property {(x: number, y: number, nBytes: number, top: number) => void} exponentials
 * @property {(gate: number, up: number, nBytes: number) => void} gated
 */

import { exponentials, gated, softmax } from "./exponential_code.js";
import { FLOATS, HALVES, PANEL, product } from "./product_code.js";
import { wasmModule } from "./wasm_code.js";

const PAGE = 65536;
const FLOAT = 4;

/** The next multiple. @param {number} n @param {number} of */
export const roundedUp = (n, of) => Math.ceil(n / of) * of;

/**
 * A matrix in panels (see `product_code.js`).
 * @typedef {Object} Matrix
 * @property {number} at place in floats
 * @property {number} nIn inputs, as many as are multiplied: the next even number
 * @property {number} nOut outputs, as many as are written: the next multiple of a panel
 * @property {boolean} isHalf two bfloat16 in the place of a float
 */

export class Kernel {
  /** @param {WebAssembly.Memory} memory @param {KernelExports} code */
  constructor(memory, code) {
    this.memory = memory;
    this.code = code;
    this.floats = new Float32Array(memory.buffer);
    this.used = PANEL; // place 0 is not used
  }

  /**
   * @returns {Promise<Kernel>} with an empty memory
   * @throws {WebAssembly.CompileError} where vectors are not known: browsers from before 2023
   */
  static async create() {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const functions = [
      product("product", FLOATS),
      product("productOfHalves", HALVES),
      softmax(),
      exponentials(),
      gated(),
    ];
    const { instance } = await WebAssembly.instantiate(wasmModule(functions), { env: { memory } });
    return new Kernel(memory, /** @type {KernelExports} */ (/** @type {unknown} */ (instance.exports)));
  }

  /** Room for so many floats, all zero. @param {number} nFloats @returns {number} its place */
  alloc(nFloats) {
    const at = this.used;
    this.used = roundedUp(at + nFloats, PANEL);
    const missing = this.used * FLOAT - this.memory.buffer.byteLength;
    if (missing > 0) {
      this.memory.grow(Math.ceil(missing / PAGE));
      this.floats = new Float32Array(this.memory.buffer);
    }
    return at;
  }

  /** A copy of these numbers. @param {ArrayLike<number>} values @returns {number} its place */
  put(values) {
    const at = this.alloc(values.length);
    this.floats.set(values, at);
    return at;
  }

  /** @param {number} at @param {number} n a view, good until memory is next asked for */
  view(at, n) {
    return this.floats.subarray(at, at + n);
  }

  /**
   * y[r] = x[r] @ W, or added to what is there.
   * @param {number} x place of the first row
   * @param {number} xStride floats from one row to the next
   * @param {Matrix} matrix
   * @param {number} y place of the first row
   * @param {number} yStride floats from one row to the next
   * @param {number} nRows from 1
   * @param {boolean} adds
   */
  multiply(x, xStride, matrix, y, yStride, nRows, adds) {
    const { at, nIn, nOut, isHalf } = matrix;
    const panel = isHalf ? (nIn * PANEL * FLOAT) / 2 : nIn * PANEL * FLOAT;
    const product = isHalf ? this.code.productOfHalves : this.code.product;
    product(
      x * FLOAT,
      xStride * FLOAT,
      at * FLOAT,
      panel,
      y * FLOAT,
      yStride * FLOAT,
      nRows,
      nIn,
      nOut / PANEL,
      Number(adds),
    );
  }

  /**
   * As `multiply`, with the first `nIn` inputs and the first panels of a matrix that is still growing.
   * @param {number} x @param {number} xStride @param {number} w place @param {number} panel floats of one panel
   * @param {number} y @param {number} yStride @param {number} nRows @param {number} nIn even @param {number} nPanels
   */
  multiplyPart(x, xStride, w, panel, y, yStride, nRows, nIn, nPanels) {
    const { product } = this.code;
    product(x * FLOAT, xStride * FLOAT, w * FLOAT, panel * FLOAT, y * FLOAT, yStride * FLOAT, nRows, nIn, nPanels, 0);
  }

  /** Softmax in place of n numbers times `scale`. @param {number} at @param {number} n @param {number} scale */
  softmax(at, n, scale) {
    const even = roundedUp(n, 4);
    for (let i = n; i < even; i++) this.floats[at + i] = -Infinity;
    this.code.softmax(at * FLOAT, even * FLOAT, scale);
  }

  /** y = e^(x - top), of n numbers. @param {number} x @param {number} y @param {number} n @param {number} top */
  exponentials(x, y, n, top) {
    this.code.exponentials(x * FLOAT, y * FLOAT, roundedUp(n, 4) * FLOAT, top);
  }

  /** gate = silu(gate) * up, of n numbers. @param {number} gate @param {number} up @param {number} n */
  gate(gate, up, n) {
    this.code.gated(gate * FLOAT, up * FLOAT, roundedUp(n, 4) * FLOAT);
  }
}
