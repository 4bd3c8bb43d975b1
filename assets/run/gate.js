/**
 * The gate for what comes from outside, as in `citer_core/gate`: bounded JSON text, and values read against kinds with
 * ranges. The kinds come as data (`trace_schema.js`), so the server and the browser check with one table.
 *
 * Pure: must not know the DOM or any document. Gives back new values that hold only the fields that a record names.
 *
 * @typedef {{kind: "text", max: number, min?: number, alphabet?: string, wanted: string}} TextKind
 * @typedef {{kind: "whole"|"real", low: number, high: number, openLow?: boolean, wanted: string}} NumberKind
 * @typedef {{kind: "flag", wanted: string}} FlagKind
 * @typedef {{kind: "choice", names: string[], wanted: string}} ChoiceKind
 * @typedef {{kind: "maybe", of: Kind, wanted: string}} MaybeKind
 * @typedef {{kind: "list", of: Kind, least: number, most: number, wanted: string}} ListKind
 * @typedef {{kind: "row", of: Kind[], wanted: string}} RowKind
 * @typedef {{kind: "record", required: Record<string, Kind>, optional: Record<string, Kind>,
 *   wanted?: string}} RecordKind
 * @typedef {TextKind|NumberKind|FlagKind|ChoiceKind} PlainKind
 * @typedef {PlainKind|MaybeKind|ListKind|RowKind|RecordKind} Kind
 */

import { JSON_LIMITS } from "./trace_schema.js";

/** @param {number} low @param {number} high @returns {NumberKind} */
export const wholeFrom = (low, high) => ({ kind: "whole", low, high, wanted: `a whole number from ${low} to ${high}` });
/** @param {Kind} of @param {string} [wanted] @returns {Kind} */
export const orNone = (of, wanted = of.wanted) => ({ kind: "maybe", of, wanted: `${wanted}, or nothing` });
/** @param {number} most @param {Record<string, Kind>} required fields of each @returns {Kind} */
export const rowsOfKind = (most, required) => ({
  kind: "list",
  of: { kind: "record", required, optional: {} },
  least: 0,
  most,
  wanted: `a list of at most ${most}`,
});

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

/** @param {number} number */
const inWords = (number) => number.toLocaleString("en");

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
      throw new GateError(`This document holds more than ${inWords(JSON_LIMITS.values)} values. Give a shorter one.`);
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
    throw new GateError(`This document has ${inWords(length)} characters; at most ${inWords(maxChars)} are read.`);
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

/** @param {number} value @param {{low: number, high: number, openLow?: boolean}} how */
const between = (value, { low, high, openLow }) => value >= low && value <= high && !(openLow && value === low);

/**
 * Whether a value without parts is what its kind says.
 * @param {unknown} value
 * @param {PlainKind} kind
 */
function fits(value, kind) {
  switch (kind.kind) {
    case "text": {
      if (typeof value !== "string" || HALF_CHARACTER.test(value)) return false;
      const { alphabet } = kind;
      const length = lengthOf(value, kind.max);
      if (length > kind.max || length < (kind.min ?? 0)) return false;
      return !alphabet || [...value].every((char) => alphabet.includes(char));
    }
    case "whole":
      return typeof value === "number" && Number.isInteger(value) && between(value, kind);
    case "real":
      return typeof value === "number" && Number.isFinite(value) && between(value, kind);
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
      if (!Array.isArray(value) || !between(value.length, { low: kind.least, high: kind.most })) {
        refuse(value, where, kind.wanted);
      }
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

/** @param {RecordKind} how @param {unknown} value @param {string} where */
function readRecord({ required, optional, wanted }, value, where) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(value, where, wanted ?? `an object with ${Object.keys(required).join(", ")}`);
  }
  const given = new Map(Object.entries(value));
  /** @type {Record<string, unknown>} */
  const found = {};
  for (const [name, kind] of Object.entries({ ...required, ...optional })) {
    const at = where ? `${where}.${name}` : name;
    const entry = given.get(name);
    if (entry !== undefined) found[name] = readKind(kind, entry, at);
    else if (Object.hasOwn(required, name)) refuse(undefined, at, kind.wanted ?? "an object");
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
 * @param {NumberKind} kind
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
