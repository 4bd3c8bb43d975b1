/**
 * Matrices into the kernel's memory, in the panels that it multiplies; and single rows out of them again.
 *
 * bfloat16 stays bfloat16 there, two in the place of a float: the kernel widens it to the same float32 as it reads, and
 * half the bytes come from memory. Knows no model.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 * @typedef {import("./kernel.js").Matrix} Matrix
 * @typedef {import("./safetensors.js").FileTensor} FileTensor
 */

import { roundedUp } from "./kernel.js";
import { PANEL } from "./product_code.js";
import { floatsOf } from "./safetensors.js";

/**
 * One matrix of several with the same inputs, their outputs one after another.
 * @param {Kernel} kernel
 * @param {FileTensor[]} tensors [out, in] each; all in bfloat16, or they are widened
 * @returns {Matrix}
 */
export function putMatrix(kernel, tensors) {
  const isHalf = tensors.every((tensor) => tensor.halves);
  const [, nInputs] = tensors[0].shape;
  const nIn = roundedUp(nInputs, 2);
  const nOut = roundedUp(
    tensors.reduce((sum, { shape }) => sum + shape[0], 0),
    PANEL,
  );
  const at = kernel.alloc(isHalf ? (nIn * nOut) / 2 : nIn * nOut);
  const halves = new Uint16Array(kernel.memory.buffer, 4 * at, isHalf ? nIn * nOut : 0);
  let out = 0;
  for (const tensor of tensors) {
    const values = isHalf ? /** @type {Uint16Array} */ (tensor.halves) : floatsOf(tensor);
    for (let row = 0; row < tensor.shape[0]; row++, out++) {
      const target = isHalf ? halves : kernel.floats;
      const [first, step] = isHalf ? halfPlace(out, nIn) : [at + floatPlace(out, nIn), PANEL];
      for (let i = 0; i < nInputs; i++) target[first + i * step] = values[row * nInputs + i];
    }
  }
  return { at, nIn, nOut, isHalf };
}

/** Where an output's first weight is, in floats. @param {number} out @param {number} nIn */
const floatPlace = (out, nIn) => (out >> 4) * nIn * PANEL + (out & 15);

/**
 * The same in halves, and how far the next is: outputs 0 to 7 of a panel are low halves, the others high ones.
 * @param {number} out @param {number} nIn
 */
function halfPlace(out, nIn) {
  return [(out >> 4) * nIn * PANEL + 2 * (out & 7) + ((out & 15) >> 3), PANEL];
}

/**
 * The weights of one output, such as a token's embedding, into `to`.
 * @param {Kernel} kernel @param {Matrix} matrix @param {number} out @param {number} to place of `nIn` floats
 */
export function copyRow(kernel, { at, nIn, isHalf }, out, to) {
  const { floats } = kernel;
  if (!isHalf) {
    const first = at + floatPlace(out, nIn);
    for (let i = 0; i < nIn; i++) floats[to + i] = floats[first + i * PANEL];
    return;
  }
  const halves = new Uint16Array(kernel.memory.buffer, 4 * at, nIn * PANEL * ((out >> 4) + 1));
  const bits = new Uint32Array(kernel.memory.buffer, 4 * to, nIn);
  const [first, step] = halfPlace(out, nIn);
  for (let i = 0; i < nIn; i++) bits[i] = halves[first + i * step] << 16;
}
