/** Finds the final answer in `\boxed{}`; the mirror of `citer_core/tasks/boxed.py`. Pure. */

import { SPACE, stripped } from "./plain_text.js";

const MARK = new RegExp(`(\\\\+)(?:boxed${SPACE}*(\\{))?|[{}]`, "gu");

/**
 * The content of the last balanced `\boxed{}` with something in it; of two in each other the inner one.
 * @param {string} text
 * @returns {string|null}
 */
export function lastBoxed(text) {
  /** @type {{start: number, content: string}|null} */
  let found = null;
  /** @type {(number|null)[]} of each open brace: where its content begins, if it is a box's */
  const starts = [];
  MARK.lastIndex = 0;
  for (let match = MARK.exec(text); match; match = MARK.exec(text)) {
    const [mark, escape, box] = match;
    if (box) starts.push(MARK.lastIndex);
    // Pairs of backslashes escape each other, the odd one what follows.
    else if (escape) MARK.lastIndex += escape.length % 2;
    else if (mark === "{") starts.push(null);
    else if (starts.length) {
      const start = starts.pop() ?? null;
      if (start === null || (found && found.start > start)) continue;
      const content = stripped(text.slice(start, match.index));
      if (content) found = { start, content };
    }
  }
  return found && found.content;
}
