/**
 * Who would write each labelled token at a tau, whether that is right, and the tau that costs least.
 *
 * Pure: must not know the DOM or where the numbers come from. Mirrors `citer_core/evaluation/curves.py`; a test holds
 * the two to each other. Critical tokens (label 0) should be the LLM's: one kept by the SLM is a risk, an easy one
 * (label 1) handed to the LLM a waste.
 *
 * @typedef {"kept"|"waste"|"caught"|"risk"} Cell
 * @typedef {Record<Cell, number>} Confusion tokens in each cell
 * @typedef {{tau: number, cost: number, risk: number, waste: number}} BestThreshold
 * @typedef {{edge: number, easy: number, critical: number}} ConfidenceGroup
 */

import { tauOfCut } from "../run/cut.js";
import { prefersLlm } from "../run/decision.js";

/** @type {Cell[]} */
export const CELLS = ["kept", "waste", "risk", "caught"];

/**
 * @param {number} label
 * @param {number} confidence
 * @param {number} tau
 * @returns {Cell}
 */
export function cellOf(label, confidence, tau) {
  const byLlm = prefersLlm(confidence, tau);
  if (label === 1) return byLlm ? "waste" : "kept";
  return byLlm ? "caught" : "risk";
}

/**
 * Tokens per cell.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @param {number} tau
 * @returns {Record<Cell, number>}
 */
export function confusion(confidence, label, tau) {
  const counts = { kept: 0, waste: 0, risk: 0, caught: 0 };
  for (let i = 0; i < label.length; i++) counts[cellOf(label[i], confidence[i], tau)]++;
  return counts;
}

/**
 * Distinct confidences in order, with the easy and critical tokens at each.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 */
function groups(confidence, label) {
  const order = Uint32Array.from(confidence, (_, i) => i).sort((a, b) => confidence[a] - confidence[b]);
  /** @type {ConfidenceGroup[]} */
  const found = [];
  for (const i of order) {
    if (!found.length || found[found.length - 1].edge !== confidence[i])
      found.push({ edge: confidence[i], easy: 0, critical: 0 });
    found[found.length - 1][label[i] === 1 ? "easy" : "critical"]++;
  }
  return found;
}

/** @param {ConfidenceGroup[]} found */
const edgesOf = (found) => found.map((group) => group.edge);

/**
 * The tau at which `ratio * risk + waste` is least; among equals the one with the fewest LLM tokens.
 * @param {ArrayLike<number>} confidence
 * @param {ArrayLike<number>} label
 * @param {number} ratio
 * @returns {BestThreshold}
 */
export function bestThreshold(confidence, label, ratio) {
  const found = groups(confidence, label);
  let risk = found.reduce((sum, group) => sum + group.critical, 0);
  let waste = 0;
  let best = { k: 0, cost: ratio * risk, risk, waste };
  found.forEach((group, i) => {
    risk -= group.critical;
    waste += group.easy;
    const cost = ratio * risk + waste;
    if (cost < best.cost) best = { k: i + 1, cost, risk, waste };
  });
  return { tau: tauOfCut(edgesOf(found), best.k), cost: best.cost, risk: best.risk, waste: best.waste };
}

/**
 * The tau at which a router hands over as near to `count` tokens as its distinct confidences allow.
 * @param {ArrayLike<number>} confidence
 * @param {number} count
 */
export function tauForCount(confidence, count) {
  const found = groups(confidence, new Uint8Array(confidence.length));
  let best = { k: 0, gap: count };
  let below = 0;
  found.forEach((group, i) => {
    below += group.easy + group.critical;
    const gap = Math.abs(below - count);
    if (gap < best.gap) best = { k: i + 1, gap };
  });
  return tauOfCut(edgesOf(found), best.k);
}
