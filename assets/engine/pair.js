/**
 * The two models, their tokenizer and their routers, loaded from the files of `assets` and nothing else.
 *
 * The caller says how a file is fetched. Knows nothing about runs.
 *
 * @typedef {import("./features.js").Router} Router
 * @typedef {(path: string) => Promise<ArrayBuffer>} FetchFile by its path below `assets`
 * @typedef {Object} PairPlace
 * @property {string} name of the pair, as the server calls it
 * @property {string} models folder of `slm`, `llm` and `tokenizer`
 * @property {string} routers folder of the trained routers
 */

import { excerpt } from "../run/gate.js";
import { OWN_NOT_HERE, isOwn, ownName } from "../run/own_router.js";
import { Reader } from "./reader.js";
import { FusedDecoder } from "./fused_decoder.js";
import { Distribution } from "./distribution.js";
import { Kernel } from "./kernel.js";
import { readModelConfig } from "./model_config.js";
import { routerRevision, weightsRevision } from "./revision.js";
import { readRouterFile } from "./router_file.js";
import { TRAINING_FREE } from "./routers.js";
import { ModelFileProblem, readSafetensors } from "./safetensors.js";
import { storedRouter } from "./stored_router.js";
import { Tokenizer } from "./tokenizer.js";

/** @type {PairPlace} */
export const BUNDLED = { name: "Bundled pair", models: "models", routers: "routers/embedded" };
const FLOAT_BYTES = 4;
const ROUTER_NAME = /^[a-z0-9][a-z0-9-]{0,60}$/;

/** @param {FetchFile} fetchFile @param {string} path @returns {Promise<any>} */
async function fetchJson(fetchFile, path) {
  const text = new TextDecoder().decode(await fetchFile(path));
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelFileProblem(`${path} is not JSON. Load the page again.`);
  }
}

/** @param {ArrayBuffer} one @param {ArrayBuffer} other */
function isSameFile(one, other) {
  const [bytes, others] = [one, other].map((file) => new Uint8Array(file));
  return bytes.length === others.length && bytes.every((byte, i) => byte === others[i]);
}

/**
 * One model of the pair.
 * @param {Kernel} kernel @param {FetchFile} fetchFile @param {string} folder @param {string} name
 */
async function loadModel(kernel, fetchFile, folder, name) {
  const [document, generation, file] = await Promise.all([
    fetchJson(fetchFile, `${folder}/config.json`),
    fetchJson(fetchFile, `${folder}/generation_config.json`),
    fetchFile(`${folder}/model.safetensors`),
  ]);
  const config = readModelConfig(document, `${folder}/config.json`);
  const tensors = readSafetensors(file, `${folder}/model.safetensors`);
  const nParams = [...tensors.values()].reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  /** @type {ModelSpec} */
  const spec = {
    name,
    n_params: nParams,
    n_layers: config.nLayers,
    n_heads: config.heads.nQ,
    n_kv_heads: config.heads.nKv,
    head_dim: config.heads.dim,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    tied_embeddings: config.isTied,
    bytes_per_element: FLOAT_BYTES,
    block_bits: null,
  };
  const revision = weightsRevision(tensors);
  const decoder = new FusedDecoder(kernel, config, tensors, `${folder}/model.safetensors`);
  return { decoder, spec, revision, ends: [generation.eos_token_id ?? []].flat() };
}

