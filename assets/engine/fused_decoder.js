/**
 * The forward pass of a Llama-shaped model: ids in, the last hidden state and the logits out.
 *
 * The same mathematics as `citer_core/models/fused_decoder.py`, in float32. Several new positions are read in one pass
 * over the weights, and each comes out the same to the bit as if it had been read alone. Knows nothing about routing.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 * @typedef {import("./kernel.js").Matrix} Matrix
 * @typedef {import("./safetensors.js").FileTensor} FileTensor
 * @typedef {import("./model_config.js").ModelConfig} ModelConfig
 * @typedef {{attentionNorm: number, qkv: Matrix, qkvBias: number|null, out: Matrix, mlpNorm: number, gateUp: Matrix,
 *   down: Matrix}} Block norms and biases are places
 */

import { roundedUp } from "./kernel.js";
import { PANEL } from "./product_code.js";
import { KeyValueCache } from "./kv_cache.js";
import { copyRow, putMatrix } from "./matrices.js";
import { ModelFileProblem, floatsOf } from "./safetensors.js";

/**
 * Rotary positions: queries and keys are turned by angles that grow with the position. Angles are rounded to float32
 * where torch rounds them: at position 1,000 that is a difference of 1e-5.
 */
class RotaryTables {
  /** @param {number} dim numbers of a head @param {number} theta @param {number} nPositions */
  constructor(dim, theta, nPositions) {
    this.half = dim / 2;
    this.cos = new Float32Array(nPositions * this.half);
    this.sin = new Float32Array(nPositions * this.half);
    const { fround } = Math;
    for (let i = 0; i < this.half; i++) {
      const frequency = fround(1 / fround(theta ** fround((2 * i) / dim)));
      for (let position = 0; position < nPositions; position++) {
        const angle = fround(position * frequency);
        this.cos[position * this.half + i] = Math.cos(angle);
        this.sin[position * this.half + i] = Math.sin(angle);
      }
    }
  }

  /**
   * Turns heads that lie side by side.
   * @param {Float32Array} floats @param {number} at place of the first @param {number} nHeads @param {number} position
   */
  turn(floats, at, nHeads, position) {
    const { half, cos, sin } = this;
    const angle = position * half;
    for (let head = at; head < at + 2 * half * nHeads; head += 2 * half) {
      for (let i = 0; i < half; i++) {
        const [c, s] = [cos[angle + i], sin[angle + i]];
        const [a, b] = [floats[head + i], floats[head + half + i]];
        floats[head + i] = a * c - b * s;
        floats[head + half + i] = b * c + a * s;
      }
    }
  }
}

export const MOST_AT_ONCE = 64; // positions in one pass: longer texts are read in parts; their rows stay in the cache

export class FusedDecoder {
  /**
   * @param {Kernel} kernel
   * @param {ModelConfig} config
   * @param {Map<string, FileTensor>} tensors the whole file's
   * @param {string} name of the file, for messages
   * @throws {ModelFileProblem} a tensor is missing, of another shape, or one too many
   */
  constructor(kernel, config, tensors, name) {
    this.kernel = kernel;
    this.config = config;
    const { hiddenSize, innerSize, nLayers, heads, vocabSize, maxContext } = config;
    const left = new Set(tensors.keys());
    /** @param {string} key @param {number[]} shape @returns {FileTensor} */
    const take = (key, ...shape) => {
      const tensor = tensors.get(key);
      if (!left.delete(key) || !tensor || tensor.shape.join() !== shape.join()) {
        throw new ModelFileProblem(`${name} does not fit its configuration: ${key} must be ${shape.join(" x ")}.`);
      }
      return tensor;
    };
    /** @param {string} key */
    const norm = (key) => kernel.put(floatsOf(take(key, hiddenSize)));
    const [nQ, nKv] = [heads.nQ * heads.dim, heads.nKv * heads.dim];

    /** @param {number} layer @returns {Block} */
    const block = (layer) => {
      const own = `model.layers.${layer}.`;
      const projections = [...Object.entries({ q: nQ, k: nKv, v: nKv })].map(([which, n]) => ({
        weight: take(`${own}self_attn.${which}_proj.weight`, n, hiddenSize),
        bias: left.has(`${own}self_attn.${which}_proj.bias`) ? take(`${own}self_attn.${which}_proj.bias`, n) : null,
      }));
      const biases = projections.flatMap(({ bias }) => (bias ? [...floatsOf(bias)] : []));
      return {
        attentionNorm: norm(`${own}input_layernorm.weight`),
        qkv: putMatrix(
          kernel,
          projections.map(({ weight }) => weight),
        ),
        qkvBias: biases.length ? kernel.put(biases) : null,
        out: putMatrix(kernel, [take(`${own}self_attn.o_proj.weight`, hiddenSize, nQ)]),
        mlpNorm: norm(`${own}post_attention_layernorm.weight`),
        gateUp: putMatrix(
          kernel,
          ["gate", "up"].map((which) => take(`${own}mlp.${which}_proj.weight`, innerSize, hiddenSize)),
        ),
        down: putMatrix(kernel, [take(`${own}mlp.down_proj.weight`, hiddenSize, innerSize)]),
      };
    };

    this.embedding = putMatrix(kernel, [take("model.embed_tokens.weight", vocabSize, hiddenSize)]);
    this.blocks = Array.from({ length: nLayers }, (_, layer) => block(layer));
    this.norm = norm("model.norm.weight");
    this.head = config.isTied ? this.embedding : putMatrix(kernel, [take("lm_head.weight", vocabSize, hiddenSize)]);
    if (left.size) throw new ModelFileProblem(`${name} holds ${[...left][0]}, which the browser does not compute.`);

    this.rotary = new RotaryTables(heads.dim, config.ropeTheta, maxContext);
    this.width = { qkv: nQ + 2 * nKv, gateUp: 2 * innerSize, mixed: nQ };
    const rows = (/** @type {number} */ width) => kernel.alloc(MOST_AT_ONCE * width + PANEL);
    this.at = {
      hidden: rows(hiddenSize),
      normed: rows(hiddenSize),
      qkv: rows(this.width.qkv),
      mixed: rows(nQ),
      gateUp: rows(this.width.gateUp),
      logits: kernel.alloc(roundedUp(vocabSize, PANEL)),
    };
  }

