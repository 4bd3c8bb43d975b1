/**
 * Tensors of a safetensors file: bfloat16 and float32, as they lie in it.
 *
 * Pure: knows no model. What is wrong with a file is said in words for a person.
 *
 * @typedef {Object} FileTensor
 * @property {number[]} shape
 * @property {Uint16Array} [halves] bfloat16, each the upper half of a float32
 * @property {Float32Array} [floats] one of the two is there
 */

/** What is wrong with a file, or does not fit another. */
export class ModelFileProblem extends Error {}

const AGAIN = "Load the page again; if that does not help, the file on the server is damaged.";
const HEADER_START = 8;

/** @param {string} name @param {string} why */
const damaged = (name, why) => new ModelFileProblem(`${name} is not a whole safetensors file (${why}). ${AGAIN}`);

/**
 * @param {ArrayBuffer} buffer the file
 * @param {string} name for messages
 * @returns {Map<string, FileTensor>} copies, by name
 * @throws {ModelFileProblem}
 */
export function readSafetensors(buffer, name) {
  if (buffer.byteLength < HEADER_START) throw damaged(name, "it is too short");
  const nHeader = Number(new DataView(buffer).getBigUint64(0, true));
  const start = HEADER_START + nHeader;
  if (start > buffer.byteLength) throw damaged(name, "its header is cut off");
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEADER_START, nHeader)));
  } catch {
    throw damaged(name, "its header is no JSON");
  }
  /** @type {Map<string, FileTensor>} */
  const tensors = new Map();
  for (const [key, entry] of Object.entries(header)) {
    if (key !== "__metadata__") tensors.set(key, tensorOf(buffer, start, entry, `${name}, ${key}`));
  }
  return tensors;
}

/**
 * @param {ArrayBuffer} buffer @param {number} start @param {any} entry @param {string} name
 * @returns {FileTensor}
 */
function tensorOf(buffer, start, entry, name) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  const isList = [shape, offsets].every(
    (list) => Array.isArray(list) && list.every((n) => Number.isInteger(n) && n >= 0),
  );
  const size = { BF16: 2, F32: 4 }[/** @type {"BF16"} */ (dtype)];
  if (!isList || offsets.length !== 2) throw damaged(name, "an entry has no shape or place");
  if (!size) throw damaged(name, "it is neither bfloat16 nor float32");
  const [from, to] = offsets;
  const n = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  if (to - from !== n * size || start + to > buffer.byteLength) throw damaged(name, "an entry is cut off");
  const bytes = buffer.slice(start + from, start + to); // a copy, because a header of odd length leaves them unaligned
  return size === 2 ? { shape, halves: new Uint16Array(bytes) } : { shape, floats: new Float32Array(bytes) };
}

/** All values as float32, which holds every bfloat16 exactly. @param {FileTensor} tensor @returns {Float32Array} */
export function floatsOf({ halves, floats }) {
  if (!halves) return /** @type {Float32Array} */ (floats);
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}