export class BrowserPair {
  /**
   * @param {Kernel} kernel @param {FetchFile} fetchFile @param {PairPlace} place @param {Tokenizer} tokenizer
   * @param {Awaited<ReturnType<typeof loadModel>>} slm @param {Awaited<ReturnType<typeof loadModel>>} llm
   * @param {string|null} endToken of the tokenizer
   */
  constructor(kernel, fetchFile, place, tokenizer, slm, llm, endToken) {
    this.kernel = kernel;
    this.fetchFile = fetchFile;
    this.place = place;
    this.tokenizer = tokenizer;
    this.vocabSize = tokenizer.size;
    const configs = [slm.decoder.config, llm.decoder.config];
    if (configs.some(({ vocabSize }) => vocabSize < this.vocabSize)) {
      throw new ModelFileProblem("A model embeds fewer tokens than the tokenizer has: the files are of two pairs.");
    }
    const textIn = (/** @type {FusedDecoder} */ decoder) =>
      new Reader(decoder, new Distribution(kernel, decoder.at.logits, this.vocabSize));
    this.slm = textIn(slm.decoder);
    this.llm = textIn(llm.decoder);
    this.hiddenSize = configs[0].hiddenSize;
    this.maxContext = Math.min(...configs.map(({ maxContext }) => maxContext));
    const own = endToken === null ? [] : (tokenizer.addedIds.get(endToken) ?? []);
    this.endIds = new Set([own, slm.ends, llm.ends].flat());
    this.info = {
      name: place.name,
      revision: `${slm.revision}-${llm.revision}`,
      slm: slm.spec,
      llm: llm.spec,
      dtype: "float32",
      device: "wasm",
      prompt_form: "plain",
    };
    /** @type {Map<string, Router>} */
    this.routers = new Map(TRAINING_FREE);
    /** @type {Map<string, ArrayBuffer>} of routers that a person has, by their names here */
    this.ownFiles = new Map();
    /** @type {Map<number, string>} */
    this.tokenTexts = new Map();
    this.textOf = (/** @type {number} */ id) => {
      const text = this.tokenTexts.get(id) ?? tokenizer.decode([id], true);
      this.tokenTexts.set(id, text);
      return text;
    };
  }

  /**
   * @param {FetchFile} fetchFile
   * @param {PairPlace} [place]
   * @throws {ModelFileProblem} a file is damaged, or holds what is not computed here
   */
  static async load(fetchFile, place = BUNDLED) {
    const { models, name } = place;
    const kernel = await Kernel.create();
    const [tokens, tokenConfig, slm, llm] = await Promise.all([
      fetchJson(fetchFile, `${models}/tokenizer/tokenizer.json`),
      fetchJson(fetchFile, `${models}/tokenizer/tokenizer_config.json`),
      loadModel(kernel, fetchFile, `${models}/slm`, `${name} SLM`),
      loadModel(kernel, fetchFile, `${models}/llm`, `${name} LLM`),
    ]);
    if (tokenConfig.chat_template) throw new ModelFileProblem("This pair has a chat template, which needs the server.");
    const endToken = tokenConfig.eos_token?.content ?? tokenConfig.eos_token ?? null;
    return new BrowserPair(kernel, fetchFile, place, new Tokenizer(tokens), slm, llm, endToken);
  }

  /**
   * A router by name; a trained one is fetched when it is first asked for.
   * @param {string} name
   * @returns {Promise<Router>}
   * @throws {ModelFileProblem}
   */
  async router(name) {
    const known = this.routers.get(name);
    if (known) return known;
    if (isOwn(name)) throw new ModelFileProblem(OWN_NOT_HERE);
    if (!ROUTER_NAME.test(name)) throw new ModelFileProblem("There is no router of that name: choose one of the list.");
    const { routers } = this.place;
    const [card, file] = await Promise.all([
      fetchJson(this.fetchFile, `${routers}/${name}.json`),
      this.fetchFile(`${routers}/${name}.safetensors`),
    ]);
    return this.#take(name, card, readSafetensors(file, `${routers}/${name}.safetensors`));
  }

  /**
   * Takes in a router that a person has in one file; one that is here already takes no room again.
   * @param {ArrayBuffer} file
   * @returns {string} the name that it has here
   * @throws {ModelFileProblem}
   */
  addRouter(file) {
    for (const [name, known] of this.ownFiles) if (isSameFile(known, file)) return name;
    const { card, weights } = readRouterFile(file);
    const name = ownName(card.revision);
    if (routerRevision(weights) !== card.revision) {
      throw new ModelFileProblem("The weights of this router are not those that its card names: the file is damaged.");
    }
    this.#take(name, card, weights);
    this.ownFiles.set(name, file);
    return name;
  }

  /**
   * @param {string} name @param {any} card @param {Map<string, import("./safetensors.js").FileTensor>} weights
   * @returns {Router}
   */
  #take(name, card, weights) {
    const { revision, prompt_form: form } = this.info;
    if (card.pair_revision !== revision || (card.prompt_form ?? form) !== form) {
      throw new ModelFileProblem(
        `The router ${excerpt(card.label)} was trained for a pair with other weights or prompts, and this page ` +
          `has the ${this.info.name.toLowerCase()} alone.`,
      );
    }
    const router = storedRouter(this.kernel, card, name, weights, this.hiddenSize);
    this.routers.set(name, router);
    return router;
  }
}
