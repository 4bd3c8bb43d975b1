/**
 * White space, lines and words as Python has them, for what both languages read alike. Pure.
 */

/** One character of Python's white space, and one that `\w` matches there: inside of a pattern with the flag `u`. */
export const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
export const WORD = "[\\p{L}\\p{N}_]";
/** As `\b` of Python: between a word and what is none. */
export const EDGE = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`;

const AROUND = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
const SPACES = new RegExp(`${SPACE}+`, "u");
const LINE_ENDS = "[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]";
const LINE_END = new RegExp(`\\r\\n|${LINE_ENDS}`, "u");

/** @param {string} text */
export const stripped = (text) => text.replace(AROUND, "");

/** @param {string} text @returns {string[]} */
export const linesOf = (text) => text.split(LINE_END);

/** @param {string} text @returns {string[]} what stands between white space */
export const wordsOf = (text) => text.split(SPACES).filter(Boolean);

/** Any text as a part of a pattern. @param {string} text */
export const literally = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
