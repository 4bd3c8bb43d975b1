/**
 * What the labels say about the chosen router beside the baseline that needs no training, in a sentence.
 *
 * Pure: must not know the DOM. The baseline is asked as often as the router: equal taus would be no comparison.
 *
 * @typedef {import("./analysis.js").Analysis} Analysis
 */

import { formatTau, percent, plural } from "../run/format.js";
import { UNDECIDED, confusion, tauForCount } from "./verdict.js";
import { inDigits } from "../run/kinds.js";

export const FREE = "max-probability";
const NEAR = 0.0005; // shares that are printed the same
/** @type {Record<import("./analysis.js").Rule, string>} */
const BY = { outcome: "By outcome,", published: "By the published labels," };

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
  const by = BY[analysis.rule];
  const counts = confusion(analysis.confidence[router], label, tau);
  const share = counts.llm / n;
  const more = `${madeBy(analysis)} A risk is a critical token that is left to the SLM.${
    analysis.routers.some(({ name }) => name === FREE) ? ` ${FREE} needs no training.` : ""
  }`;
  const rival = rivalOf(analysis, router);
  const at = `${router} at τ ${formatTau(tau)}`;
  if (!rival) return { lead: `${by} ${at} leaves ${risks(counts.risk)} at ${percent(share)} LLM tokens.`, more };
  const theirTau = tauForCount(analysis.confidence[rival], counts.llm);
  const theirs = confusion(analysis.confidence[rival], label, theirTau);
  const theirShare = theirs.llm / n;
  const where =
    Math.abs(theirShare - share) < NEAR
      ? `at the same share of LLM tokens: ${percent(share)}, as ${at} has.`
      : `at about the same share of LLM tokens: ${at} has ${percent(share)}, ${rival} ${percent(theirShare)}.`;
  if (counts.risk === theirs.risk)
    return { lead: `${by} ${router} and ${rival} leave ${risks(counts.risk)} each, ${where}`, more };
  const mine = { name: router, n: counts.risk };
  const other = { name: rival, n: theirs.risk };
  const [fewer, others] = mine.n < other.n ? [mine, other] : [other, mine];
  return { lead: `${by} ${fewer.name} leaves ${risks(fewer.n)}, ${others.name} ${others.n}, ${where}`, more };
}

/**
 * By which rule the labels were made, and which of them that makes critical.
 * @param {Analysis} analysis
 */
function madeBy({ rule, label, caseOf, n }) {
  /** @param {number} wanted */
  const labelled = (wanted) => label.reduce((sum, given) => sum + Number(given === wanted), 0);
  if (rule === "outcome")
    return (
      "Wherever the models write different tokens, both were tried, and the LLM went on alone: the answers decided. " +
      `${inDigits(labelled(0))} of ${plural(n, "token")} are critical: only the LLM's token led to the right answer. ` +
      `After ${inDigits(labelled(UNDECIDED))} neither did: they have no label and count as neither.`
    );
  /** @param {number} wanted */
  const criticalOf = (wanted) => label.reduce((sum, given, i) => sum + Number(given === 0 && caseOf[i] === wanted), 0);
  const [second, third] = [criticalOf(2), criticalOf(3)];
  return (
    "The labels are the shortcut's in cases 1 and 2, and in case 3 a rollout's of the SLM alone. " +
    `${inDigits(second + third)} of ${plural(n, "token")} are critical: ${inDigits(second)} of case 2, where only ` +
    `the LLM's token is that of the known solution (another often leads to the right answer too), and ` +
    `${inDigits(third)} of case 3, where neither model's is and the SLM, going on alone, came to no right answer.`
  );
}

/** @param {number} n */
const risks = (n) => (n === 1 ? "1 risk" : `${inDigits(n)} risks`);
