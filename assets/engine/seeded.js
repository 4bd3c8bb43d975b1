/** Random numbers of a seed, many of them quickly (Mulberry32). What decides tokens is in `randomness.js`. Pure. */

/** @param {number} seed @returns {() => number} from 0 to 1 */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** In a random order. @template T @param {Iterable<T>} items @param {() => number} random */
export function shuffled(items, random) {
  const list = [...items];
  for (let i = list.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [list[i], list[other]] = [list[other], list[i]];
  }
  return list;
}
