/**
 * What runs in WebAssembly: products with a panelled matrix, softmax, and the gate of the MLP, four numbers at a time.
 *
 * A matrix lies in panels of 16 outputs: [out / 16, in, 16]. One input number then meets 16 weights that lie side by
 * side, and no sum ever crosses lanes. Keys and values of the cache are such panels too, so attention is the same
 * product. Every sum runs over its inputs in one order, however many rows are computed together: a position's numbers do
 * not depend on what it was read with. No relaxed instruction is used, so they do not depend on the processor either.
 *
 * Knows no model. Instantiated by `kernel.js`.
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
  and,
  atLeast,
  constant,
  constantI32,
  div,
  get,
  i32,
  lessI32,
  load,
  loadSplat,
  max,
  min,
  mul,
  mulI32,
  nearest,
  neg,
  reorder,
  repeatWhile,
  set,
  shiftLeft,
  splat,
  store,
  sub,
  toI32x4,
  wasmModule,
  when,
} from "./wasm_code.js";

export const PANEL = 16;
const PANEL_BYTES = 4 * PANEL;
const QUARTERS = [0, 16, 32, 48]; // byte offsets of a panel's vectors
const HALF_MASK = -65536; // 0xffff0000

/** A local for each name, numbered behind `before`. @param {string[]} names @param {number} [before] */
function locals(names, before = 0) {
  return Object.fromEntries(names.map((name, i) => [name, before + i]));
}

/**
 * The 16 weights of one input as four vectors, from memory.
 * @typedef {{bytes: number, read: (address: Code, input: number) => Code[]}} Weights bytes of one input's 16 weights
 */

/** @type {Weights} */
const FLOATS = {
  bytes: PANEL_BYTES,
  read: (address, input) => QUARTERS.map((at) => load(address, input * PANEL_BYTES + at)),
};

/**
 * y[r] = (y[r] if `adds` else 0) + x[r] @ W, for rows of x and y that lie a stride apart.
 *
 * @param {string} name
 * @param {Weights} weights how W lies in memory
 * @returns {WasmFunction}
 */
function product(name, weights) {
  const names = ["x", "xStride", "w", "wStride", "y", "yStride", "nRows", "nIn", "nPanels", "adds"];
  const at = locals(names);
  const own = locals(["xRow", "yRow", "rowsLeft", "p", "xEnd", "xAt", "xOther"], names.length);
  const sums = [0, 1].map((row) => [0, 1, 2, 3].map((i) => names.length + 7 + 4 * row + i));
  const held = names.length + 15;
  const UNROLLED = 2;

  /** @param {number} nRows of x that are multiplied at once */
  const rows = (nRows) => {
    const yOf = [get(own.yRow), addI32(get(own.yRow), get(at.yStride))];
    const xOf = [own.xAt, own.xOther];
    const used = sums.slice(0, nRows);
    return [
      when(
        get(at.adds),
        used.flatMap((sum, row) => sum.map((local, i) => set(local, load(yOf[row], QUARTERS[i])))),
        used.flatMap((sum) => sum.map((local) => set(local, constant(0)))),
      ),
      set(own.p, get(at.w)),
      set(own.xAt, get(own.xRow)),
      set(own.xOther, addI32(get(own.xRow), get(at.xStride))),
      set(own.xEnd, addI32(get(own.xRow), mulI32(get(at.nIn), i32(4)))),
      repeatWhile(
        [
          ...Array.from({ length: UNROLLED }, (_, input) =>
            weights
              .read(get(own.p), input)
              .flatMap((weight, i) => [
                nRows > 1 ? set(held, weight) : [],
                ...used.map((sum, row) =>
                  set(
                    sum[i],
                    add(get(sum[i]), mul(loadSplat(get(xOf[row]), 4 * input), nRows > 1 ? get(held) : weight)),
                  ),
                ),
              ])
              .flat(),
          ),
          advance(own.p, i32(UNROLLED * weights.bytes)),
          ...xOf.slice(0, nRows).map((local) => advance(local, i32(4 * UNROLLED))),
        ],
        lessI32(get(own.xAt), get(own.xEnd)),
      ),
      ...used.flatMap((sum, row) => sum.map((local, i) => store(yOf[row], get(local), QUARTERS[i]))),
      advance(own.xRow, mulI32(get(at.xStride), i32(nRows))),
      advance(own.yRow, mulI32(get(at.yStride), i32(nRows))),
      advance(own.rowsLeft, i32(-nRows)),
    ];
  };

  const body = repeatWhile(
    [
      set(own.rowsLeft, get(at.nRows)),
      set(own.xRow, get(at.x)),
      set(own.yRow, get(at.y)),
      repeatWhile([when(lessI32(i32(1), get(own.rowsLeft)), rows(2), rows(1))], get(own.rowsLeft)),
      advance(at.w, get(at.wStride)),
      advance(at.y, i32(PANEL_BYTES)),
      advance(at.nPanels, i32(-1)),
    ],
    get(at.nPanels),
  );
  return {
    name,
    params: names.map(() => I32),
    locals: [...Array(7).fill(I32), ...Array(9).fill(V128)],
    body,
  };
}

const LOWEST = -87; // e to less than this is given as 0
const HIGHEST = 88;
/** Of a polynomial in the remainder, highest power first: the classic one of Cephes' `expf`. */
const POLYNOMIAL = [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];

/**
 * e to four numbers, within two units in the last place; leaves it in `out`.
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
      and(
        mul(
          add(
            add(mul(POLYNOMIAL.slice(1).reduce(horner(x), constant(POLYNOMIAL[0])), mul(get(x), get(x))), get(x)),
            constant(1),
          ),
          shiftLeft(addI32x4(toI32x4(get(n)), constantI32(127)), 23),
        ),
        atLeast(get(out), constant(LOWEST)),
      ),
    ),
  ];
}

/** @param {number} x a local @returns {(sum: Code, factor: number) => Code} */
const horner = (x) => (sum, factor) => add(mul(sum, get(x)), constant(factor));

/** The greatest, or the sum, of a vector's numbers in each of its lanes. @param {number} v @param {typeof add} combine */
const acrossLanes = (v, combine) => [
  set(v, combine(get(v), reorder(get(v), [2, 3, 0, 1]))),
  set(v, combine(get(v), reorder(get(v), [1, 0, 3, 2]))),
];

/**
 * x[i] = e^(scale (x[i] - greatest)) over their sum, of `nBytes` / 4 numbers; a multiple of four of them.
 * @returns {WasmFunction}
 */
function softmax() {
  const at = locals(["x", "nBytes", "scale", "p", "end", "v", "n", "e", "top", "sum"]);
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
function exponentials() {
  const at = locals(["x", "y", "nBytes", "top", "end", "v", "n", "e"]);
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
function gated() {
  const at = locals(["gate", "up", "nBytes", "end", "v", "n", "e"]);
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

/** Two bfloat16 in each 32 bits: the first eight weights of a panel in the low halves, the others in the high ones. */
const HALVES = {
  bytes: PANEL_BYTES / 2,
  /** @type {Weights["read"]} */
  read: (address, input) => {
    const words = [0, 16].map((at) => load(address, input * (PANEL_BYTES / 2) + at));
    return [
      ...words.map((word) => shiftLeft(word, 16)),
      ...words.map((word) => and(word, constantI32(HALF_MASK))),
    ];
  },
};

/** The module's bytes. */
export const kernelCode = () =>
  wasmModule([product("product", FLOATS), product("productOfHalves", HALVES), softmax(), exponentials(), gated()]);
