/**
 * Products with a panelled matrix, in WebAssembly: what nearly all time goes into.
 *
 * A matrix lies in panels of 16 outputs: [out / 16, in, 16]. One input number then meets 16 weights that lie side by
 * side, and no sum ever crosses lanes. Every sum runs over its inputs in one order, however many rows are computed
 * together: a position's numbers do not depend on what it was read with.
 *
 * @typedef {import("./wasm_code.js").Code} Code
 * @typedef {import("./wasm_code.js").WasmFunction} WasmFunction
 */

import {
  I32,
  V128,
  add,
  addI32,
  advance,
  and,
  constant,
  constantI32,
  get,
  i32,
  lessI32,
  load,
  loadSplat,
  mul,
  mulI32,
  numbered,
  repeatWhile,
  set,
  shiftLeft,
  store,
  when,
} from "./wasm_code.js";

export const PANEL = 16;
const PANEL_BYTES = 4 * PANEL;
const QUARTERS = [0, 16, 32, 48]; // byte offsets of a panel's vectors
const HALF_MASK = -65536; // 0xffff0000

/**
 * The 16 weights of one input as four vectors, from memory.
 * @typedef {{bytes: number, read: (address: Code, input: number) => Code[]}} Weights bytes of one input's 16 weights
 */

/** @type {Weights} */
export const FLOATS = {
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
export function product(name, weights) {
  const names = ["x", "xStride", "w", "wStride", "y", "yStride", "nRows", "nIn", "nPanels", "adds"];
  const at = numbered(names);
  const own = numbered(["xRow", "yRow", "rowsLeft", "p", "xEnd", "xAt", "xOther"], names.length);
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

/** Two bfloat16 in each 32 bits: the first eight weights of a panel in the low halves, the others in the high ones. */
export const HALVES = {
  bytes: PANEL_BYTES / 2,
  /** @type {Weights["read"]} */
  read: (address, input) => {
    const words = [0, 16].map((at) => load(address, input * (PANEL_BYTES / 2) + at));
    return [...words.map((word) => shiftLeft(word, 16)), ...words.map((word) => and(word, constantI32(HALF_MASK)))];
  },
};
