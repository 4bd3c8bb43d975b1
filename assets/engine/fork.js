/**
 * Where a run leaves another one, and what its first own token is forced to; the mirror of `citer_core/fork.py`.
 *
 * Pure: events and numbers.
 *
 * @typedef {Object} Fork
 * @property {TokenEvent[]} events the parent's first ones; the branch's own tokens come behind them
 * @property {Writer|null} source who must write the next token; null leaves it to the router
 * @property {number|null} tokenId what it must write; only together with `source`
 */

import { isForced } from "../run/decision.js";
import { DIALS, dialsOf } from "../run/dials.js";
import { wantsLook } from "./look_back.js";
import { TextStream } from "./text_stream.js";
import { inDigits } from "../run/kinds.js";

/** What a person asked for cannot be done; in words. */
export class RequestProblem extends Error {}

/** Tokens that the LLM had read at the fork, those of the prompt included. @param {TokenEvent[]} events */
export const readByLlm = (events) =>
  events.reduce((most, event) => (event.llm_tokens_fed ? Math.max(most, event.context_len) : most), 0);

/**
 * @param {Fork} fork
 * @param {number} vocabSize
 * @param {Set<number>} endIds after one of them nothing can follow
 * @param {number} nSteps the most tokens of the run
 * @throws {RequestProblem}
 */
export function checkFork({ events, source, tokenId }, vocabSize, endIds, nSteps) {
  const ids = events.map((event) => event.token_id);
  const isToken = (/** @type {number} */ id) => Number.isInteger(id) && id >= 0 && id < vocabSize;
  if (tokenId !== null && source === null) {
    throw new RequestProblem("A forced token needs a model that writes it: give the source slm or llm too.");
  }
  if (![...ids, tokenId ?? 0].every(isToken)) {
    throw new RequestProblem("The run to continue has tokens that this pair does not know: choose the pair it is of.");
  }
  if (ids.some((id) => endIds.has(id))) {
    throw new RequestProblem("The text ends before this token, so nothing can follow it: fork at an earlier token.");
  }
  if (events.length >= nSteps) {
    throw new RequestProblem(
      `The run to continue has ${inDigits(events.length)} tokens already and may have ` +
        `${inDigits(nSteps)}: fork at an earlier token, or raise the limit of new tokens.`,
    );
  }
}

/**
 * Events from outside, with the text and the cache lengths that their tokens and writers imply.
 * @param {TokenEvent[]} events
 * @param {number} nPrompt
 * @param {import("./tokenizer.js").Tokenizer} tokenizer
 * @returns {TokenEvent[]}
 */
export function asOurs(events, nPrompt, tokenizer) {
  const text = new TextStream(tokenizer);
  let llmCached = 0;
  return events.map((event, index) => {
    const contextLen = nPrompt + index;
    const wasRead = event.source === "llm" || event.llm_tokens_fed > 0;
    const llmFed = wasRead ? contextLen + Math.max(0, (event.discarded?.length ?? 0) - 1) - llmCached : 0;
    if (wasRead) llmCached = contextLen;
    return {
      ...event,
      index,
      text: text.push(event.token_id),
      context_len: contextLen,
      slm_tokens_fed: index === 0 ? nPrompt : 1,
      llm_tokens_fed: llmFed,
    };
  });
}

/**
 * The beginning of a run that is the same under other dials: up to the first token that would be decided otherwise, or
 * where the LLM might take more back. Its last token is to be written again.
 *
 * Every event before that one would have been written alike, by the same model, so a run can go on behind it. What the
 * LLM may still take back is not shared: a run that goes on has nothing of it in question.
 * @param {TokenEvent[]} events
 * @param {Partial<Settings>} was
 * @param {Dials} is
 * @param {(confidence: number) => number} doubtOf the router's
 * @returns {TokenEvent[]} under the new tau; tokens that a person forced stay as they are
 */
export function sharedUnder(events, was, is, doubtOf) {
  const { take_back: ratio, take_back_below: below, take_back_absolute: absolute } = dialsOf(was);
  const takesMore = is.take_back > ratio || is.take_back_below > below || is.take_back_absolute > absolute;
  let [doubts, sinceLook, n, settled] = [0, 0, 0, 0];
  for (const event of events) {
    const isByHand = isForced(event);
    const isRead = event.llm_tokens_fed > 0;
    if (!isByHand) {
      doubts += doubtOf(event.slm_confidence);
      const isLlm = wantsLook(is, event.slm_confidence, doubts, sinceLook);
      const isOther = isLlm !== (event.source === "llm") || (isRead && takesMore);
      if (event.discarded || isOther) break;
    }
    if (is.take_back === 0 || n === 0 || isSettled(events[n - 1])) settled = n;
    n++;
    [doubts, sinceLook] = isRead ? [0, 0] : [doubts, sinceLook + 1];
  }
  return events.slice(0, Math.min(n, settled + 1)).map((event) => {
    if (isForced(event)) return event;
    const moved = { ...event, threshold: is.threshold };
    if (is.take_back === 0) delete moved.read;
    return moved;
  });
}

/** Whether nothing up to here may be taken back any more. @param {TokenEvent} event */
const isSettled = (event) => event.llm_tokens_fed > 0 || isForced(event);

/** The token that a person chose there, or nothing. @param {TokenEvent|undefined} event */
export const chosenByHand = (event) => (event && isForced(event) ? `${event.source} ${event.token_id}` : "");

/**
 * Whether two runs would write the same text under the same dials.
 * @param {import("./protocol.js").RunRequest} a @param {import("./protocol.js").RunRequest} b
 */
export function isSameButForDials(a, b) {
  const names = /** @type {(keyof Settings)[]} */ (Object.keys(a.settings));
  return (
    a.prompt.text === b.prompt.text &&
    a.router === b.router &&
    a.parent?.key === b.parent?.key &&
    names.every((name) => DIALS.some((dial) => dial === name) || a.settings[name] === b.settings[name])
  );
}
