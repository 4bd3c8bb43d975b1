/**
 * The gate for what comes from outside, as in `citer_core/gate`: bounded JSON text, and values read against kinds with
 * ranges. The tables are the server's (`trace_schema.js`), so it and the browser check with one.
 *
 * Pure: must not know the DOM or any document. Gives back new values that hold only the fields that a record names.
 *
 * @typedef {import("./kinds.js").Kind} Kind
 */

import { inDigits } from "./kinds.js";
import { JSON_LIMITS } from "./trace_schema.js";

/** What is wrong with a value, in words for a person; holds no more of it than `excerpt` gives. */
export class GateError extends Error {}

const EXCERPT_CHARS = 40;
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]/gu; // control, format, lone surrogates, line ends
const HALF_CHARACTER = /[\ud800-\udfff]/u;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const OPENING = [91, 123]; // [ {
const CLOSING = [93, 125];
const EXPONENT = [101, 69]; // e E
const HUGE = /^\+?[0-9]{3}/; // behind an e: 1e100 and more, which ends at infinity; 1e-300 is a probability

/**
 * At most 40 characters that say which value it was: a text quoted and cleaned, a list or an object only named.
 * @param {unknown} value
 */
export function excerpt(value) {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") {
    const characters = [...value.slice(0, 2 * EXCERPT_CHARS)];
    const isLong = characters.length > EXCERPT_CHARS - 2;
    const cut = isLong ? `${characters.slice(0, EXCERPT_CHARS - 3).join("")}…` : characters.join("");
    return `"${cut.replace(UNSAFE, "\ufffd").replaceAll('"', "'")}"`;
  }
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : String(value);
}

/** @param {string} text */
function checkStructure(text) {
  let [depth, values, digits] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    digits = code >= 48 && code <= 57 ? digits + 1 : 0;
    if (digits > JSON_LIMITS.digits || (EXPONENT.includes(code) && HUGE.test(text.slice(i + 1, i + 5)))) {
      const most = JSON_LIMITS.digits;
      throw new GateError(`A number in this document is too long (more than ${most} digits) or too large.`);
    }
    if (code === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++;
    } else if (OPENING.includes(code)) {
      depth++;
      values++;
    } else if (CLOSING.includes(code)) depth--;
    else if (code === COMMA) values++;
    if (depth > JSON_LIMITS.depth) {
      throw new GateError(`This document has more than ${JSON_LIMITS.depth} lists and objects inside each other.`);
    }
    if (values > JSON_LIMITS.values) {
      throw new GateError(`This document holds more than ${inDigits(JSON_LIMITS.values)} values. Give a shorter one.`);
    }
  }
}

/**
 * @param {string} text one JSON document
 * @param {number} maxChars the longest text
 * @returns {unknown} what it says
 * @throws {GateError} too long, too deep, too many values, or no JSON
 */
export function parseJson(text, maxChars) {
  const length = lengthOf(text, maxChars);
  if (length > maxChars) {
    throw new GateError(`This document has ${inDigits(length)} characters; at most ${inDigits(maxChars)} are read.`);
  }
  checkStructure(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new GateError("This is not JSON. Give one whole JSON document.");
  }
}

/**
 * Characters of a text, as Python counts them; a pair of surrogates is one. Exact where it matters, near the limit.
 * @param {string} text
 * @param {number} most
 */
function lengthOf(text, most) {
  if (text.length <= most || text.length > 2 * most) return text.length;
  return text.length - (text.match(PAIRS)?.length ?? 0);
}

/** @param {number} value @param {import("./kinds.js").NumberKind} kind */
const isBetween = (value, { low, high, openLow }) => value >= low && value <= high && !(openLow && value === low);

/**
 * Whether a value without parts is what its kind says.
 * @param {unknown} value
 * @param {import("./kinds.js").PlainKind} kind
 */
function fits(value, kind) {
  switch (kind.kind) {
    case "text": {
      if (typeof value !== "string" || HALF_CHARACTER.test(value)) return false;
      const { alphabet } = kind;
      const length = lengthOf(value, kind.max);
      if (length > kind.max || length < kind.min) return false;
      return !alphabet || [...value].every((char) => alphabet.includes(char));
    }
    case "whole":
      return typeof value === "number" && Number.isInteger(value) && isBetween(value, kind);
    case "real":
      return typeof value === "number" && Number.isFinite(value) && isBetween(value, kind);
    case "flag":
      return typeof value === "boolean";
    case "choice":
      return kind.names.some((name) => name === value);
    default:
      throw new Error(`There is no kind ${/** @type {Kind} */ (kind).kind}.`);
  }
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {string} wanted
 * @returns {never}
 */
function refuse(value, where, wanted) {
  const found = value === undefined ? "missing" : excerpt(value);
  throw new GateError(`${where || "this document"} is ${found}; it must be ${wanted}.`);
}

/**
 * Reads a value against a kind of the table.
 *
 * @param {Kind} kind
 * @param {unknown} value anything that JSON can hold
 * @param {string} where what to call it in a message
 * @returns {unknown} the checked value, a new one where it has parts
 * @throws {GateError} naming the first part that is wrong, and what it must be
 */
export function readKind(kind, value, where) {
  switch (kind.kind) {
    case "maybe":
      return value === null ? null : readKind({ ...kind.of, wanted: kind.wanted }, value, where);
    case "list":
      if (!Array.isArray(value) || value.length < kind.least || value.length > kind.most)
        refuse(value, where, kind.wanted);
      return value.map((entry, i) => readKind(kind.of, entry, `${where}[${i}]`));
    case "row":
      if (!Array.isArray(value) || value.length !== kind.of.length) refuse(value, where, kind.wanted);
      return kind.of.map((entry, i) => readKind(entry, value[i], `${where}[${i}]`));
    case "record":
      return readRecord(kind, value, where);
    default:
      if (!fits(value, kind)) refuse(value, where, kind.wanted);
      return value;
  }
}

/** @param {import("./kinds.js").RecordKind} how @param {unknown} value @param {string} where */
function readRecord({ required, optional, wanted }, value, where) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(value, where, wanted);
  }
  const given = new Map(Object.entries(value));
  /** @type {Record<string, unknown>} */
  const found = {};
  for (const [name, kind] of Object.entries({ ...required, ...optional })) {
    const at = where ? `${where}.${name}` : name;
    const entry = given.get(name);
    if (entry !== undefined) found[name] = readKind(kind, entry, at);
    else if (Object.hasOwn(required, name)) refuse(undefined, at, kind.wanted);
  }
  return found;
}

/**
 * @param {Kind} kind
 * @param {unknown} value
 * @param {string} where
 * @param {string[]} refused is added to
 * @returns {unknown} null where it is not of this kind
 */
export function readOrRefuse(kind, value, where, refused) {
  try {
    return readKind(kind, value, where);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    refused.push(error.message);
    return null;
  }
}

/**
 * @param {URLSearchParams} query of an address
 * @param {string} key
 * @param {import("./kinds.js").NumberKind} kind
 * @param {string[]} refused is added to
 * @returns {number|null} null where there is none, or none of this kind
 */
export function numberOf(query, key, kind, refused, where = key) {
  const text = query.get(key)?.trim();
  if (!text) return null;
  const value = Number(text);
  const found = readOrRefuse(kind, Number.isNaN(value) ? text : value, where, refused);
  return found === null ? null : Number(found);
}
