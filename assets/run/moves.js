/**
 * Which token a key leads to. Pure: must not know the DOM; viewer.js pins what it says.
 */

import { findStop } from "./navigate.js";

/** @typedef {import("./navigate.js").StopKind} StopKind */

/** @type {Record<string, [StopKind, 1|-1]>} */
const JUMPS = {
  nextLlm: ["llm", 1],
  previousLlm: ["llm", -1],
  nextDecisive: ["decisive", 1],
  previousDecisive: ["decisive", -1],
  nextHandOff: ["handOff", 1],
  previousHandOff: ["handOff", -1],
  nextLow: ["low", 1],
  previousLow: ["low", -1],
};

/**
 * @param {RunView} view
 * @param {string} action
 * @param {number|null} focused the token that has the keyboard, where none is pinned
 * @returns {number|null} null where there is nowhere to go
 */
export function targetOf(view, action, focused) {
  const last = view.shown - 1;
  const isPinned = view.pinned !== null;
  const here = view.pinned ?? focused;
  if (action in JUMPS) {
    const [kind, step] = JUMPS[action];
    return stopFrom(view, kind, step, here, isPinned);
  }
  /** @type {Record<string, () => number>} */
  const moves = {
    pin: () => here ?? 0,
    next: () => (isPinned ? Math.min(last, (here ?? 0) + 1) : (here ?? 0)),
    previous: () => (isPinned ? Math.max(0, (here ?? 0) - 1) : (here ?? 0)),
    first: () => 0,
    last: () => last,
  };
  return moves[action]?.() ?? null;
}

/**
 * The next stop from where the reader is; a token that merely has the focus may itself be it.
 * @param {RunView} view
 * @param {StopKind} kind
 * @param {1|-1} step
 * @param {number|null} here
 * @param {boolean} isPinned
 */
export function stopFrom(view, kind, step, here, isPinned) {
  if (step > 0) return findStop(view, kind, (here ?? 0) - (isPinned ? 0 : 1), 1, view.shown);
  return findStop(view, kind, here ?? view.shown, -1, view.shown);
}
