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

import { doubtOf } from "../run/decision.js";
import { RequestProblem, checkFork, readByLlm } from "./fork.js";
import { lookBack, wantsLook } from "./look_back.js";
import { drawnAt } from "./sampling.js";
import { TextStream } from "./text_stream.js";
import { prefersLlm } from "../run/decision.js";
import { inDigits } from "../run/kinds.js";

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
    const [has, most] = [promptIds.length, pair.maxContext - 1].map(inDigits);
    throw new RequestProblem(`The prompt has ${has} tokens; this pair reads at most ${most}. Shorten it.`);
  }
  return room;
}

/** @param {Reader} model @param {string} which @param {number[]} ids */
export function readSoundly(model, which, ids) {
  checkSound(model.read(ids), which);
}

/** @param {boolean} isSound @param {string} which */
export function checkSound(isSound, which) {
  if (isSound) return;
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
 * @returns {Generator<TokenEvent, "eos"|"length", void>} what it returns is why it ended; an event whose
 *   index was there takes the place of all from there on
 * @throws {RequestProblem|NotANumberProblem}
 */
export function* decode(pair, router, promptIds, settings, fork = null) {
  const { slm, llm, kernel, textOf, endIds } = pair;
  const nSteps = Math.min(settings.max_new_tokens, roomBehind(pair, promptIds));
  const ids = promptIds.slice();
  const shared = fork?.events ?? [];
  if (fork) checkFork(fork, pair.vocabSize, endIds, nSteps);
  for (const { token_id: id } of shared) ids.push(id);
  const textBehind = (/** @type {number} */ n) => {
    const stream = new TextStream(pair.tokenizer);
    for (const id of ids.slice(promptIds.length, promptIds.length + n)) stream.push(id);
    return stream;
  };
  let text = textBehind(shared.length);
  let mayForce = Boolean(fork?.source);
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

  let doubts = 0;
  for (const event of shared) {
    doubts = event.llm_tokens_fed ? 0 : doubts + (event.forced ? 0 : doubtOf(event.slm_confidence, router.slmPrior));
  }
  const ratio = router.readsLlm ? 0 : (settings.take_back ?? 0);
  /** @type {TokenEvent[]} what the LLM may take back */
  let inQuestion = [];

  while (ids.length < promptIds.length + nSteps) {
    const index = ids.length - promptIds.length;
    // 1. The SLM reads every position.
    const start = now();
    readSoundly(slm, "SLM", ids);
    const slmRead = now();
    const sinceLook = ids.length - Math.max(promptIds.length, llmRead + 1);
    let llmSeconds = 0;
    let llmFed = 0;
    const byLlm = (/** @type {() => void} */ read) => {
      const llmStart = now();
      read();
      llmSeconds = now() - llmStart;
      llmFed = ids.length - llmRead;
      llmRead = ids.length;
    };
    const readLlm = () => byLlm(() => readSoundly(llm, "LLM", ids));
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

    // 3. One of the two writes the token. The LLM first reads what it has not seen, and may take it back.
    const forced = mayForce && index === shared.length ? fork : null;
    mayForce &&= forced === null;
    if (!forced) doubts += doubtOf(confidence, router.slmPrior);
    const isLlm = forced ? forced.source === "llm" : wantsLook(settings, confidence, doubts, sinceLook);
    const isEnd = endIds.has(slmTokenId) || index + 1 === nSteps;
    const isLook = !forced && !isLlm && isEnd && ratio > 0 && doubts > (settings.final_doubt ?? 0);
    /** @type {TokenEvent} */
    const event = {
      index,
      token_id: forced?.tokenId ?? slmTokenId,
      text: "",
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
      llm_top: [],
      forced: forced !== null,
    };
    let written = event;
    if ((isLlm || isLook) && ratio > 0) {
      const asked = [...inQuestion, { ...event, token_id: slmTokenId }];
      const first = asked[0].index;
      byLlm(() => {
        const { read, mistake } = lookBack(
          llm,
          ids,
          asked.map(({ token_id: id }) => id),
          asked.length - Number(isLlm),
          {
            ratio,
            isAbsolute: Boolean(settings.take_back_absolute),
            mayTake: (place) => prefersLlm(asked[place].slm_confidence, settings.take_back_below ?? 1),
            chosen: (place) => chosenToken(llm, settings, first + place),
            textOf,
            check: (isSound) => checkSound(isSound, "LLM"),
          },
        );
        if (mistake) written = takenBack(asked.slice(mistake.place), mistake, textOf);
        written.read = read;
        llmEntropy = mistake && router.usesLlmEntropy ? mistake.entropy : null;
      });
    } else if (isLlm && llmFed === 0) readLlm();
    [written.llm_tokens_fed, written.llm_s] = [llmFed, llmSeconds];
    if (written !== event) {
      ids.length = llmRead = promptIds.length + written.index;
      text = textBehind(written.index);
    } else {
      if (isLlm) {
        event.token_id = forced?.tokenId ?? chosenToken(llm, settings, index);
        event.llm_top = llm.distribution.candidates(textOf);
      }
      llmEntropy = isLlm && router.usesLlmEntropy ? llm.distribution.entropy : null;
    }
    if (isLlm || isLook) doubts = 0;
    inQuestion = isLlm || isLook || forced ? [] : [...inQuestion, event];

    // 4. Say what happened, and go on from it.
    const { token_id: tokenId } = written;
    const isLast = endIds.has(tokenId) || written.index + 1 === nSteps;
    written.text = text.push(tokenId) + (isLast ? text.flush() : "");
    yield written;
    if (endIds.has(tokenId)) return "eos";
    ids.push(tokenId);
  }
  return "length";
}

/**
 * The LLM's token in place of the first of those that it takes back.
 * @param {TokenEvent[]} gone @param {import("./look_back.js").Mistake} mistake @param {(id: number) => string} textOf
 * @returns {TokenEvent}
 */
function takenBack(gone, { tokenId, top }, textOf) {
  const sum = (/** @type {"slm_s"|"router_s"} */ name) => gone.reduce((all, event) => all + event[name], 0);
  return {
    ...gone[0],
    token_id: tokenId,
    source: "llm",
    slm_s: sum("slm_s"),
    router_s: sum("router_s"),
    llm_top: top,
    discarded: gone.map(({ token_id: id, slm_confidence: confidence }) => [id, textOf(id), confidence]),
  };
}
