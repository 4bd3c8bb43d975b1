/**
 * Texts that one model goes on with by itself, greedily, one token of each in a pass; the mirror of
 * `greedy_completions` in `citer_core/models/batch.py`.
 *
 * Texts come and go at any time. Knows neither problems nor labels.
 *
 * @typedef {import("./text_rows.js").TextRow} TextRow
 * @typedef {import("./text_rows.js").TextRows} TextRows
 *
 * @typedef {Object} Beginning
 * @property {TextRow|null} row that holds the first `n` positions of the text
 * @property {number} n
 * @property {number[]} ids of the rest of it, at least one
 *
 * @typedef {{row: TextRow, news: number[], written: number[], most: number, end: (ids: number[]) => void}} Running
 */

export class Continuations {
  /** @type {Set<Running>} */
  #running = new Set();

  /**
   * @param {TextRows} rows
   * @param {{endIds: Set<number>, maxContext: number}} pair
   * @param {number} most tokens of a continuation
   */
  constructor(rows, { endIds, maxContext }, most) {
    this.rows = rows;
    this.endIds = endIds;
    this.maxContext = maxContext;
    this.most = most;
  }

  get size() {
    return this.#running.size;
  }

  /**
   * @param {Beginning} beginning with room for one token more
   * @param {(ids: number[]) => void} end takes the new tokens, the end of text included where it came
   */
  add({ row, n, ids }, end) {
    const most = Math.min(this.most, this.maxContext - n - ids.length);
    this.#running.add({ row: this.rows.open(row, n), news: ids, written: [], most, end });
  }

  /** One token of every text. @returns {Generator<undefined, void, any>} */
  *step() {
    const running = [...this.#running];
    yield* this.rows.read(
      running.map((one) => ({
        row: one.row,
        ids: one.news,
        nWanted: 1,
        take: ({ greedyId: id }) => (one.news = [id]),
      })),
    );
    for (const one of running) {
      one.written.push(...one.news);
      if (!this.endIds.has(one.news[0]) && one.written.length < one.most) continue;
      this.#running.delete(one);
      this.rows.close(one.row);
      one.end(one.written);
    }
  }

  /** Gives the rows back. */
  end() {
    for (const { row } of this.#running) this.rows.close(row);
    this.#running.clear();
  }
}
