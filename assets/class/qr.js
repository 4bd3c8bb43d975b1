/**
 * A text as a QR code (ISO/IEC 18004): byte mode, level M, versions 1 to 10, with the mask that is best to read.
 *
 * Pure: must not know the DOM.
 */

/** Error correction of level M by version: bytes a block; so many blocks of so many data bytes, and others. */
const BLOCKS = [
  [10, 1, 16],
  [16, 1, 28],
  [26, 1, 44],
  [18, 2, 32],
  [24, 2, 43],
  [16, 4, 27],
  [18, 4, 31],
  [22, 2, 38, 2, 39],
  [22, 3, 36, 2, 37],
  [26, 4, 43, 1, 44],
];
/** Centres of the alignment patterns. */
const ALIGNED = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];
const LEVEL_M = 0;
const MASKS = /** @type {((x: number, y: number) => number)[]} */ ([
  (x, y) => (x + y) % 2,
  (_, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
]);

/** In the field of 256 elements of the standard. @param {number} a @param {number} b */
function times(a, b) {
  let product = 0;
  for (let i = 7; i >= 0; i--) {
    product = (product << 1) ^ (product & 128 ? 0x11d : 0);
    if ((b >> i) & 1) product ^= a;
  }
  return product;
}

/** @param {number[]} data @param {number} n @returns {number[]} so many bytes that correct errors */
export function correction(data, n) {
  /** @type {number[]} */
  const generator = [...Array(n - 1).fill(0), 1];
  for (let i = 0, root = 1; i < n; i++, root = times(root, 2))
    for (let j = 0; j < n; j++) generator[j] = times(generator[j], root) ^ (generator[j + 1] ?? 0);
  /** @type {number[]} */
  const rest = Array(n).fill(0);
  for (const byte of data) {
    const factor = byte ^ /** @type {number} */ (rest.shift());
    rest.push(0);
    generator.forEach((coefficient, i) => (rest[i] ^= times(coefficient, factor)));
  }
  return rest;
}

/** @param {number} version from 1 */
const capacity = (version) => {
  const [, n, length, nOthers = 0, other = 0] = BLOCKS[version - 1];
  return n * length + nOthers * other;
};
/** Bits of the length. @param {number} version */
const lengthBits = (version) => (version < 10 ? 8 : 16);

/** All bytes of the code, those of its blocks by turns. @param {Uint8Array} text @param {number} version */
function codewords(text, version) {
  /** @type {number[]} */
  const bits = [];
  const put = (/** @type {number} */ value, /** @type {number} */ n) => {
    for (let i = n - 1; i >= 0; i--) bits.push((value >> i) & 1);
  };
  put(4, 4);
  put(text.length, lengthBits(version));
  for (const byte of text) put(byte, 8);
  const room = 8 * capacity(version);
  put(0, Math.min(4, room - bits.length));
  while (bits.length % 8) bits.push(0);
  const bytes = Array.from({ length: bits.length / 8 }, (_, i) => parseInt(bits.slice(8 * i, 8 * i + 8).join(""), 2));
  for (let pad = 0xec; bytes.length < room / 8; pad ^= 0xec ^ 0x11) bytes.push(pad);
  const [nCorrection, n, length, nOthers = 0, other = 0] = BLOCKS[version - 1];
  let at = 0;
  const sizes = [...Array(n).fill(length), ...Array(nOthers).fill(other)];
  const blocks = sizes.map((size) => bytes.slice(at, (at += size)));
  const corrections = blocks.map((block) => correction(block, nCorrection));
  /** @param {number[][]} columns */
  const byTurns = (columns) =>
    Array.from({ length: Math.max(...columns.map(({ length }) => length)) }, (_, i) =>
      columns.map((column) => column[i]).filter((byte) => byte !== undefined),
    ).flat();
  return [...byTurns(blocks), ...byTurns(corrections)];
}

/** A number and the remainder of its division. @param {number} value @param {number} n @param {number} divisor */
function withRemainder(value, n, divisor) {
  let rest = value;
  for (let i = 0; i < n; i++) rest = (rest << 1) ^ ((rest >> (n - 1)) * divisor);
  return (value << n) | rest;
}

class Matrix {
  /** @param {number} version */
  constructor(version) {
    this.version = version;
    this.size = 17 + 4 * version;
    /** @type {boolean[][]} */
    this.dark = Array.from({ length: this.size }, () => Array(this.size).fill(false));
    /** @type {boolean[][]} where no data goes */
    this.isFixed = Array.from({ length: this.size }, () => Array(this.size).fill(false));
    this.#patterns();
    this.format(0);
    this.#versionBits();
  }

  /** @param {number} x @param {number} y @param {boolean} isDark */
  #set(x, y, isDark) {
    if (x < 0 || y < 0 || x >= this.size || y >= this.size) return;
    this.dark[y][x] = isDark;
    this.isFixed[y][x] = true;
  }

  /** @param {number} cx @param {number} cy @param {number} radius @param {number[]} light rings that are light */
  #rings(cx, cy, radius, light) {
    for (let y = -radius; y <= radius; y++)
      for (let x = -radius; x <= radius; x++)
        this.#set(cx + x, cy + y, !light.includes(Math.max(Math.abs(x), Math.abs(y))));
  }

  #patterns() {
    const far = this.size - 4;
    for (let i = 0; i < this.size; i++) {
      this.#set(6, i, i % 2 === 0);
      this.#set(i, 6, i % 2 === 0);
    }
    for (const [x, y] of [
      [3, 3],
      [far, 3],
      [3, far],
    ])
      this.#rings(x, y, 4, [2, 4]);
    const centres = ALIGNED[this.version - 1];
    const last = centres.length - 1;
    centres.forEach((x, i) =>
      centres.forEach((y, j) => {
        const isCorner = (!i && !j) || (!i && j === last) || (i === last && !j);
        if (!isCorner) this.#rings(x, y, 2, [1]);
      }),
    );
  }

  /** Level and mask, twice. @param {number} mask */
  format(mask) {
    const bits = withRemainder((LEVEL_M << 3) | mask, 10, 0x537) ^ 0x5412;
    const isOn = (/** @type {number} */ i) => ((bits >> i) & 1) === 1;
    const { size } = this;
    for (let i = 0; i < 15; i++) {
      const near = i < 6 ? i : i + 1;
      if (i < 8) this.#set(8, near, isOn(i));
      else this.#set(i === 8 ? 7 : 14 - i, 8, isOn(i));
      if (i < 8) this.#set(size - 1 - i, 8, isOn(i));
      else this.#set(8, size - 15 + i, isOn(i));
    }
    this.#set(8, size - 8, true);
  }

  #versionBits() {
    if (this.version < 7) return;
    const bits = withRemainder(this.version, 12, 0x1f25);
    for (let i = 0; i < 18; i++) {
      const [a, b] = [this.size - 11 + (i % 3), Math.floor(i / 3)];
      this.#set(a, b, ((bits >> i) & 1) === 1);
      this.#set(b, a, ((bits >> i) & 1) === 1);
    }
  }

  /** In columns of two, upwards and downwards by turns. @param {number[]} bytes */
  fill(bytes) {
    let n = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let k = 0; k < this.size; k++) {
        const y = ((right + 1) & 2) === 0 ? this.size - 1 - k : k;
        for (const x of [right, right - 1]) {
          if (this.isFixed[y][x]) continue;
          this.dark[y][x] = n < 8 * bytes.length && ((bytes[n >> 3] >> (7 - (n & 7))) & 1) === 1;
          n++;
        }
      }
    }
  }

  /** Twice is as it was. @param {number} mask */
  apply(mask) {
    for (let y = 0; y < this.size; y++)
      for (let x = 0; x < this.size; x++)
        if (!this.isFixed[y][x] && MASKS[mask](x, y) === 0) this.dark[y][x] = !this.dark[y][x];
    this.format(mask);
  }

  /** How hard it is to read, by the four rules of the standard. */
  get penalty() {
    const { size, dark } = this;
    let [sum, nDark] = [0, 0];
    const lines = [...dark, ...dark.map((_, x) => dark.map((row) => row[x]))];
    for (const line of lines) {
      const text = line.map(Number).join("");
      for (const { length } of text.match(/(.)\1{4,}/g) ?? []) sum += length - 2;
      for (let i = 0; i + 11 <= size; i++) if (/^(10111010000|00001011101)/.test(text.slice(i, i + 11))) sum += 40;
    }
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) {
        if (dark[y][x]) nDark++;
        const isBlock =
          x && y && [dark[y - 1][x], dark[y][x - 1], dark[y - 1][x - 1]].every((one) => one === dark[y][x]);
        if (isBlock) sum += 3;
      }
    return sum + 10 * Math.floor(Math.abs((20 * nDark) / size ** 2 - 10));
  }
}

/**
 * @param {string} words
 * @returns {boolean[][]} rows of modules, dark where true, without the light frame that must be around them
 * @throws {Error} it does not fit version 10
 */
export function qrMatrix(words) {
  const text = new TextEncoder().encode(words);
  const version = BLOCKS.findIndex((_, i) => 8 * capacity(i + 1) >= 4 + lengthBits(i + 1) + 8 * text.length) + 1;
  if (!version) throw new Error("This is too long for a QR code of version 10.");
  const matrix = new Matrix(version);
  matrix.fill(codewords(text, version));
  const penalties = MASKS.map((_, mask) => {
    matrix.apply(mask);
    const { penalty } = matrix;
    matrix.apply(mask);
    return penalty;
  });
  matrix.apply(penalties.indexOf(Math.min(...penalties)));
  return matrix.dark;
}
