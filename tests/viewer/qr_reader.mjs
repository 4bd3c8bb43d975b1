/**
 * Reads a QR code's modules back to its text, by the standard and by nothing of the encoder: format and version
 * information from their printed tables, mask, order of modules, blocks, and error correction checked by its syndromes.
 */

/** Format information of level M by mask, as ISO/IEC 18004 prints it (table C.1). */
const FORMAT_M = [
  "101010000010010",
  "101000100100101",
  "101111001111100",
  "101101101001011",
  "100010111111001",
  "100000011001110",
  "100111110010111",
  "100101010100000",
];
/** Version information from version 7 on (table D.1). */
const VERSION = { 7: "000111110010010100", 8: "001000010110111100", 9: "001001101010011001", 10: "001010010011010011" };
/** Level M (table 9): codewords in all, and of each block all and data. */
const BLOCKS = {
  1: [[26, 16]],
  2: [[44, 28]],
  3: [[70, 44]],
  4: Array(2).fill([50, 32]),
  5: Array(2).fill([67, 43]),
  6: Array(4).fill([43, 27]),
  7: Array(4).fill([49, 31]),
  8: [...Array(2).fill([60, 38]), ...Array(2).fill([61, 39])],
  9: [...Array(3).fill([58, 36]), ...Array(2).fill([59, 37])],
  10: [...Array(4).fill([69, 43]), [70, 44]],
};
const ALIGNMENT = {
  ...{ 1: [], 2: [18], 3: [22], 4: [26], 5: [30], 6: [34], 7: [6, 22, 38], 8: [6, 24, 42], 9: [6, 26, 46] },
  10: [6, 28, 50],
};
const MASK = [
  (i, j) => (i + j) % 2 === 0,
  (i) => i % 2 === 0,
  (i, j) => j % 3 === 0,
  (i, j) => (i + j) % 3 === 0,
  (i, j) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2 === 0,
  (i, j) => ((i * j) % 2) + ((i * j) % 3) === 0,
  (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2 === 0,
  (i, j) => (((i * j) % 3) + ((i + j) % 2)) % 2 === 0,
];

const [EXP, LOG] = [[], []];
for (let i = 0, value = 1; i < 255; i++) {
  EXP[i] = value;
  LOG[value] = i;
  value = value < 128 ? value * 2 : (value * 2) ^ 285;
}
/** A polynomial's value, highest coefficient first, at the i-th power of the generator. */
const valueAt = (polynomial, i) =>
  polynomial.reduce((sum, term) => (sum === 0 ? term : EXP[(LOG[sum] + i) % 255] ^ term), 0);

/** Whether a module belongs to a pattern: row i, column j. */
function isFunction(version, n, i, j) {
  const finder = (i < 9 && j < 9) || (i < 9 && j >= n - 8) || (i >= n - 8 && j < 9);
  if (finder || i === 6 || j === 6) return true;
  if (version >= 7 && ((i < 6 && j >= n - 11) || (j < 6 && i >= n - 11))) return true;
  const centres = ALIGNMENT[version];
  const isNearFinder = (a, b) => (a < 9 && b < 9) || (a < 9 && b > n - 9) || (a > n - 9 && b < 9);
  return centres.some((a) => centres.some((b) => !isNearFinder(a, b) && Math.abs(i - a) <= 2 && Math.abs(j - b) <= 2));
}

/** @param {boolean[][]} modules rows, dark where true @returns {{text: string, version: number, mask: number}} */
export function readQr(modules) {
  const n = modules.length;
  const version = (n - 17) / 4;
  const bit = (i, j) => (modules[i][j] ? "1" : "0");
  const first =
    [0, 1, 2, 3, 4, 5, 7, 8].map((j) => bit(8, j)).join("") + [7, 5, 4, 3, 2, 1, 0].map((i) => bit(i, 8)).join("");
  const below = Array.from({ length: 7 }, (_, k) => bit(n - 1 - k, 8)).join("");
  const beside = Array.from({ length: 8 }, (_, k) => bit(8, n - 8 + k)).join("");
  if (first !== below + beside) throw new Error("The two copies of the format differ.");
  const mask = FORMAT_M.indexOf(first);
  if (mask < 0) throw new Error(`The format ${first} is not of level M.`);
  if (!modules[n - 8][8]) throw new Error("The dark module is light.");
  if (version >= 7) {
    const at = (k) => [Math.floor(k / 3), n - 11 + (k % 3)];
    const bits = Array.from({ length: 18 }, (_, k) => bit(...at(17 - k))).join("");
    const turned = Array.from({ length: 18 }, (_, k) => bit(at(17 - k)[1], at(17 - k)[0])).join("");
    if (bits !== VERSION[version] || turned !== bits) throw new Error(`Version information ${bits}`);
  }
  let bits = "";
  let isUp = true;
  for (let j = n - 1; j > 0; j -= 2) {
    if (j === 6) j = 5;
    for (let k = 0; k < n; k++) {
      const i = isUp ? n - 1 - k : k;
      for (const column of [j, j - 1])
        if (!isFunction(version, n, i, column)) bits += Number(modules[i][column] !== MASK[mask](i, column));
    }
    isUp = !isUp;
  }
  const bytes = bits.match(/.{8}/g).map((byte) => parseInt(byte, 2));
  const blocks = BLOCKS[version].map(() => []);
  const lengths = BLOCKS[version].map(([, data]) => data);
  let at = 0;
  for (let k = 0; k < Math.max(...lengths); k++)
    blocks.forEach((block, b) => k < lengths[b] && block.push(bytes[at++]));
  for (let k = 0; k < BLOCKS[version][0][0] - lengths[0]; k++) blocks.forEach((block) => block.push(bytes[at++]));
  for (const block of blocks)
    for (let k = 0; k < BLOCKS[version][0][0] - lengths[0]; k++)
      if (valueAt(block, k) !== 0) throw new Error("The error correction does not fit the data.");
  const data = blocks.flatMap((block, b) => block.slice(0, lengths[b]));
  const text = data.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  if (text.slice(0, 4) !== "0100") throw new Error("This is not in byte mode.");
  const nLength = version < 10 ? 8 : 16;
  const length = parseInt(text.slice(4, 4 + nLength), 2);
  const content = text.slice(4 + nLength, 4 + nLength + 8 * length).match(/.{8}/g) ?? [];
  return { text: new TextDecoder().decode(Uint8Array.from(content, (byte) => parseInt(byte, 2))), version, mask };
}
