/**
 * What the labels say about the chosen router beside the baseline that needs no training, in a sentence.
 *
 * Pure: must not know the DOM. The baseline is asked as often as the router: equal taus would be no comparison.
 *
 * @typedef {import("./analysis.js").Analysis} Analysis
 */

import { formatTau, percent } from "../run/format.js";
import { confusion, tauForCount } from "./verdict.js";

export const FREE = "max-probability";
const NEAR = 0.0005; // shares that are printed the same

/**
 * Whom a router is held against: the free baseline, and that one against the first other router.
 * @param {Analysis} analysis
 * @param {string} router
 */
export function rivalOf(analysis, router) {
  const names = analysis.routers.map(({ name }) => name);
  return router !== FREE && names.includes(FREE) ? FREE : (names.find((name) => name !== router) ?? "");
}

/**
 * @param {Analysis} analysis
 * @param {string} router
 * @param {number} tau
 * @returns {{lead: string, more: string}} the one that leaves fewer risks comes first
 */
export function findingOf(analysis, router, tau) {
  const { label, n } = analysis;
  const counts = confusion(analysis.confidence[router], label, tau);
  const critical = counts.risk + counts.caught;
  const share = (counts.waste + counts.caught) / n;
  const more =
    `These are the shortcut's labels, not what a rollout would find: ${critical.toLocaleString("en-US")} of ` +
    `${n.toLocaleString("en-US")} tokens are critical, for only the LLM's token is that of the known solution; ` +
    `another token often leads to the right answer too. A risk is a critical token that is left to the SLM.` +
    (analysis.routers.some(({ name }) => name === FREE) ? ` ${FREE} needs no training.` : "");
  const rival = rivalOf(analysis, router);
  const at = `${router} at τ ${formatTau(tau)}`;
  if (!rival) return { lead: `${at} leaves ${risks(counts.risk)} at ${percent(share)} LLM tokens.`, more };
  const theirTau = tauForCount(analysis.confidence[rival], counts.waste + counts.caught);
  const theirs = confusion(analysis.confidence[rival], label, theirTau);
  const theirShare = (theirs.waste + theirs.caught) / n;
  const where =
    Math.abs(theirShare - share) < NEAR
      ? `at the same share of LLM tokens: ${percent(share)}, as ${at} has.`
      : `at about the same share of LLM tokens: ${at} has ${percent(share)}, ${rival} ${percent(theirShare)}.`;
  if (counts.risk === theirs.risk)
    return { lead: `${router} and ${rival} leave ${risks(counts.risk)} each, ${where}`, more };
  const mine = { name: router, n: counts.risk };
  const other = { name: rival, n: theirs.risk };
  const [fewer, others] = mine.n < other.n ? [mine, other] : [other, mine];
  return { lead: `${fewer.name} leaves ${risks(fewer.n)}, ${others.name} ${others.n}, ${where}`, more };
}

/** @param {number} n */
const risks = (n) => (n === 1 ? "1 risk" : `${n.toLocaleString("en-US")} risks`);
