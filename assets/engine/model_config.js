/**
 * What a model's `config.json` says, as far as the forward pass depends on it; refuses what it does not compute.
 *
 * Pure. The same shapes as `citer_core/models/fused_decoder.py`, with plain rotary positions only.
 *
 * @typedef {Object} ModelConfig
 * @property {number} hiddenSize
 * @property {number} innerSize of the MLP
 * @property {number} nLayers
 * @property {import("./kv_cache.js").Heads} heads
 * @property {number} vocabSize rows of the embedding
 * @property {number} maxContext positions
 * @property {number} eps of the norms
 * @property {number} ropeTheta
 * @property {boolean} isTied the head is the embedding
 */

import { PANEL } from "./product_code.js";
import { ModelFileProblem } from "./safetensors.js";

const ARCHITECTURES = ["Qwen2ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM"];

/**
 * @param {any} config the document
 * @param {string} name of the file, for messages
 * @returns {ModelConfig}
 * @throws {ModelFileProblem}
 */
export function readModelConfig(config, name) {
  /** @param {boolean} fits @param {string} what */
  const need = (fits, what) => {
    if (!fits) {
      throw new ModelFileProblem(`${name} describes a model that the browser does not compute: it needs ${what}.`);
    }
  };
  /** @param {string} key @param {number} [otherwise] @returns {number} */
  const size = (key, otherwise) => {
    const value = config[key] ?? otherwise;
    need(Number.isInteger(value) && value > 0, `a whole number above 0 as ${key}`);
    return value;
  };
  need(ARCHITECTURES.includes(config?.architectures?.[0]), `one of ${ARCHITECTURES.join(", ")}`);
  need(config.hidden_act === "silu", "silu in its MLP");
  const kinds = config.layer_types ?? [];
  need(
    kinds.every((/** @type {string} */ kind) => kind === "full_attention"),
    "full attention in every layer",
  );
  need(config.layer_types != null || config.sliding_window == null, "attention without a window");
  const rope = config.rope_parameters ?? { rope_theta: config.rope_theta, rope_type: config.rope_scaling?.rope_type };
  need((rope.rope_type ?? "default") === "default", "plain rotary positions");
  const nQ = size("num_attention_heads");
  const heads = {
    nQ,
    nKv: size("num_key_value_heads", nQ),
    dim: size("head_dim", size("hidden_size") / nQ),
  };
  need(heads.dim % PANEL === 0 && nQ % heads.nKv === 0, `heads of a multiple of ${PANEL} numbers`);
  for (const key of ["hidden_size", "intermediate_size"]) {
    need(size(key) % PANEL === 0, `a multiple of ${PANEL} as ${key}`);
  }
  return {
    hiddenSize: size("hidden_size"),
    innerSize: size("intermediate_size"),
    nLayers: size("num_hidden_layers"),
    heads,
    vocabSize: size("vocab_size"),
    maxContext: size("max_position_embeddings"),
    eps: Number(config.rms_norm_eps),
    ropeTheta: Number(rope.rope_theta ?? 10000),
    isTied: config.tie_word_embeddings === true,
  };
}
