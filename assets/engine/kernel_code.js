/**
 * The module that computes: products (`product_code.js`) and what needs e to a power (`exponential_code.js`).
 *
 * Assembled where it is used, in a few milliseconds, so there is nothing to build and no file of bytes to trust. Plain
 * vector instructions of 128 bits and none of the relaxed ones, so every processor gives the same numbers. Keys and
 * values of the cache are panels too: attention is the same product. Knows no model. Instantiated by `kernel.js`.
 */

import { exponentials, gated, softmax } from "./exponential_code.js";
import { FLOATS, HALVES, product } from "./product_code.js";
import { wasmModule } from "./wasm_code.js";

/** The module's bytes. */
export const kernelCode = () =>
  wasmModule([product("product", FLOATS), product("productOfHalves", HALVES), softmax(), exponentials(), gated()]);
