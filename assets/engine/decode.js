/**
 * The decode loop: one text, two models, one decision per token; the mirror of `citer_core/routing/decoder.py` for a
 * set of one.
 *
 * Ids in, events out, one at a time: the caller may stop at any token. Knows nothing about workers or pages.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./features.js").Router} Router
 * @typedef {import("./fork.js").Fork} Fork
 * @typedef {import("./reader.js").Reader} Reader
 */

import { prefersLlm } from "../run/decision.js";
import { RequestProblem, checkFork, readByLlm } from "./fork.js";
import { drawnAt } from "./sampling.js";
import { TextStream } from "./text_stream.js";

/** A model or a router computed no number: the run ends there. */
export class NotANumberProblem extends Error {}

const now = () => performance.now() / 1000;

/**
 * How many tokens may follow a prompt.
 * @param {BrowserPair} pair @param {number[]} promptIds
 * @throws {RequestProblem} none, or there is no prompt
 */
export function roomBehind(pair, promptIds) {
  if (!promptIds.length) throw new RequestProblem("The prompt is empty. Write a question.");
  const room = pair.maxContext - promptIds.length;
  if (room < 1) {
    const [has, most] = [promptIds.length, pair.maxContext - 1].map((n) => n.toLocaleString("en"));
    throw new RequestProblem(`The prompt has ${has} tokens; this pair reads at most ${most}. Shorten it.`);
  }
  return room;
}

/** @param {Reader} model @param {string} which @param {number[]} ids */
export function readSoundly(model, which, ids) {
  if (model.read(ids)) return;
  throw new NotANumberProblem(
    `The ${which} computed values that are not numbers (NaN or infinity), so it has no next token, and this run ` +
      "ended. Its weights may be damaged: load the page again.",
  );
}

/** @param {Reader} model @param {Settings} settings @param {number} index */
function chosenToken(model, settings, index) {
  const { distribution } = model;
  return settings.temperature === 0 ? distribution.greedyId : drawnAt(distribution.values(), settings, index).id;
}

/**
 * Writes a completion token by token.
 *
 * @param {BrowserPair} pair
 * @param {Router} router
 * @param {number[]} promptIds
 * @param {Settings} settings
 * @param {Fork|null} [fork] go on from these events instead of from the prompt; they are not repeated
 * @returns {Generator<TokenEvent, "eos"|"length", void>} what it returns is why it ended
 * @throws {RequestProblem|NotANumberProblem}
 */
export function* decode(pair, router, promptIds, settings, fork = null) {
  const { slm, llm, kernel, textOf, endIds } = pair;
  const nSteps = Math.min(settings.max_new_tokens, roomBehind(pair, promptIds));
  const text = new TextStream(pair.tokenizer);
  const ids = promptIds.slice();
  const shared = fork?.events ?? [];
  if (fork) checkFork(fork, pair.vocabSize, endIds, nSteps);
  for (const { token_id: id } of shared) {
    ids.push(id);
    text.push(id);
  }
  const hidden = slm.decoder.at.normed;
  const stateHere = () => kernel.view(hidden, pair.hiddenSize).slice();
  /** @type {Float32Array|null} */
  let promptHidden = null;
  if (shared.length && router.usesPrompt) {
    readSoundly(slm, "SLM", promptIds);
    promptHidden = stateHere();
  }
  let llmRead = readByLlm(shared); // what this run alone would have read by now
  /** @type {number|null} */
  let llmEntropy = null;
  if (router.usesLlmEntropy && shared.at(-1)?.source === "llm") {
    readSoundly(llm, "LLM", ids.slice(0, llmRead));
    llmEntropy = llm.distribution.entropy;
  }

  for (let index = shared.length; index < nSteps; index++) {
    // 1. The SLM reads every position.
    const start = now();
    readSoundly(slm, "SLM", ids);
    const slmRead = now();
    let llmSeconds = 0;
    let llmFed = 0;
    const readLlm = () => {
      const llmStart = now();
      readSoundly(llm, "LLM", ids);
      llmSeconds = now() - llmStart;
      llmFed = ids.length - llmRead;
      llmRead = ids.length;
    };
    if (router.readsLlm) readLlm();
    if (router.usesPrompt) promptHidden ??= stateHere();

    // 2. The router scores the state behind the SLM's candidate.
    const routerStart = now();
    const confidence = router.confidence({
      slm: slm.distribution,
      hidden,
      promptHidden,
      promptIds,
      position: index,
      llmEntropy,
      llm: router.readsLlm ? llm.distribution : null,
    });
    const routerSeconds = now() - routerStart;
    const slmTokenId = chosenToken(slm, settings, index);
    if (!(confidence >= 0 && confidence <= 1)) {
      throw new NotANumberProblem(
        `The router "${router.name}" gave a confidence that is not a number from 0 to 1, so it is unknown which ` +
          "model writes next, and this run ended. Choose another router.",
      );
    }

    // 3. One of the two writes the token. The LLM first reads what it has not seen.
    const forced = fork?.source && index === shared.length ? fork : null;
    const isLlm = forced ? forced.source === "llm" : prefersLlm(confidence, settings.threshold);
    if (isLlm && llmFed === 0) readLlm();
    const written = isLlm ? chosenToken(llm, settings, index) : slmTokenId;
    const tokenId = forced?.tokenId ?? written;
    llmEntropy = isLlm && router.usesLlmEntropy ? llm.distribution.entropy : null;

    // 4. Say what happened, and go on from it.
    const isLast = endIds.has(tokenId) || index + 1 === nSteps;
    const delta = text.push(tokenId) + (isLast ? text.flush() : "");
    yield {
      index,
      token_id: tokenId,
      text: delta,
      source: isLlm ? "llm" : "slm",
      slm_token_id: slmTokenId,
      slm_confidence: confidence,
      threshold: settings.threshold,
      slm_tokens_fed: index === 0 ? promptIds.length : 1,
      llm_tokens_fed: llmFed,
      context_len: ids.length,
      slm_s: slmRead - start,
      router_s: routerSeconds,
      llm_s: llmSeconds,
      slm_top: slm.distribution.candidates(textOf),
      llm_top: isLlm ? llm.distribution.candidates(textOf) : [],
      forced: forced !== null,
    };
    if (endIds.has(tokenId)) return "eos";
    ids.push(tokenId);
  }
  return "length";
}
