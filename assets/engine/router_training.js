/**
 * Trains a router on labelled problems; the mirror of `citer_core/training/router_training.py` for the labels' loss.
 *
 * Split by problem, seeded, the best pass kept. Knows neither where labels come from nor how a router is stored.
 *
 * @typedef {import("./labelling.js").Labelled} Labelled
 * @typedef {import("./router_network.js").Batch} Batch
 *
 * @typedef {Object} Pass over all tokens that train
 * @property {number} pass from 1
 * @property {number} loss its mean
 * @property {number} validationLoss
 * @property {number|null} auc of validation tokens; null where all their labels are the same
 * @property {[number[], number[]]} histogram of the confidences of validation tokens in 20 parts of 0 to 1: of those
 *   labelled 0, then of those labelled 1
 *
 * @typedef {Object} Trained
 * @property {Uint8Array} file the router with its card, see `written_router.js`
 * @property {number} best the pass that is kept
 * @property {number} nPreferSlm labels of both parts
 * @property {number} nPreferLlm
 * @property {number} seconds
 */

import { RequestProblem } from "./fork.js";
import { writtenRouter } from "./written_router.js";
import { aucOf, histogramOf, spreadOf } from "./router_metrics.js";
import { Adam, RouterNetwork, crossEntropy, sigmoid } from "./router_network.js";
import { batchOf, scaleOf, taken } from "./router_tokens.js";

/** Hidden neurons of what may be trained. @type {Record<string, number>} */
export const WIDTHS = { linear: 0, "mlp-32": 32, "mlp-128": 128 };
/** As in Python, but for one rate. */
export const RECIPE = { rate: 1e-3, batchSize: 256, mostPasses: 40, patience: 5, validationShare: 0.2 };

/**
 * Trains a router; pauses after each batch.
 * @param {import("./lab_desk.js").Bench} bench
 * @param {{labelled: Labelled[], network: string, seed: number}} asked
 * @returns {Generator<Pass|Trained|undefined, void, any>} the last one is the trained router
 * @throws {RequestProblem} there is nothing to learn
 */
export function* training({ pair, maker, products }, { labelled, network: kind, seed }) {
  const start = performance.now();
  if (!Object.hasOwn(WIDTHS, kind)) throw new RequestProblem("There is no such network: choose one of the list.");
  const random = seeded(seed);
  const { learned, held, nPreferSlm, nPreferLlm } = split(labelled, random);
  const offset = Math.log(nPreferSlm / nPreferLlm); // what labels say before one looks, see `objectives.py`
  const scale = scaleOf(learned);
  const [train, validation] = [learned, held].map((some) => batchOf(some, scale));
  for (const { offsets } of [train, validation]) offsets.fill(offset);
  const network = new RouterNetwork(products, WIDTHS[kind], random);
  const adam = new Adam(network.parameters.length, RECIPE.rate);
  let best = /** @type {Pass|null} */ (null);
  let kept = network.parameters.slice();
  for (let pass = 1; pass <= RECIPE.mostPasses && pass - (best?.pass ?? 0) <= RECIPE.patience; pass++) {
    const told = { pass, loss: yield* learn(network, train, adam, random), ...judged(network, validation) };
    if (told.validationLoss < (best?.validationLoss ?? Infinity)) {
      best = told;
      kept = network.parameters.slice();
    }
    yield told;
  }
  network.parameters.set(kept);
  const everywhere = network.logits(batchOf(held, scale, ({ labels }) => [...labels.keys()]).inputs).map(sigmoid);
  const { pass, validationLoss, auc } = /** @type {Pass} */ (best);
  const file = writtenRouter(pair, network, scale, {
    name: `lab-${kind}`,
    label: `Trained in the Lab (${kind})`,
    labels: recipesOf(labelled),
    maker,
    training: {
      recipe: { ...RECIPE, network: kind, seed },
      n_questions: { train: learned.length, validation: held.length },
      n_tokens: { train: train.targets.length, validation: validation.targets.length },
      prefer_slm_share: nPreferSlm / (nPreferSlm + nPreferLlm),
      auc,
      best_epoch: pass - 1,
      validation_loss: validationLoss,
      ...spreadOf(everywhere),
    },
  });
  yield { file, best: pass, nPreferSlm, nPreferLlm, seconds: (performance.now() - start) / 1000 };
}

/** How problems were labelled, each way once. @param {Labelled[]} labelled */
function recipesOf(labelled) {
  const ways = labelled.map(({ how }) => JSON.stringify(how));
  return [...new Set(ways)].map((way) => ({
    ...JSON.parse(way),
    n_problems: ways.filter((other) => other === way).length,
  }));
}

/**
 * Which problems train, and which validate.
 * @param {Labelled[]} labelled @param {() => number} random
 * @throws {RequestProblem}
 */
function split(labelled, random) {
  const labels = labelled.flatMap((problem) => problem.labels);
  const [nPreferLlm, nPreferSlm] = [0, 1].map((label) => labels.filter((one) => one === label).length);
  if (!nPreferSlm || !nPreferLlm) {
    throw new RequestProblem("All labels are the same, so there is nothing to learn: label more problems.");
  }
  const order = shuffled(
    labelled.filter((problem) => problem.labels.some((label) => label !== null)).sort((a, b) => a.index - b.index),
    random,
  );
  if (order.length < 2) {
    throw new RequestProblem("One part of the problems trains and another validates: label at least 2 problems.");
  }
  const nHeld = Math.max(1, Math.round(RECIPE.validationShare * order.length));
  return { held: order.slice(0, nHeld), learned: order.slice(nHeld), nPreferSlm, nPreferLlm };
}

/**
 * One pass over the tokens in a random order.
 * @param {RouterNetwork} network @param {Batch} train @param {Adam} adam @param {() => number} random
 * @returns {Generator<undefined, number, any>} its mean loss
 */
function* learn(network, train, adam, random) {
  const n = train.targets.length;
  const order = shuffled(train.targets.keys(), random);
  const gradient = new Float64Array(network.parameters.length);
  let loss = 0;
  for (let start = 0; start < n; start += RECIPE.batchSize) {
    const batch = taken(train, order.slice(start, start + RECIPE.batchSize));
    loss += (network.loss(batch, gradient) * batch.targets.length) / n;
    adam.step(network.parameters, gradient);
    yield;
  }
  return loss;
}

/** @param {RouterNetwork} network @param {Batch} validation @returns {Omit<Pass, "pass"|"loss">} */
function judged(network, { inputs, targets, offsets }) {
  const logits = network.logits(inputs);
  const losses = logits.map((logit, i) => crossEntropy(logit + offsets[i], targets[i]));
  return {
    validationLoss: losses.reduce((sum, loss) => sum + loss, 0) / targets.length,
    auc: aucOf(logits, targets),
    histogram: histogramOf(logits.map(sigmoid), targets),
  };
}

/**
 * Random numbers of a seed, many of them quickly (Mulberry32). What decides tokens is in `randomness.js`.
 * @param {number} seed @returns {() => number} from 0 to 1
 */
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
function shuffled(items, random) {
  const list = [...items];
  for (let i = list.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [list[i], list[other]] = [list[other], list[i]];
  }
  return list;
}
