/**
 * The names of a model's and a router's weights, from the weights: the same as `citer_core/models/revision.py` and
 * `citer_core/routing/stored.py` give.
 *
 * A run that was made here names the pair and the router that the server knows. Pure.
 *
 * @typedef {import("./safetensors.js").FileTensor} FileTensor
 */

import { floatsOf } from "./safetensors.js";
import { inHex, sha256 } from "./sha2.js";

const BLOCK_VALUES = 2 ** 20;
const WORD_VALUES = 4; // bfloat16 values in 64 bits
const SAMPLES = 64;
const LIMB = 2 ** 32;

/** @param {string[]} names as Python orders them */
const inOrder = (names) => names.sort((a, b) => (a < b ? -1 : Number(a > b)));

/** @param {number[]} shape as Python writes a tuple */
const tuple = (shape) => (shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`);

/** To bfloat16, the even one at a tie. @param {Float32Array} floats @returns {Uint16Array} */
function halvesOf(floats) {
  const bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
  return Uint16Array.from(bits, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16);
}

/**
 * One sum for each block: 64-bit words times 1, 3, 5, ..., modulo 2^64, as whole numbers with a sign.
 * @param {Uint16Array} halves
 */
function blockSums(halves) {
  const sums = [];
  for (let start = 0; start < halves.length; start += BLOCK_VALUES) {
    const block = new Uint16Array(Math.ceil(Math.min(BLOCK_VALUES, halves.length - start) / WORD_VALUES) * WORD_VALUES);
    block.set(halves.subarray(start, Math.min(halves.length, start + BLOCK_VALUES)));
    const words = new Uint32Array(block.buffer);
    let [low, high] = [0, 0];
    for (let i = 0; i < words.length; i += 2) {
      const product = words[i] * (i + 1); // below 2^52
      low += product % LIMB;
      high += Math.floor(product / LIMB) + ((words[i + 1] * (i + 1)) % LIMB);
      if (low >= LIMB) {
        low -= LIMB;
        high += 1;
      }
      high %= LIMB;
    }
    sums.push(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)));
  }
  return sums;
}

/** @param {Map<string, FileTensor>} tensors @returns {string} */
export function weightsRevision(tensors) {
  /** @type {number[]} */
  const sampled = [];
  let whole = "";
  const encoder = new TextEncoder();
  for (const name of inOrder([...tensors.keys()])) {
    const tensor = /** @type {FileTensor} */ (tensors.get(name));
    const halves = tensor.halves ?? halvesOf(floatsOf(tensor));
    const step = Math.max(1, Math.floor(halves.length / SAMPLES));
    const sample = Array.from(
      { length: Math.min(SAMPLES, Math.ceil(halves.length / step)) },
      (_, i) => halves[i * step],
    );
    const values = floatsOf({ shape: [sample.length], halves: Uint16Array.from(sample) });
    const title = `${name}${tuple(tensor.shape)}`;
    sampled.push(...encoder.encode(title), ...new Uint8Array(values.buffer));
    whole += `${title}[${blockSums(halves).join(", ")}]`;
  }
  const parts = [sha256(Uint8Array.from(sampled)).slice(0, 8), sha256(encoder.encode(whole)).slice(0, 4)];
  return parts.map(inHex).join(".");
}

/** Of a router: a hash of all of it. @param {Map<string, FileTensor>} tensors @returns {string} */
export function routerRevision(tensors) {
  const encoder = new TextEncoder();
  const parts = inOrder([...tensors.keys()]).flatMap((name) => [
    encoder.encode(name),
    new Uint8Array(floatsOf(/** @type {FileTensor} */ (tensors.get(name))).buffer),
  ]);
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return inHex(sha256(bytes).slice(0, 8));
}
