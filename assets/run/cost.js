/**
 * Estimated cost of a step: bytes moved, floating-point operations, roofline seconds.
 *
 * Pure arithmetic: must not know the DOM or a run as a whole. An exact mirror of `citer_core/cost.py`; a parity test
 * holds the two together, so change both or neither.
 *
 * @typedef {Object} ModelSpec fields as in `citer_core.cost.ModelSpec`
 * @property {string} name
 * @property {number} n_params
 * @property {number} n_layers
 * @property {number} n_heads
 * @property {number} n_kv_heads
 * @property {number} head_dim
 * @property {number} vocab_size
 * @property {number} hidden_size
 * @property {boolean} tied_embeddings
 * @property {number} bytes_per_element
 * @property {number|null} [block_bits]
 *
 * @typedef {Object} DeviceSpec
 * @property {string} name
 * @property {number} bandwidth bytes/s
 * @property {number} peak_flops FLOP/s
 * @property {number|null} [memory_bytes] what fits it, where that is known
 * @typedef {{bytes: number, flops: number, seconds: number}} Cost
 */

/** @type {DeviceSpec} used where a page names no device: peak figures of the vendor's data sheet */
export const H100_SXM = {
  name: "H100 SXM (data sheet)",
  bandwidth: 3.35e12,
  peak_flops: 989e12,
  memory_bytes: 80e9,
};

/** Bytes of all weights, as they lie in memory. @param {ModelSpec} model */
export function storedBytes(model) {
  if (model.block_bits == null) return model.n_params * model.bytes_per_element;
  const tables = (model.tied_embeddings ? 1 : 2) * model.vocab_size * model.hidden_size;
  return tables * model.bytes_per_element + Math.round(((model.n_params - tables) * model.block_bits) / 8);
}

/**
 * Whether both models' weights fit a device, said only where they do not: a price on it is on paper then.
 * @param {ModelSpec} slm
 * @param {ModelSpec} llm
 * @param {DeviceSpec} device
 */
export function fitWords(slm, llm, device) {
  const needed = storedBytes(slm) + storedBytes(llm);
  if (!device.memory_bytes || needed <= device.memory_bytes) return "";
  /** @param {number} bytes */
  const gb = (bytes) => (bytes / 1e9).toFixed(0);
  const n = Math.ceil(needed / device.memory_bytes);
  return (
    `Does not fit one ${device.name}: the weights take ${gb(needed)} GB, it has ${gb(device.memory_bytes)} GB. ` +
    `At least ${n} are needed; the seconds are those of one that held it all.`
  );
}

/**
 * Bytes of weights that one forward streams: an untied input table is gathered from, not streamed.
 * @param {ModelSpec} model
 */
export function weightBytes(model) {
  const table = model.vocab_size * model.hidden_size;
  const streamed = model.tied_embeddings ? model.n_params : model.n_params - table;
  if (model.block_bits == null) return streamed * model.bytes_per_element;
  return table * model.bytes_per_element + Math.round(((streamed - table) * model.block_bits) / 8);
}

/** Bytes of keys and values that one token adds to the cache. @param {ModelSpec} model */
export function kvBytesPerToken(model) {
  return 2 * model.n_layers * model.n_kv_heads * model.head_dim * model.bytes_per_element;
}

/**
 * Bytes of one forward: weights once, KV of the cached tokens read, KV of the new ones written.
 * @param {ModelSpec} model
 * @param {number} nNew
 * @param {number} nCached
 */
export function forwardBytes(model, nNew, nCached) {
  return weightBytes(model) + kvBytesPerToken(model) * (nCached + nNew);
}

/**
 * Operations of that forward: two per parameter and token, plus attention over the context.
 * @param {ModelSpec} model
 * @param {number} nNew
 * @param {number} nCached
 */
export function forwardFlops(model, nNew, nCached) {
  const attention = 4 * model.n_layers * model.n_heads * model.head_dim * nNew * (nCached + nNew / 2);
  return 2 * model.n_params * nNew + attention;
}

/** @type {Readonly<Cost>} */
const NOTHING = Object.freeze({ bytes: 0, flops: 0, seconds: 0 });

/**
 * @param {Cost} a
 * @param {Cost} b
 * @returns {Cost}
 */
function addCosts(a, b) {
  return { bytes: a.bytes + b.bytes, flops: a.flops + b.flops, seconds: a.seconds + b.seconds };
}

/** Prompt and completion tokens that the LLM had read after its forward here. @param {TokenEvent} event */
export const llmContext = (event) => event.context_len + Math.max(0, (event.discarded?.length ?? 0) - 1);

/** Prices events for a pair, a router and a device. */
export class CostModel {
  /**
   * @param {{slm: ModelSpec, llm: ModelSpec, device: DeviceSpec, routerParams?: number, routerBytesPerParam?: number}}
   *   spec
   */
  constructor({ slm, llm, device, routerParams = 0, routerBytesPerParam = 4 }) {
    this.slm = slm;
    this.llm = llm;
    this.device = device;
    this.routerParams = routerParams;
    this.routerBytesPerParam = routerBytesPerParam;
  }

  /**
   * @param {number} bytes
   * @param {number} flops
   * @returns {Cost}
   */
  #forward(bytes, flops) {
    const { bandwidth, peak_flops: peakFlops } = this.device;
    return { bytes, flops, seconds: Math.max(bytes / bandwidth, flops / peakFlops) };
  }

  /**
   * One forward of one model; nothing at all where it reads no token.
   * @param {ModelSpec} model
   * @param {number} nNew
   * @param {number} nCached
   */
  modelForward(model, nNew, nCached) {
    if (nNew === 0) return NOTHING;
    return this.#forward(forwardBytes(model, nNew, nCached), forwardFlops(model, nNew, nCached));
  }

  routerStep() {
    return this.#forward(this.routerParams * this.routerBytesPerParam, 2 * this.routerParams);
  }

  /**
   * The parts of a routed step, those that were taken back included; `llmFed` replaces the recorded number in a replay.
   * @param {TokenEvent} event
   */
  parts(event, llmFed = event.llm_tokens_fed) {
    let slm = this.modelForward(this.slm, event.slm_tokens_fed, event.context_len - event.slm_tokens_fed);
    let router = this.routerStep();
    for (let further = 1; further < (event.discarded?.length ?? 0); further++) {
      slm = addCosts(slm, this.modelForward(this.slm, 1, event.context_len + further - 1));
      router = addCosts(router, this.routerStep());
    }
    return { slm, router, llm: this.modelForward(this.llm, llmFed, llmContext(event) - llmFed) };
  }

  /** Bytes of the SLM and the router for tokens that were taken back. @param {TokenEvent} event */
  spentOnGone({ context_len: context, discarded = [] }) {
    return discarded.reduce(
      (sum, _, place) => sum + this.modelForward(this.slm, 1, context + place - 1).bytes + this.routerStep().bytes,
      0,
    );
  }

  /** The routed step: SLM and router always, the LLM where it was called. @param {TokenEvent} event */
  step(event, llmFed = event.llm_tokens_fed) {
    const { slm, router, llm } = this.parts(event, llmFed);
    return addCosts(addCosts(slm, router), llm);
  }

  /**
   * What the step would cost if `model` wrote the whole text by itself, without a router.
   * @param {ModelSpec} model
   * @param {TokenEvent} event
   */
  alone(model, event) {
    const nNew = event.index === 0 ? event.context_len : 1;
    return this.modelForward(model, nNew, event.context_len - nNew);
  }
}
