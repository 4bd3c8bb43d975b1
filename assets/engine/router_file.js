/**
 * A router in one file, as a person saves and opens one: safetensors whose header holds the card.
 *
 * It may come from anyone: size, number of tensors and every field of the card are bounded, as in
 * `citer_core/routing/router_card.py`. Pure; whether it fits a pair is found where the pair is (`pair.js`).
 *
 * @typedef {Object} RouterCard
 * @property {number} schema_version
 * @property {string} label
 * @property {number} hidden_size
 * @property {string} pair_revision
 * @property {string} revision of its weights
 * @property {string} [kind]
 * @property {string} [prompt_form]
 * @property {number} [recommended_threshold]
 * @property {string} [prior]
 * @property {{prefer_slm_share?: number, llm_shares_at_tau?: number[], confidence_quantiles?: number[]}} [training]
 */

import { GateError, excerpt, parseJson, readKind } from "../run/gate.js";
import { CARD_SCHEMA_VERSION, CARD_TABLE } from "./card_table.js";
import { ModelFileProblem, readHeader, readTensors } from "./safetensors.js";
import { inDigits } from "../run/kinds.js";

export const MAX_ROUTER_BYTES = 400_000; // the bundled pair's largest router has 175,000 with its card
const MOST_TENSORS = 32;

/** @param {string} why */
const refused = (why) =>
  new ModelFileProblem(`This router file is not loaded. ${why} Give a router that this page saved.`);

/** @param {string} why */
const notWhole = (why) => refused(`It is not a whole safetensors file (${why}).`);

/** @param {string} text @returns {any} */
const bounded = (text) => parseJson(text, MAX_ROUTER_BYTES);

/** @param {number} bytes */
export function checkRouterSize(bytes) {
  const [has, most] = [bytes, MAX_ROUTER_BYTES].map(inDigits);
  if (bytes > MAX_ROUTER_BYTES) throw refused(`It has ${has} bytes, and at most ${most} are read.`);
}

/**
 * @param {ArrayBuffer} file
 * @returns {{card: RouterCard, weights: Map<string, import("./safetensors.js").FileTensor>}}
 * @throws {ModelFileProblem}
 */
export function readRouterFile(file) {
  checkRouterSize(file.byteLength);
  const header = readHeader(file, notWhole, bounded);
  if (header.entries.length > MOST_TENSORS) throw refused(`It holds more than ${MOST_TENSORS} tensors.`);
  if (!header.about.card) throw refused("It holds no card, which says what its weights are of.");
  return { card: readCard(String(header.about.card)), weights: readTensors(file, header, notWhole) };
}

/** @param {string} text @returns {RouterCard} */
function readCard(text) {
  try {
    const said = bounded(text);
    const version = said?.schema_version;
    if (version !== CARD_SCHEMA_VERSION) {
      throw new GateError(`Its card's schema_version is ${excerpt(version)}; it must be ${CARD_SCHEMA_VERSION}.`);
    }
    const card = /** @type {RouterCard} */ (readKind(CARD_TABLE, said, "its card"));
    const { llm_shares_at_tau: shares = [], confidence_quantiles: quantiles = [] } = card.training ?? {};
    if ([shares, quantiles].some((list) => list.some((value, i) => value < list[Math.max(0, i - 1)]))) {
      throw new GateError("The shares or quantiles of its card's training fall; they must not.");
    }
    return { ...card, schema_version: version };
  } catch (error) {
    throw error instanceof GateError ? refused(error.message) : error;
  }
}
