/**
 * The numbers that decide sampled tokens: the same ones, to the bit, as `citer_core/routing/sampling.py` draws.
 *
 * Python's generator of a text: the text and its SHA-512 as one number seed a Mersenne twister, whose first two outputs
 * make a number in [0, 1). Of the twister only these two are computed. Pure.
 */

import { sha256, sha512 } from "./sha2.js";

const N = 624;
const M = 397;
const UPPER = 0x80000000;
const LOWER = 0x7fffffff;

/** The twister's state for the seed that `init_by_array` begins with. */
function firstState() {
  const state = new Uint32Array(N);
  state[0] = 19650218;
  for (let i = 1; i < N; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  return state;
}

const FIRST_STATE = firstState();

/** @param {Uint32Array} key its words, the lowest first */
function stateOf(key) {
  const state = FIRST_STATE.slice();
  let i = 1;
  const step = () => {
    if (++i < N) return;
    state[0] = state[N - 1];
    i = 1;
  };
  for (let k = 0; k < Math.max(N, key.length); k++) {
    const j = k % key.length;
    state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1664525)) + key[j] + j;
    step();
  }
  for (let k = 1; k < N; k++) {
    state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1566083941)) - i;
    step();
  }
  state[0] = UPPER;
  return state;
}

/** Output k of a fresh twister, 32 bits. @param {Uint32Array} state @param {number} k below 227 */
function output(state, k) {
  const mixed = (state[k] & UPPER) | (state[k + 1] & LOWER);
  let y = state[k + M] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
  y ^= y >>> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return (y ^ (y >>> 18)) >>> 0;
}

/** What `random.Random(text).random()` gives in Python. @param {string} text not empty @returns {number} in [0, 1) */
export function randomOf(text) {
  const bytes = new TextEncoder().encode(text);
  const hash = sha512(bytes);
  const seed = [...bytes, ...hash].reverse();
  const key = new Uint32Array(Math.ceil(seed.length / 4));
  seed.forEach((byte, i) => (key[i >> 2] |= byte << (8 * (i & 3))));
  const state = stateOf(key);
  return ((output(state, 0) >>> 5) * 67108864 + (output(state, 1) >>> 6)) / 9007199254740992;
}

/** The number that decides the token at `index`. @param {number} seed @param {number} index */
export const uniformAt = (seed, index) => randomOf(`citer:${seed}:${index}`);

/** A 63-bit hash of a prompt, for routers that draw random numbers. @param {number[]} promptIds @returns {bigint} */
export function sequenceKey(promptIds) {
  const hash = sha256(new TextEncoder().encode(promptIds.join(",")));
  return new DataView(hash.buffer).getBigUint64(0) >> 1n;
}
