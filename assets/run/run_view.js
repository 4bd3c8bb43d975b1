/**
 * `RunView`: the run on the screen as plain state: events, decisions under the tau that is looked at, running totals.
 *
 * Must not know the DOM, timers or panels; viewer.js changes it and the panels read its fields. A live run only grows;
 * a finished one is recomputed when tau or a price moves, a few milliseconds for a thousand tokens.
 */

import { CostModel, H100_SXM, fitWords } from "./cost.js";
import { decisiveness, isForced, replay, runFacts } from "./decision.js";
import { dialsOf } from "./dials.js";
import { RunSeries, seriesOf } from "./series.js";

const BLANK_SPEC = {
  name: "",
  n_params: 0,
  n_layers: 0,
  n_heads: 0,
  n_kv_heads: 0,
  head_dim: 0,
  vocab_size: 0,
  hidden_size: 0,
  tied_embeddings: true,
  bytes_per_element: 2,
};
const SAME_TAU = 1e-9;

/**
 * The horizontal room of a live run grows in jumps, so that the chart does not rescale at every token.
 * @param {number} n
 */
function liveDomain(n) {
  let room = 64;
  while (room < n) room *= 2;
  return room;
}

export class RunView {
  /** @type {TokenEvent[]} */
  events = [];
  n = 0;
  /** The first token that is another one since the panels last drew them: the LLM took back what stood there. */
  redrawFrom = Infinity;
  shown = 0;
  domain = 64;
  live = false;
  /** Whether it is shown slower than it comes, and more of it will be. */
  isComing = false;
  /** Whether a person has held what is shown before it had caught up. */
  isHeld = false;
  /** @type {FinishReason|null} */
  finishReason = null;
  /** @type {Answer|null} */
  answer = null;
  /** @type {number|null} */
  whatIf = null;
  hasForced = false;
  priceLabel = "";
  /** @type {number|null} */
  hovered = null;
  /** @type {number|null} */
  pinned = null;
  /** @type {number|null} */
  focus = null;

  /**
   * @param {number} runKey tells this run from every other one of the page
   * @param {TraceHead|null} head the trace without its events, or null where there is no run yet
   * @param {{device?: DeviceSpec, pricing?: Pricing|null}} prices
   */
  constructor(runKey, head, prices) {
    /** @type {TraceHead & {events?: TokenEvent[]}|null} */
    const rest = head ? { ...head } : null;
    delete rest?.events;
    this.runKey = runKey;
    /** @type {TraceHead|null} */
    this.head = rest;
    this.prices = prices;
    this.runTau = rest?.settings?.threshold ?? 0.7;
    /** Index of the first token that a branch does not share with its parent, and which of the later ones differ. */
    this.forkAt = rest?.parent?.fork ?? null;
    /** @type {Uint8Array|null} */
    this.changed = null;
    /** @type {ProbedToken[]|null} what both models said at each token, where it was probed after the run */
    this.probe = null;
    /** @type {Trace|null} the run that this one is under other dials, where it was written again */
    this.origin = null;
    /** The text under other dials is being written, so none needs to be guessed. */
    this.isPending = false;
    /** @type {RunFacts|null} */
    this.knownFacts = null;
    /** @type {Truth|null} case and label of its tokens, as far as they are defined; asked with the probe */
    this.truth = null;
    /** @type {Uint8Array|null} tokens that a search has found: 1, and 2 for the one that was gone to */
    this.matches = null;
    // Live decisions grow with the run, so they are plain arrays; a replay's are typed.
    /** @type {Replay & {isLlm: number[], isFlipped: number[], llmFed: number[], decisive: number[]}} */
    this.own = { isLlm: [], isFlipped: [], llmFed: [], decisive: [], firstFlip: -1, nFlips: 0, nExact: 0, doubt: null };
    /** @type {Replay} */
    this.decisions = this.own;
    this.costModel = this.#priced();
    this.ownSeries = new RunSeries(this.costModel);
    this.series = this.ownSeries;
  }

  /** Dials that the run was asked with, also where it is shown as written again under moved ones. */
  get ownDials() {
    return dialsOf(this.origin?.settings ?? this.head?.settings ?? {});
  }

  get ownTau() {
    return this.ownDials.threshold;
  }

  /** Whether the LLM takes back what it finds a mistake. */
  get looksBack() {
    const { settings, router } = this.head ?? {};
    return ((settings?.take_back ?? 0) > 0 && !router?.reads_llm) || this.events.some(({ discarded }) => discarded);
  }

  /** So many of the shown tokens the LLM has read, from the first on; all where it takes nothing back. */
  get nRead() {
    if (!this.looksBack) return Infinity;
    return this.events.findLastIndex((event, i) => i < this.shown && event.llm_tokens_fed > 0) + 1;
  }

