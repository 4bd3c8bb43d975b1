/**
 * `Reader`, the mirror of `citer_core/models/reader.py` for one text: one model and what it has read.
 *
 * Of another text it keeps what is the same, and reads the rest in one pass.
 *
 * Unlike a run on the server, which begins with an empty cache, the next run or branch finds what the one before has
 * read. That changes no number: a position's state is the same to the bit whatever it was read with. What a run would
 * have had to read by itself is counted by `decode.js`.
 *
 * @typedef {import("./fused_decoder.js").FusedDecoder} FusedDecoder
 * @typedef {import("./distribution.js").Distribution} Distribution
 */

/** @param {number[]} a @param {number[]} b */
function sameStart(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

export class Reader {
  /** @param {FusedDecoder} decoder @param {Distribution} distribution of its logits */
  constructor(decoder, distribution) {
    this.decoder = decoder;
    this.distribution = distribution;
    this.cache = decoder.newCache();
    /** @type {number[]} what is cached */
    this.ids = [];
    /** Place of the normed state behind the last token that `readEach` stopped at. */
    this.state = decoder.at.normed;
  }

  /**
   * Reads a text, the last token of it anew at least: its state is at `decoder.at.normed` then.
   * @param {number[]} ids
   * @returns {boolean} false where the logits are not numbers
   */
  read(ids) {
    this.#keep(Math.min(sameStart(this.ids, ids), ids.length - 1));
    this.decoder.read(ids.slice(this.ids.length), this.cache);
    this.ids = ids.slice();
    return this.distribution.update();
  }

  /**
   * Reads a text and stops after each of its last tokens.
   * @param {number[]} ids
   * @param {number} [n] of them; all are read anew then
   * @returns {Generator<boolean, void, void>} whether the logits are numbers
   */
  *readEach(ids, n = ids.length) {
    const first = ids.length - n;
    this.#keep(Math.min(sameStart(this.ids, ids), first));
    if (this.ids.length < first) this.decoder.read(ids.slice(this.ids.length, first), this.cache);
    const reading = this.decoder.readEach(ids.slice(first), this.cache);
    try {
      for (const state of reading) {
        this.state = state;
        yield this.distribution.update();
      }
    } finally {
      this.ids = ids.slice(0, this.cache.length);
    }
  }

  /** @param {number} n tokens that stay */
  #keep(n) {
    this.ids.length = n;
    this.cache.rewind(n);
  }
}
