/**
 * Texts that one model reads side by side: what is new of each goes into one pass over the weights.
 *
 * A row's numbers are the same to the bit as if its text were read alone. Caches begin small, grow with their texts and
 * are used again. Knows neither problems nor routers.
 *
 * @typedef {import("./reader.js").Reader} Reader
 * @typedef {import("./kv_cache.js").KeyValueCache} KeyValueCache
 * @typedef {{cache: KeyValueCache}} TextRow a text as far as it was read
 *
 * @typedef {Object} Told what the model says behind one token, good until it returns
 * @property {number} place of the token in what was new
 * @property {number} hidden place of the state
 * @property {number} greedyId of the next token, the lowest at a tie
 * @property {import("./distribution.js").Distribution} distribution of it, after `update`
 *
 * @typedef {Object} News
 * @property {TextRow} row
 * @property {number[]} ids at least one, behind what was read
 * @property {number} nWanted so many of the last of them are told, in their order
 * @property {(told: Told) => void} take
 */

import { checkSound } from "./decode.js";
import { Distribution } from "./distribution.js";
import { MOST_AT_ONCE } from "./fused_decoder.js";
import { roundedUp } from "./kernel.js";
import { PANEL } from "./product_code.js";

const FEWEST_POSITIONS = 128; // of a cache; the next ones have twice as many

export class TextRows {
  /** Caches that no text has, by their capacity. @type {Map<number, KeyValueCache[]>} */
  #free = new Map();

  /** @param {Reader} model @param {string} name for the error of a model whose logits are no numbers */
  constructor({ decoder, distribution }, name) {
    this.decoder = decoder;
    this.name = name;
    this.size = distribution.size;
    this.stride = roundedUp(decoder.config.vocabSize, PANEL);
    this.logits = decoder.kernel.alloc(MOST_AT_ONCE * this.stride);
    this.distribution = new Distribution(decoder.kernel, this.logits, this.size);
  }

  /**
   * A text that begins as another one does.
   * @param {TextRow|null} [other] @param {number} [n] so many positions of it
   * @returns {TextRow}
   */
  open(other = null, n = 0) {
    const cache = this.#emptyCache(n + 1);
    if (other) this.#copy(other.cache, cache, n);
    return { cache };
  }

  /** @param {TextRow} row that nobody needs any more */
  close({ cache }) {
    this.#free.get(cache.capacity)?.push(cache);
  }

  /** @param {number} nPositions that it has room for, at least */
  #emptyCache(nPositions) {
    let capacity = FEWEST_POSITIONS;
    while (capacity < nPositions) capacity *= 2;
    const free = this.#free.get(capacity) ?? [];
    this.#free.set(capacity, free);
    const cache = free.pop() ?? this.decoder.newCache(capacity);
    cache.rewind(0);
    return cache;
  }

  /** @param {TextRow} row @param {number} nPositions */
  #makeRoom(row, nPositions) {
    const { cache } = row;
    if (nPositions <= cache.capacity) return;
    row.cache = this.#emptyCache(nPositions);
    this.#copy(cache, row.cache, cache.length);
    this.close({ cache });
  }

  /** The first n positions of a text, in panels as they lie. @param {KeyValueCache} from @param {KeyValueCache} to */
  #copy(from, to, /** @type {number} */ n) {
    const { kernel, config } = this.decoder;
    const { nKv, dim } = config.heads;
    for (let head = 0; head < config.nLayers * nKv; head++) {
      const [source, target] = [from, to].map((cache) => cache.placeOf(0, head));
      kernel.floats.copyWithin(target, source, source + roundedUp(n, PANEL) * dim);
      for (let panel = 0; panel < dim / PANEL; panel++) {
        const values = source + from.perHead + panel * from.capacity * PANEL;
        kernel.floats.copyWithin(target + to.perHead + panel * to.capacity * PANEL, values, values + n * PANEL);
      }
    }
    to.length = n;
  }

  /**
   * Reads what is new of some texts; pauses after each pass over the weights.
   * @param {News[]} news
   * @returns {Generator<undefined, void, any>}
   * @throws {import("./decode.js").NotANumberProblem}
   */
  *read(news) {
    const tokens = news.flatMap((one) => one.ids.map((_, place) => ({ one, place })));
    for (const { row, ids } of news) this.#makeRoom(row, row.cache.length + ids.length);
    for (let start = 0; start < tokens.length; start += MOST_AT_ONCE) {
      this.#pass(tokens.slice(start, start + MOST_AT_ONCE));
      yield;
    }
  }

  /** @param {{one: News, place: number}[]} tokens */
  #pass(tokens) {
    const { decoder, distribution, logits, stride } = this;
    const { kernel, config, head, at } = decoder;
    const ids = tokens.map(({ one, place }) => one.ids[place]);
    const caches = tokens.map(({ one }) => one.row.cache);
    const told = tokens.filter(({ one, place }) => place >= one.ids.length - one.nWanted);
    decoder.pass(
      ids,
      caches,
      told.map((token) => tokens.indexOf(token)),
    );
    if (!told.length) return;
    kernel.multiply(at.normed, config.hiddenSize, head, logits, stride, told.length, false);
    for (const [i, { one, place }] of told.entries()) {
      distribution.logits = logits + i * stride;
      one.take({ place, hidden: at.normed + i * config.hiddenSize, greedyId: this.#greedyId(), distribution });
    }
  }

  #greedyId() {
    const { floats } = this.decoder.kernel;
    const first = this.distribution.logits;
    let best = first;
    for (let at = first + 1; at < first + this.size; at++) if (floats[at] > floats[best]) best = at;
    checkSound(Number.isFinite(floats[best]), this.name);
    return best - first;
  }
}