  /** @param {number} index */
  isForced(index) {
    return isForced(this.events[index]);
  }

  /** @param {TokenEvent[]} tokens */
  append(tokens) {
    for (const event of tokens) {
      if (event.index < this.events.length) this.#cut(event.index);
      this.events.push(event);
      const isLlm = event.source === "llm";
      const decisive = decisiveness(event, isLlm, event.token_id);
      this.own.isLlm.push(isLlm ? 1 : 0);
      this.own.isFlipped.push(0);
      this.own.llmFed.push(event.llm_tokens_fed);
      this.own.decisive.push(decisive);
      this.hasForced ||= isForced(event);
      this.ownSeries.push(event, isLlm, event.llm_tokens_fed, decisive);
    }
    this.knownFacts = null;
    this.n = this.shown = this.own.nExact = this.events.length;
    this.domain = this.live ? liveDomain(this.n) : Math.max(1, this.n);
  }

  /** The LLM has taken back what stands from here on. @param {number} n tokens that stay */
  #cut(n) {
    const { isLlm, isFlipped, llmFed, decisive } = this.own;
    for (const column of [this.events, isLlm, isFlipped, llmFed, decisive]) column.length = n;
    this.ownSeries.truncate(n);
    this.redrawFrom = Math.min(this.redrawFrom, n);
    if (this.pinned !== null && this.pinned >= n) this.pinned = this.focus = null;
    this.hovered = null;
  }

  /**
   * The run is over.
   * @param {FinishReason|null} finishReason
   * @param {Answer|null} answer
   */
  finish(finishReason, answer) {
    this.live = false;
    this.finishReason = finishReason;
    this.answer = answer;
    this.domain = Math.max(1, this.n);
  }

  /**
   * Looks at the run at another tau; null, or its own, shows it as it was.
   * @param {number|null} threshold
   * @returns {boolean} whether that changes anything
   */
  setWhatIf(threshold) {
    if (this.live || !this.head) return false;
    const next = threshold === null || Math.abs(threshold - this.runTau) < SAME_TAU ? null : Number(threshold);
    if (next === this.whatIf) return false;
    this.whatIf = next;
    this.#replay();
    return true;
  }

  #replay() {
    const { whatIf, events } = this;
    this.decisions = whatIf === null ? this.own : replay(events, whatIf, this.facts);
    this.series = whatIf === null ? this.ownSeries : seriesOf(this.costModel, events, this.decisions, this.ownSeries);
  }

  /** What a replay of this run must know beside its events. */
  get facts() {
    this.knownFacts ??= runFacts(this.head, this.events, this.probe);
    return this.knownFacts;
  }

  /**
   * What was asked about the run after it: both models everywhere, and the labels of its tokens, if there are any.
   * @param {ProbedToken[]|null} probe
   * @param {Truth|null} truth
   */
  setProbe(probe, truth) {
    this.probe = probe;
    this.truth = truth;
    this.knownFacts = null;
    this.#replay();
  }

  /** Prices it anew. @param {Pricing|null} pricing */
  setPricing(pricing) {
    this.prices = { ...this.prices, pricing };
    this.costModel = this.#priced();
    this.ownSeries = seriesOf(this.costModel, this.events, this.own);
    this.#replay();
  }

  /** The cost model under the page's choice of pair and device. */
  #priced() {
    const { head } = this;
    const { pricing, device: sheet } = this.prices;
    const slm = pricing?.slm ?? head?.pair?.slm ?? BLANK_SPEC;
    const llm = pricing?.llm ?? head?.pair?.llm ?? BLANK_SPEC;
    const device = pricing?.device ?? sheet ?? H100_SXM;
    const routerParams = pricing?.routerParams ?? head?.router?.n_params ?? 0;
    // A change of device alone leaves the pair what it was.
    const repriced = pricing?.label ?? (pricing?.slm ? `${slm.name} with ${llm.name}` : null);
    const fit = head ? fitWords(slm, llm, device) : "";
    this.priceLabel = (repriced ? `Priced as ${repriced}. ` : "") + (fit && `${fit} `);
    return new CostModel({ slm, llm, device, routerParams });
  }

  /** The run as trace JSON, or null. @returns {Trace|null} */
  trace() {
    const { head, events, finishReason, answer } = this;
    return head ? { ...head, events: events.slice(), finish_reason: finishReason, answer } : null;
  }

  /** The tau whose decisions are on the screen, for token `index`. @param {number} index */
  tauAt(index) {
    return this.whatIf ?? this.events[index].threshold;
  }
}
