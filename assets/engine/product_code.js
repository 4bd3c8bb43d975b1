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
const UNROLLED = 2; // inputs in one turn of the loop: a matrix has an even number of them

/**
 * The 16 weights of one input as four vectors, from memory.
 * @typedef {Object} Weights
 * @property {number} bytes of one input's 16 weights
 * @property {(address: Code, input: number, words: number[]) => Code} prepare into locals, before they are used
 * @property {(address: Code, input: number, words: number[], mask: number) => Code[]} vectors
 */

/** @type {Weights} */
export const FLOATS = {
  bytes: PANEL_BYTES,
  prepare: () => [],
  vectors: (address, input) => QUARTERS.map((at) => load(address, input * PANEL_BYTES + at)),
};

/**
 * Two bfloat16 in each 32 bits: the first eight weights of a panel in the low halves, the others in the high ones.
 * @type {Weights}
 */
export const HALVES = {
  bytes: PANEL_BYTES / 2,
  prepare: (address, input, words) =>
    words.flatMap((word, i) => set(word, load(address, input * (PANEL_BYTES / 2) + QUARTERS[i]))),
  vectors: (_address, _input, words, mask) => [
    ...words.map((word) => shiftLeft(get(word), 16)),
    ...words.map((word) => and(get(word), get(mask))),
  ],
};

/**
 * y[r] = (y[r] if `adds` else 0) + x[r] @ W, for rows of x and y that lie a stride apart.
 *
 * All rows meet one panel before the next, so it is read from memory once and then lies in the nearest cache. Several
 * rows at a time in registers are no faster than one after another: four sums keep the arithmetic busy.
 *
 * @param {string} name
 * @param {Weights} weights how W lies in memory
 * @returns {WasmFunction}
 */
export function product(name, weights) {
  const params = ["x", "xStride", "w", "wStride", "y", "yStride", "nRows", "nIn", "nPanels", "adds"];
  const places = ["xRow", "yRow", "rowsLeft", "p", "xAt", "xEnd"];
  const vectors = ["input", "mask", "word0", "word1", "sum0", "sum1", "sum2", "sum3"];
  const at = numbered([...params, ...places, ...vectors]);
  const [sums, words] = [QUARTERS.map((_, i) => at[`sum${i}`]), [at.word0, at.word1]];

  /** @param {number} input of those that are taken at once */
  const oneInput = (input) => [
    weights.prepare(get(at.p), input, words),
    set(at.input, loadSplat(get(at.xAt), 4 * input)),
    ...weights
      .vectors(get(at.p), input, words, at.mask)
      .map((weight, i) => set(sums[i], add(get(sums[i]), mul(get(at.input), weight)))),
  ];
  const oneRow = [
    when(
      get(at.adds),
      sums.map((sum, i) => set(sum, load(get(at.yRow), QUARTERS[i]))),
      sums.map((sum) => set(sum, constant(0))),
    ),
    set(at.p, get(at.w)),
    set(at.xAt, get(at.xRow)),
    set(at.xEnd, addI32(get(at.xRow), mulI32(get(at.nIn), i32(4)))),
    repeatWhile(
      [
        ...Array.from({ length: UNROLLED }, (_, input) => oneInput(input)).flat(),
        advance(at.p, i32(UNROLLED * weights.bytes)),
        advance(at.xAt, i32(UNROLLED * 4)),
      ],
      lessI32(get(at.xAt), get(at.xEnd)),
    ),
    ...sums.map((sum, i) => store(get(at.yRow), get(sum), QUARTERS[i])),
    advance(at.xRow, get(at.xStride)),
    advance(at.yRow, get(at.yStride)),
    advance(at.rowsLeft, i32(-1)),
  ];
  const onePanel = [
    set(at.rowsLeft, get(at.nRows)),
    set(at.xRow, get(at.x)),
    set(at.yRow, get(at.y)),
    repeatWhile(oneRow, get(at.rowsLeft)),
    advance(at.w, get(at.wStride)),
    advance(at.y, i32(PANEL_BYTES)),
    advance(at.nPanels, i32(-1)),
  ];
  return {
    name,
    params: params.map(() => I32),
    locals: [...places.map(() => I32), ...vectors.map(() => V128)],
    body: [...set(at.mask, constantI32(HALF_MASK)), ...repeatWhile(onePanel, get(at.nPanels))],
  };
}
