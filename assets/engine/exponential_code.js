/**
 * What needs e to a power, in WebAssembly, four numbers at a time: softmax, probabilities, the gate of the MLP.
 *
 * @typedef {import("./wasm_code.js").Code} Code
 * @typedef {import("./wasm_code.js").WasmFunction} WasmFunction
 */

import {
  F32,
  I32,
  V128,
  add,
  addI32,
  addI32x4,
  advance,
  constant,
  constantI32,
  div,
  get,
  i32,
  less,
  lessI32,
  load,
  max,
  min,
  mul,
  nearest,
  neg,
  numbered,
  reorder,
  repeatWhile,
  set,
  shiftLeft,
  splat,
  store,
  sub,
  toI32x4,
  without,
} from "./wasm_code.js";

const LOWEST = -87; // e to less than this is given as 0
const HIGHEST = 88;
/** Of a polynomial in the remainder, highest power first: the classic one of Cephes' `expf`. */
const POLYNOMIAL = [1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];

/**
 * e to four numbers, within two units in the last place, of NaN NaN; leaves it in `out`.
 * @param {number} x a local, changed @param {number} n a local @param {number} out a local
 */
function exponential(x, n, out) {
  return [
    set(out, get(x)), // to know later which were too low
    set(x, min(max(get(x), constant(LOWEST)), constant(HIGHEST))),
    set(n, nearest(mul(get(x), constant(Math.LOG2E)))),
    set(x, sub(sub(get(x), mul(get(n), constant(0.693359375))), mul(get(n), constant(-2.1219444e-4)))),
    set(
      out,
      without(
        mul(
          add(
            add(mul(POLYNOMIAL.slice(1).reduce(horner(x), constant(POLYNOMIAL[0])), mul(get(x), get(x))), get(x)),
            constant(1),
          ),
          shiftLeft(addI32x4(toI32x4(get(n)), constantI32(127)), 23),
        ),
        less(get(out), constant(LOWEST)),
      ),
    ),
  ];
}

/** @param {number} x a local @returns {(sum: Code, factor: number) => Code} */
const horner = (x) => (sum, factor) => add(mul(sum, get(x)), constant(factor));

/** The greatest of a vector's numbers, or their sum, in every lane. @param {number} v @param {typeof add} combine */
const acrossLanes = (v, combine) => [
  set(v, combine(get(v), reorder(get(v), [2, 3, 0, 1]))),
  set(v, combine(get(v), reorder(get(v), [1, 0, 3, 2]))),
];

/**
 * x[i] = e^(scale (x[i] - greatest)) over their sum, of `nBytes` / 4 numbers; a multiple of four of them.
 * @returns {WasmFunction}
 */
export function softmax() {
  const at = numbered(["x", "nBytes", "scale", "p", "end", "v", "n", "e", "top", "sum"]);
  const forAll = (/** @type {Code[]} */ ...body) => [
    set(at.p, get(at.x)),
    repeatWhile([...body, advance(at.p, i32(16))], lessI32(get(at.p), get(at.end))),
  ];
  const body = [
    set(at.end, addI32(get(at.x), get(at.nBytes))),
    set(at.top, load(get(at.x))),
    ...forAll(set(at.top, max(get(at.top), load(get(at.p))))),
    ...acrossLanes(at.top, max),
    ...forAll(
      set(at.v, mul(sub(load(get(at.p)), get(at.top)), splat(get(at.scale)))),
      ...exponential(at.v, at.n, at.e),
      set(at.sum, add(get(at.sum), get(at.e))),
      store(get(at.p), get(at.e)),
    ),
    ...acrossLanes(at.sum, add),
    ...forAll(store(get(at.p), div(load(get(at.p)), get(at.sum)))),
  ].flat();
  return { name: "softmax", params: [I32, I32, F32], locals: [I32, I32, ...Array(5).fill(V128)], body };
}

/** y[i] = e^(x[i] - top), of `nBytes` / 4 numbers; a multiple of four of them. @returns {WasmFunction} */
export function exponentials() {
  const at = numbered(["x", "y", "nBytes", "top", "end", "v", "n", "e"]);
  const body = [
    set(at.end, addI32(get(at.x), get(at.nBytes))),
    repeatWhile(
      [
        set(at.v, sub(load(get(at.x)), splat(get(at.top)))),
        ...exponential(at.v, at.n, at.e),
        store(get(at.y), get(at.e)),
        advance(at.x, i32(16)),
        advance(at.y, i32(16)),
      ],
      lessI32(get(at.x), get(at.end)),
    ),
  ].flat();
  return { name: "exponentials", params: [I32, I32, I32, F32], locals: [I32, ...Array(3).fill(V128)], body };
}

/** gate[i] = up[i] gate[i] / (1 + e^-gate[i]), of `nBytes` / 4 numbers. @returns {WasmFunction} */
export function gated() {
  const at = numbered(["gate", "up", "nBytes", "end", "v", "n", "e"]);
  const body = [
    set(at.end, addI32(get(at.gate), get(at.nBytes))),
    repeatWhile(
      [
        set(at.v, neg(load(get(at.gate)))),
        ...exponential(at.v, at.n, at.e),
        store(get(at.gate), mul(div(load(get(at.gate)), add(constant(1), get(at.e))), load(get(at.up)))),
        advance(at.gate, i32(16)),
        advance(at.up, i32(16)),
      ],
      lessI32(get(at.gate), get(at.end)),
    ),
  ].flat();
  return { name: "gated", params: [I32, I32, I32], locals: [I32, ...Array(3).fill(V128)], body };
}
