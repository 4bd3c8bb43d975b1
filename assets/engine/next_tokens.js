/**
 * What both models may write at one position, and how a draw went; the mirror of `citer_core/routing/next_tokens.py`.
 *
 * Asked about a finished run, so it is no part of the run and of its cost.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./reader.js").Reader} Reader
 */

import { readSoundly } from "./decode.js";
import { checkIds } from "./probe.js";
import { drawnAt } from "./sampling.js";

const N_SHOWN = 20;

/**
 * @param {BrowserPair} pair @param {NextRequest} asked as the server is asked too
 * @returns {NextTokens}
 * @throws {import("./fork.js").RequestProblem|import("./decode.js").NotANumberProblem}
 */
export function nextTokens(pair, { prompt, token_ids: writtenIds, settings, text = "" }) {
  const { tokenizer, textOf } = pair;
  const ids = [...tokenizer.encode(prompt.text), ...writtenIds];
  checkIds(pair, ids, ids.slice(-1));
  readSoundly(pair.slm, "SLM", ids);
  readSoundly(pair.llm, "LLM", ids);
  const [slm, llm] = [pair.slm, pair.llm].map((model) => offerOf(model, settings, writtenIds.length, textOf));
  const typed = tokenizer.encode(text);
  return { slm, llm, typed: typed.length ? [typed[0], textOf(typed[0])] : null, n_typed: typed.length };
}

/**
 * @param {Reader} model that has read the text @param {Settings} settings @param {number} index
 * @param {(id: number) => string} textOf
 * @returns {Offer}
 */
function offerOf({ distribution }, settings, index, textOf) {
  const top = distribution.candidates(textOf, N_SHOWN);
  if (settings.temperature === 0) return { top, draw: null };
  const { id, rank, uniform, probabilities, nKept, mass, low } = drawnAt(distribution.values(), settings, index);
  const chance = (/** @type {number} */ one) => probabilities[one] / mass;
  return {
    top,
    draw: {
      number: uniform,
      probabilities: top.map(([one], place) => (place < nKept ? chance(one) : 0)),
      n_kept: nKept,
      kept: mass,
      token: [id, textOf(id), chance(id)],
      rank,
      low: low / mass,
    },
  };
}
