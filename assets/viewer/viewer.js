/**
 * The viewer: one routed run as text, map, cost line, counters and inspector.
 *
 * `mountViewer(root, options)` is the only entry. It owns the state and decides when what is drawn; the panels draw. It must
 * not know Gradio, the tau slider or where runs come from: the page hands it traces and messages and gets callbacks.
 * Drawing happens at most once per animation frame. Token text reaches the page through text nodes and attributes only.
 * No two modules share a top-level name and nothing has a default export, so an exporter may join them into one script.
 */

import { Answer } from "./answer.js";
import { Chart } from "./chart.js";
import { CostModel, H100_SXM } from "./cost.js";
import { Counters } from "./counters.js";
import { isForced, replay } from "./decision.js";
import { button, html, setText } from "./dom.js";
import { percent, plural, probability, formatTau } from "./format.js";
import { Inspector } from "./inspector.js";
import { actionOf, findLlmToken } from "./keyboard.js";
import { Legend } from "./legend.js";
import { Minimap } from "./minimap.js";
import { Playback } from "./playback.js";
import { RunSeries, seriesOf } from "./series.js";
import { RunReceiver } from "./stream.js";
import { visibleText } from "./text.js";
import { TokenPanel } from "./tokens.js";
import { Tooltip } from "./tooltip.js";

export { drawHistogram } from "./histogram.js";

/**
 * @typedef {Object} ViewerOptions
 * @property {(run: string, base: number) => Promise<Object>} fetchRun asks the server for a run from token `base` on
 * @property {(index: number|null) => void} [onPin] a token was pinned or let go
 * @property {(tau: number) => void} [onThresholdSuggest] the viewer went back to this tau; move the slider there
 * @property {(trace: Object) => void} [onRunEnd] a streamed run has ended
 * @property {import("./cost.js").DeviceSpec} [device] prices runs; the H100's data sheet where absent
 * @property {boolean} [stylesheet] false where the page brings viewer.css itself
 */

const PICTURES_EVERY_MS = 350;
const ANNOUNCE_EVERY_MS = 5000;

/** Live decisions grow with the run, so they are plain arrays; a replay's are typed. */
const emptyDecisions = () => ({ isLlm: [], isFlipped: [], llmFed: [], firstFlip: -1, nFlips: 0 });

/** The horizontal room of a live run grows in jumps, so that the chart does not rescale at every token. */
function liveDomain(n) {
  let room = 64;
  while (room < n) room *= 2;
  return room;
}

function ensureStylesheet() {
  if (document.querySelector("link[data-citer-viewer]")) return;
  const href = new URL("./viewer.css", import.meta.url).href;
  document.head.append(html("link", { rel: "stylesheet", href, "data-citer-viewer": true }));
}

