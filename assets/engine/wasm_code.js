/**
 * A small assembler: WebAssembly instructions as lists of bytes, and functions put together into a module.
 *
 * Knows the binary format and the few instructions that the kernel uses, nothing of what they compute. An
 * expression is the bytes that leave its value on the stack, so expressions nest as they would in the text format.
 *
 * @typedef {number[]} Code bytes of instructions
 * @typedef {{name: string, params: number[], locals: number[], body: Code}} WasmFunction params and locals are types
 */

export const I32 = 0x7f;
export const F32 = 0x7d;
export const V128 = 0x7b;

const BLOCK = 0x40; // the type of a block that leaves nothing
const END = 0x0b;

/** @param {number} value a whole number from 0 @returns {Code} */
function unsigned(value) {
  const bytes = [];
  do {
    const rest = value >>> 7;
    bytes.push((value & 0x7f) | (rest ? 0x80 : 0));
    value = rest;
  } while (value);
  return bytes;
}

/** @param {number} value 32 bits with a sign @returns {Code} */
function signed(value) {
  const bytes = [];
  for (;;) {
    const byte = value & 0x7f;
    value >>= 7;
    const isLast = value === (byte & 0x40 ? -1 : 0);
    bytes.push(isLast ? byte : byte | 0x80);
    if (isLast) return bytes;
  }
}

/** @param {number} value @returns {Code} */
const floatBytes = (value) => [...new Uint8Array(new Float32Array([value]).buffer)];

/** A number for each name of a local; params come first. @param {string[]} names @returns {Record<string, number>} */
export const numbered = (names) => Object.fromEntries(names.map((name, i) => [name, i]));

/** @param {number} local @returns {Code} */
export const get = (local) => [0x20, ...unsigned(local)];
/** @param {number} local @param {Code} value @returns {Code} */
export const set = (local, value) => [...value, 0x21, ...unsigned(local)];
/** @param {number} value @returns {Code} */
export const i32 = (value) => [0x41, ...signed(value)];
/** @param {Code} a @param {Code} b @returns {Code} */
export const addI32 = (a, b) => [...a, ...b, 0x6a];
/** @param {Code} a @param {Code} b @returns {Code} */
export const mulI32 = (a, b) => [...a, ...b, 0x6c];
/** @param {Code} a @param {Code} b @returns {Code} whether a < b, both without a sign */
export const lessI32 = (a, b) => [...a, ...b, 0x49];
/** Adds to a local in place. @param {number} local @param {Code} by @returns {Code} */
export const advance = (local, by) => set(local, addI32(get(local), by));

/** Runs `body`, and again while `condition` holds. @param {Code[]} body @param {Code} condition @returns {Code} */
export const repeatWhile = (body, condition) => [0x03, BLOCK, ...body.flat(), ...condition, 0x0d, 0, END];
/** @param {Code} condition @param {Code[]} then @param {Code[]} [otherwise] @returns {Code} */
export const when = (condition, then, otherwise) => [
  ...condition,
  0x04,
  BLOCK,
  ...then.flat(),
  ...(otherwise ? [0x05, ...otherwise.flat()] : []),
  END,
];

/** @param {number} operation its number among those of vectors @param {Code[]} operands @returns {Code} */
const vector = (operation, ...operands) => [...operands.flat(), 0xfd, ...unsigned(operation)];

/** Four numbers from memory. @param {Code} address @param {number} [offset] in bytes @returns {Code} */
export const load = (address, offset = 0) => [...vector(0x00, address), 2, ...unsigned(offset)];
/** One number from memory, four times. @param {Code} address @param {number} [offset] in bytes @returns {Code} */
export const loadSplat = (address, offset = 0) => [...vector(0x09, address), 2, ...unsigned(offset)];
/** @param {Code} address @param {Code} value @param {number} [offset] in bytes @returns {Code} */
export const store = (address, value, offset = 0) => [...vector(0x0b, address, value), 2, ...unsigned(offset)];

/** Four times a constant. @param {number} value @returns {Code} */
export function constant(value) {
  const bytes = floatBytes(value);
  return [...vector(0x0c), ...bytes, ...bytes, ...bytes, ...bytes];
}

/** Four times a constant of 32 bits. @param {number} value @returns {Code} */
export function constantI32(value) {
  const bytes = [...new Uint8Array(new Int32Array([value]).buffer)];
  return [...vector(0x0c), ...bytes, ...bytes, ...bytes, ...bytes];
}

/** @param {Code} scalar @returns {Code} */
export const splat = (scalar) => vector(0x13, scalar);
/** @param {Code} a @param {Code} b @returns {Code} */
export const add = (a, b) => vector(0xe4, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const sub = (a, b) => vector(0xe5, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const mul = (a, b) => vector(0xe6, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const div = (a, b) => vector(0xe7, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const min = (a, b) => vector(0xe8, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const max = (a, b) => vector(0xe9, a, b);
/** @param {Code} a @returns {Code} */
export const neg = (a) => vector(0xe1, a);
/** To the nearest whole number. @param {Code} a @returns {Code} */
export const nearest = (a) => vector(0x6a, a);
/** All bits set where a < b. @param {Code} a @param {Code} b @returns {Code} */
export const less = (a, b) => vector(0x43, a, b);
/** a without the bits of b. @param {Code} a @param {Code} b @returns {Code} */
export const without = (a, b) => vector(0x4f, a, b);
/** @param {Code} a @param {Code} b @returns {Code} */
export const and = (a, b) => vector(0x4e, a, b);
/** Floats to 32-bit whole numbers. @param {Code} a @returns {Code} */
export const toI32x4 = (a) => vector(0xf8, a);
/** @param {Code} a @param {Code} b @returns {Code} */
export const addI32x4 = (a, b) => vector(0xae, a, b);
/** @param {Code} a @param {number} bits @returns {Code} */
export const shiftLeft = (a, bits) => vector(0xab, a, i32(bits));
/** The four numbers in another order. @param {Code} a @param {number[]} order of 4 @returns {Code} */
export const reorder = (a, order) => [
  ...vector(0x0d, a, a),
  ...order.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3]),
];

/** @param {number} id @param {Code[]} entries @returns {Code} */
const section = (id, entries) => sized([id], [...unsigned(entries.length), ...entries.flat()]);
/** @param {Code} before @param {Code} content @returns {Code} */
const sized = (before, content) => [...before, ...unsigned(content.length), ...content];
/** @param {string} text @returns {Code} */
const named = (text) => sized([], [...new TextEncoder().encode(text)]);

/**
 * A module of functions that give nothing back and work on the memory `env.memory`.
 * @param {WasmFunction[]} functions
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function wasmModule(functions) {
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ params }) => [0x60, ...sized([], params), 0]),
    ),
    ...section(2, [[...named("env"), ...named("memory"), 0x02, 0x00, 1]]),
    ...section(
      3,
      functions.map((_, i) => unsigned(i)),
    ),
    ...section(
      7,
      functions.map(({ name }, i) => [...named(name), 0x00, ...unsigned(i)]),
    ),
    ...section(
      10,
      functions.map(({ locals, body }) => {
        const declared = locals.flatMap((type) => [1, type]);
        return sized([], [...unsigned(locals.length), ...declared, ...body, END]);
      }),
    ),
  ]);
}
