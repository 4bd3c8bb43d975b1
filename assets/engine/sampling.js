/**
 * A token drawn from logits by the number of its position alone; the mirror of `citer_core/routing/sampling.py`.
 *
 * The number is Python's to the bit, the probabilities are to about 1e-6: so a token differs from Python's only where
 * the number falls that close to the border between two tokens. Tokens are sorted only as far as the draw needs. Pure.
 */

import { RequestProblem } from "./fork.js";
import { DIALS } from "../run/dials.js";
import { uniformAt } from "./randomness.js";

const ACTED_ON = [...DIALS, "max_new_tokens", "temperature", "top_p", "seed"];

/** @param {object} settings @throws {RequestProblem} one that does nothing here would change a run unseen */
export function refuseUnknownSettings(settings) {
  const other = Object.keys(settings).find((name) => !ACTED_ON.some((known) => known === name));
  if (other) throw new RequestProblem(`The browser's engine has no setting ${other}: leave it out.`);
}

/**
 * A heap of ids, the most probable on top, the lower id at a tie.
 * @param {Float64Array} probabilities
 */
function heapOf(probabilities) {
  let size = probabilities.length;
  const heap = new Int32Array(size);
  for (let id = 0; id < size; id++) heap[id] = id;
  /** @param {number} a @param {number} b */
  const isBefore = (a, b) => probabilities[a] > probabilities[b] || (probabilities[a] === probabilities[b] && a < b);
  /** @param {number} at */
  const sink = (at) => {
    for (;;) {
      let best = at;
      for (let child = 2 * at + 1; child <= 2 * at + 2; child++) {
        if (child < size && isBefore(heap[child], heap[best])) best = child;
      }
      if (best === at) return;
      const id = heap[at];
      heap[at] = heap[best];
      heap[best] = id;
      at = best;
    }
  };
  for (let at = (size >> 1) - 1; at >= 0; at--) sink(at);
  return () => {
    const id = heap[0];
    heap[0] = heap[--size];
    sink(0);
    return id;
  };
}

/**
 * @typedef {Object} Drawn
 * @property {number} id of the token
 * @property {number} rank of it, 0 for the most probable
 * @property {number} uniform the number of the position
 * @property {Float64Array} probabilities of all tokens at that temperature, by their ids
 * @property {number} nKept tokens that top-p keeps
 * @property {number} mass their probability
 * @property {number} low so much of it lies before the token
 */

/**
 * @param {Float32Array} logits
 * @param {Settings} settings a temperature above 0
 * @param {number} index position in the completion
 * @returns {Drawn}
 */
export function drawnAt(logits, settings, index) {
  const { temperature, top_p: topP, seed } = settings;
  const n = logits.length;
  const probabilities = new Float64Array(n);
  let top = -Infinity;
  for (let id = 0; id < n; id++) top = Math.max(top, logits[id] / temperature);
  let sum = 0;
  for (let id = 0; id < n; id++) {
    probabilities[id] = Math.exp(logits[id] / temperature - top);
    sum += probabilities[id];
  }
  for (let id = 0; id < n; id++) probabilities[id] /= sum;
  const next = heapOf(probabilities);
  const uniform = uniformAt(seed, index);
  // A nucleus is the shortest list that holds top_p of the mass: it has to be known before the draw within it.
  let mass = 1;
  /** @type {number[]} */
  const drawn = [];
  if (topP < 1) {
    for (mass = 0; mass < topP && drawn.length < n; mass += probabilities[drawn[drawn.length - 1]]) {
      drawn.push(next());
    }
  }
  const target = uniform * mass;
  const nKept = topP < 1 ? drawn.length : n;
  const idAt = (/** @type {number} */ rank) => (topP < 1 ? drawn[rank] : next());
  let [low, rank] = [0, 0];
  let id = idAt(0);
  while (low + probabilities[id] <= target && rank + 1 < nKept) {
    low += probabilities[id];
    id = idAt(++rank);
  }
  return { id, rank, uniform, probabilities, nKept, mass, low };
}
