/**
 * Which tokens of two runs differ, and the name of a run by its content.
 *
 * Pure: must not know the DOM. The longest common subsequence where it is affordable, else place by place.
 */

const MOST_CELLS = 4_000_000;

/**
 * Tokens of `ours` and `theirs` (ids) that the other does not have in this order, 1 each.
 * @param {number[]} ours @param {number[]} theirs
 * @returns {{ours: Uint8Array, theirs: Uint8Array}}
 */
export function diffTokens(ours, theirs) {
  const changed = { ours: new Uint8Array(ours.length), theirs: new Uint8Array(theirs.length) };
  let start = 0;
  while (start < ours.length && start < theirs.length && ours[start] === theirs[start]) start++;
  let a = ours.length;
  let b = theirs.length;
  while (a > start && b > start && ours[a - 1] === theirs[b - 1]) {
    a--;
    b--;
  }
  const n = a - start;
  const m = b - start;
  if (n * m > MOST_CELLS) {
    for (let i = start; i < a; i++) changed.ours[i] = Number(ours[i] !== theirs[i]);
    for (let i = start; i < b; i++) changed.theirs[i] = Number(ours[i] !== theirs[i]);
    return changed;
  }
  // lengths[i][j]: the longest common subsequence of what is left from i and from j on.
  const width = m + 1;
  const lengths = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      lengths[i * width + j] =
        ours[start + i] === theirs[start + j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && ours[start + i] === theirs[start + j]) {
      i++;
      j++;
    } else if (j >= m || (i < n && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]))
      changed.ours[start + i++] = 1;
    else changed.theirs[start + j++] = 1;
  }
  return changed;
}

/**
 * 16 hex digits that name a run by its prompt, tokens and writers; `RoutingTrace.key` in Python is the same.
 * @param {Trace} trace
 */
export function traceKey(trace) {
  const text = `${trace.prompt.text}\n${trace.events.map((event) => event.source + event.token_id).join(" ")}`;
  // FNV-1a of 64 bits in four parts of 16: BigInt would take a hundred times as long.
  let a = 0xcbf2;
  let b = 0x9ce4;
  let c = 0x8422;
  let d = 0x2325;
  for (const byte of new TextEncoder().encode(text)) {
    d ^= byte;
    // Times 0x100000001b3, which is 2^40 + 0x1b3.
    const d1 = d * 0x1b3;
    const c1 = c * 0x1b3 + (d1 >>> 16);
    const b1 = b * 0x1b3 + (c1 >>> 16) + ((d << 8) & 0xffff);
    const a1 = a * 0x1b3 + (b1 >>> 16) + ((c << 8) & 0xffff) + (d >>> 8);
    a = a1 & 0xffff;
    b = b1 & 0xffff;
    c = c1 & 0xffff;
    d = d1 & 0xffff;
  }
  return [a, b, c, d].map((part) => part.toString(16).padStart(4, "0")).join("");
}
