/**
 * By which rule a token of a right text is labelled: 1 the SLM may write it, 0 the LLM must, null it is left out.
 *
 * The first three are those of `citer_core/labelling/labels.py`. Pure.
 *
 * @typedef {1|0|null} Label
 * @typedef {Object} Rule
 * @property {(slm: number, llm: number, truth: number) => Label|undefined} known by both greedy tokens and
 *   the true one; undefined where it takes trying
 * @property {"slm"|"llm"|null} writer who goes on when it is tried: the SLM from the right text before the token, the
 *   LLM behind each of the two tokens
 * @property {(isSlmRight: boolean, isLlmRight: boolean) => Label} settle by how these texts end
 */

/** @param {number} slm @param {number} llm @param {number} truth */
const byCase = (slm, llm, truth) => (slm === truth ? 1 : llm === truth ? 0 : undefined);

/** @param {number} slm @param {number} llm */
const whereTheyAgree = (slm, llm) => (slm === llm ? 1 : undefined);

/** @type {Record<string, Rule>} */
export const RULES = {
  // The published labels without case 3, in which both tokens are wrong.
  shortcut: { known: (slm, llm, truth) => byCase(slm, llm, truth) ?? null, writer: null, settle: () => null },
  // The published labels.
  rollouts: { known: byCase, writer: "slm", settle: (isRight) => (isRight ? 1 : 0) },
  // The SLM wherever its token ends right, because it is cheaper.
  outcome: { known: whereTheyAgree, writer: "llm", settle: (slm, llm) => (slm ? 1 : llm ? 0 : null) },
  // The LLM wherever its token ends right.
  "outcome-llm": { known: whereTheyAgree, writer: "llm", settle: (slm, llm) => (llm ? 0 : slm ? 1 : null) },
  // The LLM wherever they differ, whatever comes of it.
  agreement: { known: (slm, llm) => whereTheyAgree(slm, llm) ?? 0, writer: null, settle: () => null },
};
