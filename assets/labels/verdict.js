/**
 * Who would write each labelled token at a tau, whether that is right, and the tau that costs least.
 *
 * Pure: must not know the DOM or where the numbers come from. Critical tokens (label 0) should be the LLM's: one kept
 * by the SLM is a risk, an easy one (label 1) handed to the LLM a waste. A token without a label (2) is neither.
 *
 * @typedef {"kept"|"waste"|"caught"|"risk"|"open"} Cell
 * @typedef {Record<Cell|"llm", number>} Confusion tokens in each cell, and those that the LLM writes in all of them
 * @typedef {{tau: number, cost: number, risk: number, waste: number}} BestThreshold
 */

import { tauOfCut } from "../run/cut.js";
import { prefersLlm } from "../run/decision.js";

/** Of the matrix. @type {Cell[]} */
export const CELLS = ["kept", "waste", "risk", "caught"];
/** @type {Record<Cell, string>} before its name */
export const MARKS = { kept: "", waste: "○ ", risk: "▲ ", caught: "", open: "" };
/** Of a token after which both models' answers are wrong, so that neither can be preferred. */
export const UNDECIDED = 2;

/**
 * @param {number} label
 * @param {number} confidence
 * @param {number} tau
 * @returns {Cell}
 */
export function cellOf(label, confidence, tau) {
  const byLlm = prefersLlm(confidence, tau);
  if (label === UNDECIDED) return "open";
  if (label === 1) return byLlm ? "waste" : "kept";
  return byLlm ? "caught" : "risk";
}

/**
 * Tokens per cell.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @param {number} tau
 * @returns {Confusion}
 */
export function confusion(confidence, label, tau) {
  const counts = { kept: 0, waste: 0, risk: 0, caught: 0, open: 0, llm: 0 };
  for (let i = 0; i < label.length; i++) {
    counts[cellOf(label[i], confidence[i], tau)]++;
    counts.llm += Number(prefersLlm(confidence[i], tau));
  }
  return counts;
}

/**
 * Every way in which a tau divides the tokens that have a label: cut k gives the k lowest of m distinct confidences to
 * the LLM, since a tau cannot divide the tokens of one.
 * @typedef {{edges: number[], waste: number[], caught: number[]}} Cuts m of them, and m + 1 times easy and critical
 *   tokens below a cut
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @returns {Cuts}
 */
export function cutsOf(confidence, label) {
  const order = Uint32Array.from(label, (_, i) => i)
    .filter((i) => label[i] !== UNDECIDED)
    .sort((a, b) => confidence[a] - confidence[b]);
  /** @type {Cuts} */
  const { edges, waste, caught } = { edges: [], waste: [0], caught: [0] };
  let nWaste = 0;
  order.forEach((i, place) => {
    nWaste += label[i];
    if (confidence[order[place + 1]] === confidence[i]) return;
    edges.push(confidence[i]);
    waste.push(nWaste);
    caught.push(place + 1 - nWaste);
  });
  return { edges, waste, caught };
}

/**
 * The tau of least cost, of all that decide differently; among equals the one with the fewest LLM tokens.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @param {(risk: number, waste: number) => number} costOf
 * @returns {BestThreshold}
 */
function cheapest(confidence, label, costOf) {
  const { edges, waste, caught } = cutsOf(confidence, label);
  const risk = caught.map((found) => caught[edges.length] - found);
  const cost = risk.map((left, k) => costOf(left, waste[k]));
  const best = cost.reduce((least, one, k) => (one < cost[least] ? k : least), 0);
  return { tau: tauOfCut(edges, best), cost: cost[best], risk: risk[best], waste: waste[best] };
}

/**
 * The tau at which `ratio * risk + waste` is least.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @param {number} ratio
 */
export const bestThreshold = (confidence, label, ratio) =>
  cheapest(confidence, label, (risk, waste) => ratio * risk + waste);

/**
 * The tau at which a router hands over as near to `wanted` tokens as its distinct confidences allow.
 * @param {ArrayLike<number>} confidence
 * @param {number} wanted
 */
export function tauForCount(confidence, wanted) {
  const { length } = confidence;
  return cheapest(confidence, new Uint8Array(length), (left) => Math.abs(length - left - wanted)).tau;
}
