/**
 * A trained network as one file: tensors of the kind `citer-plus` in safetensors, whose header holds the card.
 *
 * The published shapes are larger than the network: what they have more is zero, its batch norm is the identity, and a
 * linear network is a pair of neurons, relu(x) - relu(-x). So whatever reads that kind reads this one. Knows files, not
 * training.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./router_network.js").RouterNetwork} RouterNetwork
 * @typedef {{shape: number[], floats: Float32Array}} Tensor
 */

import { promptVersion } from "../tasks/problems.js";
import { routerRevision } from "./revision.js";
import { quantileOf } from "./router_metrics.js";
import { NORM_EPS, N_UNCERTAINTIES } from "./stored_router.js";

const HEADER_AT = 8; // its length stands before it
const ALIGNED = 8; // bytes: the header is filled up with spaces
/** Of tokens for the LLM, at which the recommended tau aims. */
const USUAL_SHARE = 0.05;
const PRIOR =
  "confidence is for equal priors: the loss adds the log-odds of the labels to the logit, so 0.5 is no frequency; " +
  "what share of tokens a tau gives to the LLM is in training.llm_shares_at_tau";

/**
 * @param {RouterNetwork} network @param {import("./router_tokens.js").Scale} scale
 * @returns {Map<string, Tensor>} in the order of their names
 */
function tensorsOf(network, scale) {
  const { nIn, width } = network;
  const inner = 2 * nIn;
  const { direct, bias, first, shift, last } = network.parts;
  const weight = new Float32Array(inner * nIn);
  const [shifts, outputs] = [new Float32Array(inner), new Float32Array(inner)];
  for (let j = 0; j < width; j++) {
    for (let i = 0; i < nIn; i++) weight[j * nIn + i] = first[i * width + j];
    [shifts[j], outputs[j]] = [shift[j], last[j]];
  }
  if (width === 0) {
    for (let i = 0; i < nIn; i++) [weight[i], weight[nIn + i]] = [last[i], -last[i]];
    [outputs[0], outputs[1]] = [1, -1];
  }
  const second = new Float32Array(nIn * inner);
  second.set(outputs); // the first of its outputs, the only one that counts
  const third = new Float32Array(nIn);
  third[0] = 1;
  const filled = (/** @type {number} */ value) => new Float32Array(inner).fill(value);
  /** @type {[string, Tensor][]} */
  const tensors = [
    ["linear.bias", { shape: [1], floats: Float32Array.from(bias) }],
    ["linear.weight", { shape: [1, direct.length], floats: Float32Array.from(direct) }],
    ["residual.0.bias", { shape: [inner], floats: shifts }],
    ["residual.0.weight", { shape: [inner, nIn], floats: weight }],
    ["residual.1.bias", { shape: [inner], floats: filled(0) }],
    ["residual.1.running_mean", { shape: [inner], floats: filled(0) }],
    ["residual.1.running_var", { shape: [inner], floats: filled(1 - NORM_EPS) }],
    ["residual.1.weight", { shape: [inner], floats: filled(1) }],
    ["residual.4.bias", { shape: [nIn], floats: new Float32Array(nIn) }],
    ["residual.4.weight", { shape: [nIn, inner], floats: second }],
    ["residual.6.bias", { shape: [1], floats: new Float32Array(1) }],
    ["residual.6.weight", { shape: [1, nIn], floats: third }],
    ["scale.running_mean", { shape: [direct.length], floats: Float32Array.from(scale.mean) }],
    ["scale.running_var", { shape: [direct.length], floats: Float32Array.from(scale.variance) }],
  ];
  return new Map(tensors);
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** @param {Float32Array} floats */
const bytesOf = (floats) => new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);

/** A safetensors file. @param {Map<string, Tensor>} tensors @param {Record<string, string>} metadata */
function safetensorsFile(tensors, metadata) {
  let end = 0;
  const entries = [...tensors].map(([name, { shape, floats }]) => {
    const start = end;
    end += floats.byteLength;
    return [name, { dtype: "F32", shape, data_offsets: [start, end] }];
  });
  const header = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) });
  const text = new TextEncoder().encode(header);
  const spaces = new Uint8Array((ALIGNED - (text.length % ALIGNED)) % ALIGNED).fill(0x20);
  const size = new Uint8Array(HEADER_AT);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length + spaces.length), true);
  return joined([size, text, spaces, ...[...tensors.values()].map(({ floats }) => bytesOf(floats))]);
}

/**
 * @param {BrowserPair} pair @param {RouterNetwork} network @param {import("./router_tokens.js").Scale} scale
 * @param {{name: string, label: string, labels: object[], training: Record<string, any>,
 *   maker: {version: string, hardware: string}}} about it, for its card
 * @returns {Uint8Array}
 */
export function writtenRouter({ hiddenSize, info }, network, scale, { name, label, labels, training, maker }) {
  const tensors = tensorsOf(network, scale);
  const inner = 2 * network.nIn;
  const card = {
    name,
    label,
    hidden_size: hiddenSize,
    pair: info.name,
    pair_revision: info.revision,
    prompt_version: promptVersion("math"),
    prompt_form: info.prompt_form,
    date: new Date().toLocaleDateString("sv"),
    hardware: maker.hardware,
    command: `the Lab of CITER ${maker.version}`,
    labels,
    prior: PRIOR,
    training,
    recommended_threshold: quantileOf(training.confidence_quantiles, USUAL_SHARE),
    recommended_for_share: USUAL_SHARE,
    schema_version: 1,
    kind: "citer-plus",
    revision: routerRevision(tensors),
    n_params: inner * network.nIn + 2 * inner + 1 + 3 * N_UNCERTAINTIES + 1, // those that a step reads
  };
  return safetensorsFile(tensors, { card: JSON.stringify(card) });
}
