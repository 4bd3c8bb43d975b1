/**
 * A person's answer as a short code, and back: Crockford's base 32 in groups of four, with a checksum.
 *
 * Pure: must not know the DOM, lessons or a class. The checksum is CRC-24 of OpenPGP (RFC 4880): a mistyped character,
 * or two swapped ones, is always found; of other mistakes one in 16.8 million is missed.
 *
 * @typedef {Object} ClassAnswer
 * @property {string} of what was answered: a lesson, "run/NAME" for the exercise in Learn, or "lab"
 * @property {string} key six hexadecimal digits by chance, which tell equal answers of two people apart
 * @property {number|null} guess
 * @property {number[]|null} marks the tokens that were marked, counted from 0, in order
 * @property {{n: number, points: [number, number][]}|null} curve share of LLM tokens in parts of one, and how many of n
 *   were right
 * @property {number|null} number that was to be found, as it was typed
 */

import { GateError } from "../run/gate.js";

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const VERSION = 1;
const KINDS = { guess: 0, marks: 1, curve: 2 };
const HAS_NUMBER = 4;
const GROUP = 4;
const CENTS = 100;
const PERMILLE = 1000;
const HEAD_BYTES = 6;
const CHECK_BYTES = 3;
export const MOST_MARKS = 200;
export const MOST_POINTS = 40;
/** Anything that may be a code: groups of letters and digits, as people type them. */
export const CODE = /[0-9a-z]{4}(?:-[0-9a-z]{4}){2,}(?:-[0-9a-z]{1,4})?/i;

/** CRC-24 of OpenPGP. @param {ArrayLike<number>} bytes */
export function crc24(bytes) {
  let crc = 0xb704ce;
  for (const byte of Array.from(bytes)) {
    crc ^= byte << 16;
    for (let i = 0; i < 8; i++) crc = (crc << 1) ^ (crc & 0x800000 ? 0x1864cfb : 0);
  }
  return crc & 0xffffff;
}

/** @param {number} number */
const inThree = (number) => [(number >> 16) & 255, (number >> 8) & 255, number & 255];

/** What a code has of a name: 16 bits. @param {string} of */
const tagOf = (of) => crc24(new TextEncoder().encode(of)) & 0xffff;

/** Whole numbers from 0 on, seven bits a byte. @param {number[]} bytes @param {number} value */
function put(bytes, value) {
  let rest = Math.round(value);
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}

/** Those below 0 too. @param {number} value */
const folded = (value) => (value < 0 ? -2 * Math.round(value) - 1 : 2 * Math.round(value));

/** @param {number[]} bytes */
function lettersOf(bytes) {
  let text = "";
  let [bits, n] = [0, 0];
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    for (n += 8; n >= 5; n -= 5) text += LETTERS[(bits >> (n - 5)) & 31];
    bits &= (1 << n) - 1;
  }
  return n ? text + LETTERS[(bits << (5 - n)) & 31] : text;
}

/** @param {string} text letters of the alphabet only */
function bytesOf(text) {
  /** @type {number[]} */
  const bytes = [];
  let [bits, n] = [0, 0];
  for (const letter of text) {
    bits = (bits << 5) | LETTERS.indexOf(letter);
    n += 5;
    if (n < 8) continue;
    n -= 8;
    bytes.push((bits >> n) & 255);
    bits &= (1 << n) - 1;
  }
  return bits ? null : bytes; // what is left over is filled with zeros
}

/** @param {ClassAnswer} answer */
export function codeOf({ of, key, guess, marks, curve, number }) {
  const kind = curve ? KINDS.curve : marks ? KINDS.marks : KINDS.guess;
  const bytes = [(VERSION << 4) | kind | (number === null ? 0 : HAS_NUMBER)];
  const tag = tagOf(of);
  bytes.push(tag >> 8, tag & 255, ...inThree(parseInt(key, 16)));
  if (curve) {
    put(bytes, curve.n);
    put(bytes, curve.points.length);
    for (const [share, right] of curve.points) {
      put(bytes, share * PERMILLE);
      put(bytes, right);
    }
  } else if (marks) {
    put(bytes, marks.length);
    marks.forEach((mark, i) => put(bytes, i ? mark - marks[i - 1] : mark));
  } else put(bytes, folded(guess ?? 0));
  if (number !== null) put(bytes, folded(number * CENTS));
  const letters = lettersOf([...bytes, ...inThree(crc24(bytes))]);
  return letters.match(new RegExp(`.{1,${GROUP}}`, "g"))?.join("-") ?? "";
}

const MISTYPED = "The code does not add up: a character is wrong or missing. Compare it with the student’s screen.";
const DAMAGED = "The code says what no page writes. Have it made anew.";

/** Reads numbers one behind the other. */
class Numbers {
  at = HEAD_BYTES;

  /** @param {number[]} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  /** @param {number} most */
  next(most) {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || scale > 2 ** 35) throw new GateError(DAMAGED);
      value += (byte & 127) * scale;
      scale *= 128;
      if (byte < 128) break;
    }
    if (value > most) throw new GateError(DAMAGED);
    return value;
  }

  /** @param {number} most */
  signed(most) {
    const value = this.next(2 * most);
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

/**
 * @param {string} code as it was typed
 * @param {string[]} subjects what this page knows of
 * @returns {ClassAnswer}
 * @throws {GateError} mistyped, from another version or of something else
 */
export function answerOfCode(code, subjects) {
  const typed = code.toUpperCase().replace(/[\s-]/g, "").replace(/O/g, "0").replace(/[IL]/g, "1");
  const all = [...typed].every((letter) => LETTERS.includes(letter)) ? bytesOf(typed) : null;
  if (!all || all.length < HEAD_BYTES + CHECK_BYTES + 1) throw new GateError(MISTYPED);
  const bytes = all.slice(0, -CHECK_BYTES);
  if (inThree(crc24(bytes)).some((byte, i) => byte !== all[bytes.length + i])) throw new GateError(MISTYPED);
  const [head, high, low] = bytes;
  if (head >> 4 !== VERSION) throw new GateError("The code is from another version of this page. Reload both pages.");
  const of = subjects.find((subject) => tagOf(subject) === (high << 8) + low);
  if (of === undefined) throw new GateError("The code is of a lesson that this page does not have.");
  const key = bytes
    .slice(3, HEAD_BYTES)
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const numbers = new Numbers(bytes);
  /** @type {ClassAnswer} */
  const answer = { of, key, guess: null, marks: null, curve: null, number: null };
  const kind = head & 3;
  if (kind === KINDS.curve) answer.curve = curveIn(numbers);
  else if (kind === KINDS.marks) {
    let mark = 0;
    answer.marks = Array.from({ length: numbers.next(MOST_MARKS) }, (_, i) => {
      const step = numbers.next(1e6);
      if (i && !step) throw new GateError(DAMAGED);
      return (mark = i ? mark + step : step);
    });
  } else answer.guess = numbers.signed(1e7);
  if (head & HAS_NUMBER) answer.number = numbers.signed(1e9) / CENTS;
  if (numbers.at !== bytes.length) throw new GateError(DAMAGED);
  return answer;
}

/** @param {Numbers} numbers */
function curveIn(numbers) {
  const n = numbers.next(1e6);
  const points = Array.from({ length: numbers.next(MOST_POINTS) }, () => {
    const share = numbers.next(PERMILLE) / PERMILLE;
    return /** @type {[number, number]} */ ([share, numbers.next(n)]);
  });
  return { n, points };
}

/** A key for a new answer. */
export const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(3))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
