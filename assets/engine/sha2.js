/**
 * SHA-256 and SHA-512, at once and everywhere: the browser's own answers later, and only on pages that came by HTTPS.
 *
 * Both are one algorithm on words of two sizes; the constants of the smaller are the upper halves of the larger's. For
 * a few kilobytes: words are big integers. Pure.
 *
 * @typedef {{bits: bigint, rounds: number, schedule: bigint[], mixing: bigint[]}} Variant
 */

/** @type {Variant} */
const SMALL = {
  bits: 32n,
  rounds: 64,
  schedule: [7n, 18n, 3n, 17n, 19n, 10n],
  mixing: [6n, 11n, 25n, 2n, 13n, 22n],
};
/** @type {Variant} */
const LARGE = {
  bits: 64n,
  rounds: 80,
  schedule: [1n, 8n, 7n, 19n, 61n, 6n],
  mixing: [14n, 18n, 41n, 28n, 34n, 39n],
};

/** The first n prime numbers. @param {number} n */
function primes(n) {
  /** @type {number[]} */
  const found = [];
  for (let i = 2; found.length < n; i++) if (found.every((p) => i % p)) found.push(i);
  return found;
}

/** 64 bits behind the point of a prime's root of that degree. @param {number} prime @param {bigint} degree */
function rootBits(prime, degree) {
  const value = BigInt(prime) << (64n * degree);
  let [low, high] = [0n, 1n << 70n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= value) low = middle;
    else high = middle;
  }
  return BigInt.asUintN(64, low);
}

/** @type {{start: bigint[], constants: bigint[]}|null} */
let numbers = null;

/** @param {Uint8Array} bytes @param {Variant} variant @returns {Uint8Array} */
function digest(bytes, { bits, rounds, schedule, mixing }) {
  numbers ??= {
    start: primes(8).map((prime) => rootBits(prime, 2n)),
    constants: primes(80).map((prime) => rootBits(prime, 3n)),
  };
  const wordBytes = Number(bits) / 8;
  const blockBytes = 16 * wordBytes;
  const mask = (1n << bits) - 1n;
  const shrink = 64n - bits;
  const constants = numbers.constants.map((value) => value >> shrink);
  const state = numbers.start.map((value) => value >> shrink);
  /** @param {bigint} word @param {bigint} by */
  const turn = (word, by) => (word >> by) | ((word << (bits - by)) & mask);

  const padded = new Uint8Array(Math.ceil((bytes.length + 1 + 2 * wordBytes) / blockBytes) * blockBytes);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const words = /** @type {bigint[]} */ (new Array(rounds));
  const [s0, s1, s2, t0, t1, t2] = schedule;
  const [e0, e1, e2, a0, a1, a2] = mixing;
  for (let block = 0; block < padded.length; block += blockBytes) {
    for (let i = 0; i < 16; i++) {
      const at = block + i * wordBytes;
      words[i] = wordBytes === 8 ? view.getBigUint64(at) : BigInt(view.getUint32(at));
    }
    for (let i = 16; i < rounds; i++) {
      const [early, late] = [words[i - 15], words[i - 2]];
      const first = turn(early, s0) ^ turn(early, s1) ^ (early >> s2);
      const second = turn(late, t0) ^ turn(late, t1) ^ (late >> t2);
      words[i] = (words[i - 16] + first + words[i - 7] + second) & mask;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < rounds; i++) {
      const choice = (e & f) ^ (~e & mask & g);
      const first = h + (turn(e, e0) ^ turn(e, e1) ^ turn(e, e2)) + choice + constants[i] + words[i];
      const second = (turn(a, a0) ^ turn(a, a1) ^ turn(a, a2)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) & mask;
      d = c;
      c = b;
      b = a;
      a = (first + second) & mask;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) & mask));
  }
  const out = new DataView(new ArrayBuffer(8 * wordBytes));
  state.forEach((word, i) => (wordBytes === 8 ? out.setBigUint64(8 * i, word) : out.setUint32(4 * i, Number(word))));
  return new Uint8Array(out.buffer);
}

/** @param {Uint8Array} bytes @returns {Uint8Array} 32 bytes */
export const sha256 = (bytes) => digest(bytes, SMALL);

/** @param {Uint8Array} bytes @returns {Uint8Array} 64 bytes */
export const sha512 = (bytes) => digest(bytes, LARGE);

/** @param {Uint8Array} bytes */
export const inHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
