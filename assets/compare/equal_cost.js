/**
 * At which tau two routers cost the same: as many LLM tokens, or as many bytes, over the problems of Evidence.
 *
 * Pure: must not know the DOM or a router.
 *
 * @typedef {{router: string, share_wanted: number|null, bytes_share: number, tau: number, n: number}} MeasuredPoint
 * @typedef {keyof typeof AT} Measure `share`: of tokens; `bytes`: of what the LLM alone moves
 */

import { percent } from "../run/format.js";

/** What is offered. Every router of the bundled pair was measured at these shares of tokens. */
const AT = { share: [0.05, 0.1, 0.2, 0.3], bytes: [0.15, 0.2, 0.25, 0.3, 0.4, 0.5] };
const WORDS = { share: "LLM tokens", bytes: "of the LLM’s bytes" };

/** @param {Measure} measure @param {number} wanted */
export const costWords = (measure, wanted) => `${percent(wanted, 0)} ${WORDS[measure]}`;

/** What a choice offers, as value and words. */
export const EQUAL_COSTS = /** @type {Measure[]} */ (Object.keys(AT)).flatMap((measure) =>
  AT[measure].map((wanted) => /** @type {const} */ ([`${measure} ${wanted}`, costWords(measure, wanted)])),
);

/** What was chosen. @param {string} value @returns {[Measure, number]} */
export function readCost(value) {
  const [measure, wanted] = value.split(" ");
  return [/** @type {Measure} */ (measure), Number(wanted)];
}

/**
 * The tau of a router, and over how many problems it was measured; null where it was not. Bytes lie between two
 * measured points: tau goes from one to the other as they do.
 * @param {MeasuredPoint[]} points
 * @param {string} router
 * @param {Measure} measure
 * @param {number} wanted
 * @returns {{tau: number, n: number}|null}
 */
export function pointAt(points, router, measure, wanted) {
  const own = points.filter((point) => point.router === router && point.share_wanted !== null);
  if (measure === "share") return own.find(({ share_wanted: share }) => share === wanted) ?? null;
  own.sort((a, b) => a.bytes_share - b.bytes_share);
  const k = own.findIndex(({ bytes_share: bytes }) => bytes >= wanted);
  const [below, above] = [own[k - 1] ?? own[k], own[k]];
  if (!above || below.bytes_share > wanted) return null;
  const part = (wanted - below.bytes_share) / (above.bytes_share - below.bytes_share || 1);
  return { tau: below.tau + part * (above.tau - below.tau), n: above.n };
}
