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

/**
 * How a file that is not whole is refused: why, and at which tensor.
 * @typedef {(why: string, key?: string) => Error} Damaged
 */

/** @param {string} name @returns {Damaged} */
const damagedFile = (name) => (why, key) =>
  new ModelFileProblem(`${key ? `${name}, ${key}` : name} is not a whole safetensors file (${why}). ${AGAIN}`);

/**
 * @param {ArrayBuffer} buffer the file
 * @param {string} name for messages
 * @returns {Map<string, FileTensor>} copies, by name
 * @throws {ModelFileProblem}
 */
export function readSafetensors(buffer, name) {
  const damaged = damagedFile(name);
  return readTensors(buffer, readHeader(buffer, damaged), damaged);
}

/**
 * What a file says that it holds, and where that begins.
 * @param {ArrayBuffer} buffer @param {Damaged} damaged
 * @param {(text: string) => any} [parse]
 * @returns {{entries: [string, any][], about: Record<string, unknown>, start: number}}
 */
export function readHeader(buffer, damaged, parse = JSON.parse) {
  if (buffer.byteLength < HEADER_START) throw damaged("it is too short");
  const nHeader = Number(new DataView(buffer).getBigUint64(0, true));
  const start = HEADER_START + nHeader;
  if (start > buffer.byteLength) throw damaged("its header is cut off");
  let header;
  try {
    header = parse(new TextDecoder().decode(new Uint8Array(buffer, HEADER_START, nHeader)));
  } catch {
    throw damaged("its header is no JSON");
  }
  const { __metadata__: about, ...tensors } = header ?? {};
  return { entries: Object.entries(tensors), about: about ?? {}, start };
}

/**
 * @param {ArrayBuffer} buffer @param {ReturnType<typeof readHeader>} header @param {Damaged} damaged
 * @returns {Map<string, FileTensor>} copies, by name
 */
export function readTensors(buffer, { entries, start }, damaged) {
  return new Map(entries.map(([key, entry]) => [key, tensorOf(buffer, start, entry, (why) => damaged(why, key))]));
}

/**
 * @param {ArrayBuffer} buffer @param {number} start @param {any} entry @param {Damaged} damaged
 * @returns {FileTensor}
 */
function tensorOf(buffer, start, entry, damaged) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  const isList = [shape, offsets].every(
    (list) => Array.isArray(list) && list.every((n) => Number.isInteger(n) && n >= 0),
  );
  const size = { BF16: 2, F32: 4 }[/** @type {"BF16"} */ (dtype)];
  if (!isList || offsets.length !== 2) throw damaged("an entry has no shape or place");
  if (!size) throw damaged("it is neither bfloat16 nor float32");
  const [from, to] = offsets;
  const n = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  if (to - from !== n * size || start + to > buffer.byteLength) throw damaged("an entry is cut off");
  const bytes = buffer.slice(start + from, start + to); // a copy, because a header of odd length leaves them unaligned
  return size === 2 ? { shape, halves: new Uint16Array(bytes) } : { shape, floats: new Float32Array(bytes) };
}

/** All values as float32, which holds every bfloat16 exactly. @param {FileTensor} tensor @returns {Float32Array} */
export function floatsOf({ halves, floats }) {
  if (!halves) return /** @type {Float32Array} */ (floats);
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}