class Viewer {
  /** @param {HTMLElement} root @param {ViewerOptions} options */
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.frame = null;
    this.timers = new Set();
    this.pricing = null;
    this.nRuns = 0;
    this.#clear(null);
    this.#build();
    this.receiver = new RunReceiver({
      fetchRun: (run, base) => options.fetchRun(run, base),
      start: (head) => this.#begin(head),
      append: (tokens) => this.#append(tokens),
      end: (end) => this.#end(end),
      lost: () => this.setStatus("Some tokens could not be fetched from the server. The run goes on there; reload the page to see it whole.", { kind: "error" }),
    });
    this.#schedule("all");
  }

  // ---------------------------------------------------------------- public

  /**
   * Shows a finished run.
   * @param {Object} trace the trace JSON
   * @param {{autoplay?: boolean, threshold?: number|null, pin?: number|null}} [how]
   */
  showTrace(trace, how = {}) {
    this.receiver.retire();
    this.#clear(trace);
    this.view.live = false;
    this.view.finishReason = trace.finish_reason ?? null;
    this.view.answer = trace.answer ?? null;
    this.setStatus("");
    this.#append(trace.events);
    this.playback.setLength(this.view.n, false);
    if (how.threshold !== undefined) this.setThreshold(how.threshold);
    this.#schedule("all");
    this.#flush();
    if (Number.isInteger(how.pin)) this.pin(how.pin);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (how.autoplay && !calm) this.playback.play();
  }

  /** @param {import("./stream.js").StreamMessage} message */
  receive(message) {
    this.receiver.receive(message);
  }

  /**
   * What if tau were `threshold`? No request. Null, or the run's own tau, shows the run as it was; a live run ignores it.
   * @param {number|null} threshold
   */
  setThreshold(threshold) {
    const { view } = this;
    if (view.live || !view.head) return;
    const next = threshold === null || Math.abs(threshold - view.runTau) < 1e-9 ? null : Number(threshold);
    if (next === view.whatIf) return;
    view.whatIf = next;
    this.#recompute();
    this.#schedule("all");
  }

  /**
   * Prices the run for another pair or device; null means its own pair on `options.device`.
   * @param {{slm?: Object, llm?: Object, device?: Object, routerParams?: number|null, label?: string}|null} pricing
   */
  setPricing(pricing) {
    this.pricing = pricing;
    if (!this.view.head) return;
    this.#recompute();
    this.#schedule("panels");
  }

  /**
   * A state in words; "" clears it.
   * @param {string} text
   * @param {{kind?: "info"|"error", busy?: boolean}} [how]
   */
  setStatus(text, how = {}) {
    const isError = how.kind === "error";
    setText(this.alert, isError ? text : "");
    setText(this.status, isError ? "" : text);
    this.statusRow.dataset.busy = String(Boolean(how.busy) && !isError);
    this.statusRow.hidden = text === "";
    if (text && !isError) this.#announce(text, true);
  }

  /** Pins a token, or lets go with null. */
  pin(index) {
    const { view } = this;
    const valid = Number.isInteger(index) && index >= 0 && index < view.n;
    const next = valid ? index : null;
    if (next === view.pinned) return;
    view.pinned = next;
    this.#focusChanged();
    if (next !== null) this.tokens.scrollTo(next);
    this.options.onPin?.(next);
  }

  /** The current run as trace JSON, or null. */
  trace() {
    const { head, events, finishReason, answer } = this.view;
    return head ? { ...head, events: events.slice(), finish_reason: finishReason, answer } : null;
  }

  /** Confidences of the current run belong to the page too: the histogram draws them. */
  get events() {
    return this.view.events;
  }

  destroy() {
    this.receiver.retire();
    this.playback.pause();
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    for (const timer of this.timers) clearTimeout(timer);
    this.chart.destroy();
    this.abort.abort();
    this.root.replaceChildren();
    this.root.classList.remove("citer-viewer");
  }

  // ---------------------------------------------------------------- state

  /** A fresh view; `head` is the trace without its events, or null where there is no run yet. */
  #clear(head) {
    const wasPinned = Number.isInteger(this.view?.pinned);
    let rest = null;
    if (head) {
      rest = { ...head };
      delete rest.events;
    }
    this.view = {
      runKey: ++this.nRuns, head: rest, events: [], n: 0, shown: 0, domain: 64, live: false, finishReason: null, answer: null,
      runTau: rest?.settings?.threshold ?? 0.7, whatIf: null, decisions: emptyDecisions(), hasForced: false,
      costModel: null, series: null, ownSeries: null, priceLabel: "", hovered: null, pinned: null, focus: null,
      isForced: (index) => isForced(this.view.events[index]),
    };
    this.own = this.view.decisions;
    this.#price();
    this.tokens?.reset();
    this.tooltip?.hide();
    if (wasPinned) this.options.onPin?.(null);
  }

  #begin(head) {
    this.#clear(head);
    this.view.live = true;
    this.playback.setLength(0, true);
    this.#schedule("all");
  }

  #append(tokens) {
    const { view } = this;
    for (const event of tokens) {
      view.events.push(event);
      const isLlm = event.source === "llm";
      this.own.isLlm.push(isLlm ? 1 : 0);
      this.own.isFlipped.push(0);
      this.own.llmFed.push(event.llm_tokens_fed);
      view.hasForced ||= isForced(event);
      view.ownSeries.push(event, isLlm, event.llm_tokens_fed);
    }
    view.n = view.shown = view.events.length;
    view.domain = view.live ? liveDomain(view.n) : Math.max(1, view.n);
    if (view.live) this.#announceProgress();
    this.#schedule("panels");
  }

  #end(end) {
    const { view } = this;
    view.live = false;
    view.finishReason = end.finish_reason;
    view.answer = end.answer ?? view.head.answer ?? null;
    view.domain = Math.max(1, view.n);
    this.playback.setLength(view.n, false);
    this.setStatus(end.error ?? "", { kind: end.error ? "error" : "info" });
    const { llmShare } = view.ownSeries.totals();
    this.#announce(`Finished: ${plural(view.n, "token")}, ${percent(llmShare, 0)} by the LLM.`, true);
    this.#schedule("all");
    this.options.onRunEnd?.(this.trace());
  }

  /** The cost model of the run under the page's choice of pair and device, and a fresh series. */
  #price() {
    const { view, pricing } = this;
    const { head } = view;
    const blank = { name: "", n_params: 0, n_layers: 0, n_heads: 0, n_kv_heads: 0, head_dim: 0, vocab_size: 0, hidden_size: 0, tied_embeddings: true, bytes_per_element: 2 };
    const slm = pricing?.slm ?? head?.pair?.slm ?? blank;
    const llm = pricing?.llm ?? head?.pair?.llm ?? blank;
    const device = pricing?.device ?? this.options.device ?? H100_SXM;
    const routerParams = pricing?.routerParams ?? head?.router?.n_params ?? 0;
    view.costModel = new CostModel({ slm, llm, device, routerParams });
    // A change of device alone leaves the pair what it was.
    const repriced = pricing?.label ?? (pricing?.slm ? `${slm.name} with ${llm.name}` : null);
    view.priceLabel = repriced ? `Priced as ${repriced}. ` : "";
    view.series = view.ownSeries = new RunSeries(view.costModel);
  }

  /** Decisions and totals from scratch: a few milliseconds for a thousand tokens. */
  #recompute() {
    const { view } = this;
    this.#price();
    view.ownSeries = seriesOf(view.costModel, view.events, this.own);
    view.decisions = view.whatIf === null ? this.own : replay(view.events, view.whatIf);
    view.series = view.whatIf === null ? view.ownSeries : seriesOf(view.costModel, view.events, view.decisions);
  }

  // ---------------------------------------------------------------- drawing

  /** @param {"panels"|"moved"|"all"} what */
  #schedule(what) {
    const rank = { moved: 0, panels: 1, all: 2 };
    if (this.due === undefined || this.due === null || rank[what] > rank[this.due]) this.due = what;
    if (this.frame === null) this.frame = requestAnimationFrame(() => this.#flush());
  }

  #flush() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    const { view, due } = this;
    this.due = null;
    if (due === null || due === undefined) return;
    this.tokens.append(view);
    if (due === "all") {
      this.tokens.repaint(view);
      this.tokens.markEnd(view);
      this.#drawHead();
    }
    this.#drawNotice();
    if (due !== "moved") {
      this.legend.update(view);
      this.#drawPictures();
    } else {
      this.minimap.moved(view);
      this.chart.moved(view);
    }
    this.counters.update(view);
    this.answer.update(view);
    this.tokens.mark(view);
    this.inspector.update(view);
    this.layout.dataset.state = view.head ? (view.live ? "live" : "finished") : "empty";
  }

  /** Minimap and chart are drawn whole, so while tokens arrive they follow a few times a second, not with each batch. */
  #drawPictures() {
    const { view } = this;
    const wait = view.live ? PICTURES_EVERY_MS - (performance.now() - (this.picturesAt ?? -Infinity)) : 0;
    if (wait > 0) {
      this.pictureTimer ??= this.#later(() => {
        this.pictureTimer = null;
        this.#schedule("panels");
      }, wait);
      return;
    }
    this.picturesAt = performance.now();
    this.minimap.update(view);
    this.chart.update(view);
  }

  #drawHead() {
    const { head } = this.view;
    setText(this.question, head?.prompt?.question ?? "");
    this.questionBlock.hidden = !head?.prompt?.question;
    this.more.hidden = (head?.prompt?.question ?? "").length < 260;
    if (head) {
      const { pair, router, settings, record } = head;
      const parts = [
        head.title, `${pair.slm.name} + ${pair.llm.name}`, `router ${router.name}`, `tau ${formatTau(settings.threshold)}`,
        settings.temperature > 0 ? `temperature ${settings.temperature}` : "greedy",
        record?.date ? `${record.date.slice(0, 10)} on ${record.hardware}` : null,
      ];
      setText(this.provenance, parts.filter(Boolean).join(" · "));
    } else setText(this.provenance, "");
  }

  /** What moving tau means, in one sentence. */
  #drawNotice() {
    const { view } = this;
    const { firstFlip } = view.decisions;
    this.back.hidden = view.whatIf === null;
    this.notice.dataset.kind = view.whatIf === null ? "own" : "what-if";
    let text = "";
    if (view.whatIf !== null) {
      const at = `At tau ${formatTau(view.whatIf)}`;
      text = firstFlip < 0
        ? `${at} every decision is the same: the text would not change.`
        : `${at} the first different decision is token ${firstFlip + 1}; after it the text would be different.`;
    } else if (view.head && view.n) {
      text = view.live ? `Writing at tau ${formatTau(view.runTau)}.` : `Written at tau ${formatTau(view.runTau)}.`;
    } else if (view.head) text = "Reading the prompt.";
    setText(this.sentence, text);
    setText(this.back, `Back to the run’s tau ${formatTau(view.runTau)}`);
  }

  #focusChanged() {
    const { view } = this;
    view.focus = view.hovered ?? view.pinned;
    this.#schedule("moved");
  }

  #hover(index, anchored) {
    const { view } = this;
    if (index !== view.hovered) {
      view.hovered = index;
      this.#focusChanged();
    }
    if (index === null || !anchored) {
      this.tooltip.hide();
      return;
    }
    if (this.tooltip.anchor !== this.tokens.nodes[index]) this.#showTooltip(index);
  }

  #showTooltip(index) {
    const { view } = this;
    const event = view.events[index];
    const isLlm = Boolean(view.decisions.isLlm[index]);
    this.tooltip.show(this.tokens.nodes[index], [
      { text: `${visibleText(event.text)}  ${isLlm ? "LLM" : "SLM"}`, className: "cv-tooltip-title" },
      { text: `confidence ${probability(event.slm_confidence)}, tau ${formatTau(view.whatIf ?? event.threshold)}` },
    ]);
  }

  // ---------------------------------------------------------------- speech

  /** One polite region, at most every few seconds; the newest text wins. */
  #announce(text, important = false) {
    this.toSay = text;
    if (this.sayTimer !== undefined && this.sayTimer !== null) return;
    const wait = Math.max(0, (this.saidAt ?? -Infinity) + ANNOUNCE_EVERY_MS - performance.now());
    this.sayTimer = this.#later(() => {
      this.sayTimer = null;
      this.saidAt = performance.now();
      setText(this.live, this.toSay);
    }, important ? wait : Math.max(wait, 500));
  }

  #announceProgress() {
    const { view } = this;
    this.#announce(`${plural(view.n, "token")} written, ${percent(view.ownSeries.totals().llmShare, 0)} by the LLM.`);
  }

  #later(run, ms) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
    return timer;
  }

  // ---------------------------------------------------------------- page

  #build() {
    const { root } = this;
    root.classList.add("citer-viewer");
    this.tokens = new TokenPanel();
    this.legend = new Legend((writer) => this.tokens.setFilter(writer));
    const links = { onHover: (index) => this.#hover(index, false), onPick: (index) => this.pin(index) };
    this.minimap = new Minimap(links);
    this.chart = new Chart({ ...links, onMetric: () => this.chart.update(this.view) });
    this.counters = new Counters();
    this.answer = new Answer();
    this.inspector = new Inspector();
    this.playback = new Playback((shown) => {
      const previous = this.view.shown;
      this.view.shown = shown;
      this.tokens.reveal(this.view, previous);
      if (this.playback.isPlaying && shown > 0) this.tokens.scrollTo(shown - 1);
      this.#schedule("moved");
    });
    this.question = html("p", { class: "cv-question cv-clamped" });
    this.more = button("Show all", "cv-link", { hidden: true, "aria-expanded": "false" });
    this.more.addEventListener("click", () => {
      const clamped = this.question.classList.toggle("cv-clamped");
      setText(this.more, clamped ? "Show all" : "Show less");
      this.more.setAttribute("aria-expanded", String(!clamped));
    });
    this.questionBlock = html("div", { class: "cv-question-block", hidden: true }, this.question, this.more);
    this.sentence = html("span", { class: "cv-sentence" });
    this.back = button("", "cv-link", { hidden: true });
    this.back.addEventListener("click", () => {
      this.setThreshold(null);
      this.options.onThresholdSuggest?.(this.view.runTau);
    });
    this.notice = html("div", { class: "cv-notice" }, this.sentence, this.back);
    this.status = html("span", { class: "cv-status-text" });
    this.alert = html("span", { class: "cv-status-error", role: "alert" });
    this.statusRow = html("div", { class: "cv-status", hidden: true }, this.status, this.alert);
    this.live = html("div", { class: "cv-sr", role: "status", "aria-live": "polite" });
    this.provenance = html("p", { class: "cv-caption cv-provenance" });
    this.layout = html(
      "div",
      { class: "cv-layout", "data-state": "empty" },
      html("div", { class: "cv-main" }, this.questionBlock, this.legend.root, this.notice, this.statusRow, this.tokens.root, this.answer.root, html("div", { class: "cv-time" }, this.minimap.root, this.playback.root)),
      html("div", { class: "cv-side" }, this.inspector.root),
      html("div", { class: "cv-lower" }, this.counters.root, this.chart.root, this.provenance),
    );
    this.tooltip = new Tooltip(root);
    root.replaceChildren(this.layout, this.tooltip.root, this.live);
    this.#listen();
  }

  /** One delegated listener per kind of event. */
  #listen() {
    this.abort = new AbortController();
    const { signal } = this.abort;
    const { text } = this.tokens;
    text.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") this.#hover(this.tokens.indexOf(event.target), true);
    }, { signal });
    text.addEventListener("pointerleave", () => this.#hover(null, false), { signal });
    this.tokens.scroller.addEventListener("scroll", () => this.tooltip.hide(), { signal, passive: true });
    text.addEventListener("click", (event) => {
      const index = this.tokens.indexOf(event.target);
      // The end of a drag that selects text is no choice of a token.
      if (index === null || !getSelection().isCollapsed) return;
      this.pin(index === this.view.pinned ? null : index);
      this.#flush();
      this.tokens.nodes[index].focus({ preventScroll: true });
      // A finger has no hover, and on a phone the inspector is further down.
      if (event.pointerType === "touch" && this.view.pinned !== null) this.#showTooltip(index);
      else if (event.pointerType === "touch") this.tooltip.hide();
    }, { signal });
    this.root.addEventListener("keydown", (event) => {
      const action = actionOf(event);
      if (action && this.#act(action, event)) event.preventDefault();
    }, { signal });
  }

  /** @returns {boolean} whether the key was used */
  #act(action, event) {
    const { view } = this;
    if (action === "play") {
      this.playback.toggle();
      return true;
    }
    if (action === "unpin") {
      this.tooltip.hide();
      if (view.pinned === null) return false;
      this.pin(null);
      return true;
    }
    const last = view.shown - 1;
    if (last < 0) return false;
    const here = view.pinned ?? this.tokens.indexOf(event.target);
    const moves = {
      pin: () => here ?? 0,
      next: () => (here === null || view.pinned === null ? (here ?? 0) : Math.min(last, here + 1)),
      previous: () => (here === null || view.pinned === null ? (here ?? 0) : Math.max(0, here - 1)),
      nextLlm: () => findLlmToken(view.decisions.isLlm, here === null || view.pinned === null ? (here ?? 0) - 1 : here, 1, view.shown),
      previousLlm: () => findLlmToken(view.decisions.isLlm, here ?? view.shown, -1, view.shown),
      first: () => 0,
      last: () => last,
    };
    const next = moves[action]();
    if (next === null) return true;
    this.pin(next);
    this.#flush();
    this.tokens.focus(next);
    return true;
  }
}

/**
 * Builds a viewer in an empty element.
 * @param {HTMLElement} root
 * @param {ViewerOptions} options
 */
export function mountViewer(root, options) {
  if (options.stylesheet !== false) ensureStylesheet();
  return new Viewer(root, options);
}
