/**
 * The kinds of values that may come from outside, each with what a message says of it; the mirror of
 * `citer_core/gate/fields.py`. Pure; `gate.js` reads values against them.
 *
 * @typedef {{kind: "text", max: number, min: number, alphabet: string, wanted: string}} TextKind
 * @typedef {{kind: "whole"|"real", low: number, high: number, openLow: boolean, wanted: string}} NumberKind
 * @typedef {{kind: "flag", wanted: string}} FlagKind
 * @typedef {{kind: "choice", names: string[], wanted: string}} ChoiceKind
 * @typedef {{kind: "maybe", of: Kind, wanted: string}} MaybeKind
 * @typedef {{kind: "list", of: Kind, least: number, most: number, wanted: string}} ListKind
 * @typedef {{kind: "row", of: Kind[], wanted: string}} RowKind
 * @typedef {{kind: "record", required: Record<string, Kind>, optional: Record<string, Kind>,
 *   wanted: string}} RecordKind
 * @typedef {TextKind|NumberKind|FlagKind|ChoiceKind} PlainKind
 * @typedef {PlainKind|MaybeKind|ListKind|RowKind|RecordKind} Kind
 */

/** 1,234.5, by hand: the first use of the browser's own formatting costs a start tens of ms. @param {number} number */
export function inDigits(number) {
  const [whole, ...rest] = String(number).split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/gu, ","), ...rest].join(".");
}

/**
 * Characters are counted as Python counts them.
 * @param {number} max @param {number} [min] @param {string} [alphabet] the only characters in it; "" allows all
 * @returns {TextKind}
 */
export function textUpTo(max, min = 0, alphabet = "") {
  const from = min ? `${inDigits(min)} to ${inDigits(max)}` : `at most ${inDigits(max)}`;
  const length = min === max ? inDigits(max) : from;
  const wanted = `a text of ${length} characters${alphabet && ` out of ${alphabet}`}`;
  return { kind: "text", max, min, alphabet, wanted };
}

/** @param {number} low @param {number} high */
const between = (low, high) => `from ${inDigits(low)} to ${inDigits(high)}`;

/** @param {number} low @param {number} high @returns {NumberKind} */
export const wholeFrom = (low, high) => ({
  kind: "whole",
  low,
  high,
  openLow: false,
  wanted: `a whole number ${between(low, high)}`,
});
/** @param {number} low @param {number} high @returns {NumberKind} */
export const realFrom = (low, high) => ({
  kind: "real",
  low,
  high,
  openLow: false,
  wanted: `a number ${between(low, high)}`,
});
/** @param {number} low @param {number} high @returns {NumberKind} */
export const realAbove = (low, high) => ({
  kind: "real",
  low,
  high,
  openLow: true,
  wanted: `a number above ${inDigits(low)}, at most ${inDigits(high)}`,
});
/** @type {FlagKind} */
export const FLAG = { kind: "flag", wanted: "true or false" };
/** @param {...string} names @returns {ChoiceKind} */
export const oneNamed = (...names) => ({
  kind: "choice",
  names,
  wanted: names.map((name) => `"${name}"`).join(" or "),
});

/** @template {Kind} K @param {K} of @param {string} [wanted] */
export const orNone = (of, wanted = of.wanted) => ({
  kind: /** @type {const} */ ("maybe"),
  of,
  wanted: `${wanted}, or nothing`,
});
/** @template {Kind} K @param {K} of each entry @param {number} most @param {number} [least] */
export const listOf = (of, most, least = 0) => ({
  kind: /** @type {const} */ ("list"),
  of,
  most,
  least,
  wanted: `a list of ${least ? `${inDigits(least)} to` : "at most"} ${inDigits(most)} entries`,
});
/** A list of a fixed length, each entry of its own kind. @param {...Kind} of @returns {RowKind} */
export const rowOf = (...of) => ({ kind: "row", of, wanted: `a list of ${of.length} entries` });
/**
 * An object with named fields; what it does not name is left out.
 * @template {Record<string, Kind>} R
 * @template {Record<string, Kind>} [O={}]
 * @param {R} required @param {O} [optional]
 */
export function recordOf(required, optional) {
  const names = Object.keys(required);
  const wanted = `an object with ${(names.length ? names : Object.keys(optional ?? {})).join(", ")}`;
  return { kind: /** @type {const} */ ("record"), required, optional: optional ?? /** @type {O} */ ({}), wanted };
}

/**
 * A setting of decoding, as the table of them has it.
 * @param {NumberKind} kind @param {number} usual where nothing is said @param {string} label for people
 * @param {string} link its key in addresses
 * @param {{forSampling?: boolean, lookingBack?: number|null}} [how] whether it says something only where tokens are
 *   drawn; where it stands in a run that looks back, null where it is no dial
 */
export const settingOf = (kind, usual, label, link, { forSampling = false, lookingBack = null } = {}) => {
  return { kind, default: usual, label, link, forSampling, lookingBack };
};
