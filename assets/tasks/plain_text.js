/**
 * White space, lines and words as Python has them, and the one spelling in which answers are read; the mirror of
 * `citer_core/tasks/plain_text.py`. Pure.
 */

import { ANSWER_PATTERNS } from "./tables.js";

/** One character of Python's white space: inside of a pattern with the flag `u`. */
export const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const BLANK = `(?:(?!\\n)${SPACE})`;

const AROUND = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
const LINE_ENDS = "[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]";
const LINE_END = new RegExp(`\\r\\n|${LINE_ENDS}`, "u");

const SPELLINGS = ANSWER_PATTERNS.cleaned.map(([pattern, by]) => ({ pattern: new RegExp(pattern, "gu"), by }));
const FONT_COMMAND = new RegExp(ANSWER_PATTERNS.wrap, "gu");
const PLAINER = ANSWER_PATTERNS.plainer.map(([pattern, by]) => ({ pattern: new RegExp(pattern, "gu"), by }));
const BLANK_LINES = new RegExp(`${BLANK}*\\n${BLANK}*\\n${SPACE}*`, "gu");
const ONE_SPACE = new RegExp(`${BLANK}+|(?<!\\n)\\n(?!\\n)`, "gu");

/** @param {string} text */
export const stripped = (text) => text.replace(AROUND, "");

/** @param {string} text @returns {string[]} */
export const linesOf = (text) => text.split(LINE_END);

/** `text` without these characters at its ends. @param {string} text @param {string} characters */
export function trimmed(text, characters) {
  let [start, end] = [0, text.length];
  while (start < end && characters.includes(text[start])) start += 1;
  while (end > start && characters.includes(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

/** The digit that any script's digit is: ten of them stand in a row. @param {string} char */
function asciiDigit(char) {
  const code = char.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

/** One counterpart in upper and in lower case for every character. @param {string} char */
function singleCased(char) {
  const isSingle = [...char.toUpperCase()].length === 1 && [...char.toLowerCase()].length === 1;
  return isSingle ? char : char.toUpperCase().toLowerCase();
}

/** `text` in one spelling; a blank line becomes ` \n `, every other white space one space. @param {string} text */
export function clean(text) {
  let plain = text
    .replace(/(?=[\u00bc-\u00be\u2150-\u215e])/gu, " ")
    .replace(/[\u00bc-\u00be\u2150-\u215e\uff01-\uff5e]/gu, (char) => char.normalize("NFKC").replace("\u2044", "/"))
    .replace(/\p{Nd}/gu, (char) => (char < "\x80" ? char : asciiDigit(char)))
    .replace(/[^\0-\x7f]/gu, singleCased)
    .replace(BLANK_LINES, "\n\n")
    .replace(ONE_SPACE, " ")
    .replaceAll("\n\n", " \n ");
  for (const { pattern, by } of SPELLINGS) plain = plain.replace(pattern, () => by);
  return trimmed(plain, " \n");
}

/** Without the commands that only set a font: `\text{C}` is `{C}`. @param {string} text */
export const unwrapped = (text) => text.replace(FONT_COMMAND, "");

/** Cleaned text as a choice is written without LaTeX: `x^{2}` is x^2. @param {string} text */
export const plainer = (text) => unwrapped(PLAINER.reduce((plain, rule) => plain.replace(rule.pattern, rule.by), text));

/** Cleaned text without letter case, as long as it was. @param {string} text */
export const fold = (text) => text.toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