  /** An empty cache for a text. @param {number} [capacity] positions */
  newCache(capacity = this.config.maxContext) {
    const { nLayers, heads } = this.config;
    return new KeyValueCache(this.kernel, nLayers, heads, capacity);
  }

  /**
   * Reads tokens behind what is cached; then the last one's state is at `at.normed` and its logits are at `at.logits`.
   * @param {number[]} ids at least one
   * @param {KeyValueCache} cache of the tokens before them, extended
   */
  read(ids, cache) {
    for (let start = 0; start < ids.length; start += MOST_AT_ONCE) {
      const part = ids.slice(start, start + MOST_AT_ONCE);
      this.pass(
        part,
        part.map(() => cache),
        start + part.length === ids.length ? [part.length - 1] : [],
      );
    }
    this.#logits(this.at.normed);
  }

  /**
   * Reads tokens, and stops at each when its logits are at `at.logits`.
   * @param {number[]} ids @param {KeyValueCache} cache
   * @returns {Generator<number, void, void>} places of the normed states
   */
  *readEach(ids, cache) {
    for (let start = 0; start < ids.length; start += MOST_AT_ONCE) {
      const part = ids.slice(start, start + MOST_AT_ONCE);
      this.pass(
        part,
        part.map(() => cache),
        [...part.keys()],
      );
      for (let row = 0; row < part.length; row++) {
        const state = this.at.normed + row * this.config.hiddenSize;
        this.#logits(state);
        yield state;
      }
    }
  }

  /** @param {number} state place of a normed hidden state */
  #logits(state) {
    this.kernel.multiply(state, this.config.hiddenSize, this.head, this.at.logits, this.config.vocabSize, 1, false);
  }

  /**
   * All blocks over a few new positions, of one text or of several: the weights are read once for all.
   * @param {number[]} ids at most `MOST_AT_ONCE`
   * @param {KeyValueCache[]} caches of each one's text, extended
   * @param {number[]} wanted whose states are wanted, in this order at `at.normed`; rising. Behind the last block's
   *   attention only these are computed, because the others' keys and values are in the cache by then
   */
  pass(ids, caches, wanted) {
    const { kernel, at, width, config } = this;
    const { hiddenSize, innerSize, heads } = config;
    const places = caches.map((cache) => cache.length++);
    ids.forEach((id, row) => copyRow(kernel, this.embedding, id, at.hidden + row * hiddenSize));
    let rows = [...ids.keys()];
    for (const [layer, block] of this.blocks.entries()) {
      const bias = block.qkvBias;
      for (const row of rows) {
        this.#rmsNorm(row, block.attentionNorm);
        if (bias !== null) kernel.floats.copyWithin(at.qkv + row * width.qkv, bias, bias + width.qkv);
      }
      kernel.multiply(at.normed, hiddenSize, block.qkv, at.qkv, width.qkv, rows.length, bias !== null);
      for (const row of rows) {
        const qkv = at.qkv + row * width.qkv;
        this.rotary.turn(kernel.floats, qkv, heads.nQ + heads.nKv, places[row]);
        caches[row].write(layer, places[row], qkv + heads.nQ * heads.dim);
      }
      if (layer === this.blocks.length - 1) rows = wanted;
      const left = rows.length;
      if (left === 0) break;
      for (const [to, row] of rows.entries()) {
        caches[row].mix(layer, places[row], at.qkv + row * width.qkv, at.mixed + to * width.mixed);
        const hidden = at.hidden + row * hiddenSize;
        kernel.floats.copyWithin(at.hidden + to * hiddenSize, hidden, hidden + hiddenSize);
      }
      kernel.multiply(at.mixed, width.mixed, block.out, at.hidden, hiddenSize, left, true);
      for (const row of rows.keys()) this.#rmsNorm(row, block.mlpNorm);
      kernel.multiply(at.normed, hiddenSize, block.gateUp, at.gateUp, width.gateUp, left, false);
      for (const row of rows.keys()) {
        const gate = at.gateUp + row * width.gateUp;
        kernel.gate(gate, gate + innerSize, innerSize);
      }
      kernel.multiply(at.gateUp, width.gateUp, block.down, at.hidden, hiddenSize, left, true);
    }
    for (const row of wanted.keys()) this.#rmsNorm(row, this.norm);
  }

  /** normed[row] = hidden[row] over its root mean square, weighted. @param {number} row @param {number} weight place */
  #rmsNorm(row, weight) {
    const { floats } = this.kernel;
    const { hiddenSize, eps } = this.config;
    const x = this.at.hidden + row * hiddenSize;
    const y = this.at.normed + row * hiddenSize;
    let squares = 0;
    for (let i = 0; i < hiddenSize; i++) squares += floats[x + i] * floats[x + i];
    const scale = 1 / Math.sqrt(squares / hiddenSize + eps);
    for (let i = 0; i < hiddenSize; i++) floats[y + i] = floats[x + i] * scale * floats[weight + i];
  }
}
