/**
 * The viewer: one routed run as text, map, cost line, counters, inspector and branches.
 *
 * `mountViewer(root, options)` is the only entry. It decides when what is drawn; `run_view.js` holds the state, the
 * panels draw. It must not know Gradio, the tau slider or where runs come from: the page hands it traces and messages
 * and gets callbacks. Drawing happens at most once per animation frame. Token text reaches the page through text nodes
 * and attributes only. No two modules share a top-level name and nothing has a default export, so an exporter may join
 * them into one script.
 */

import { html } from "./dom.js";
import { percent, plural } from "../run/format.js";
import { Panels } from "./panels.js";
import { listen } from "./pointing.js";
import { RunView } from "../run/run_view.js";
import { RunReceiver } from "../run/stream.js";
import { Rewriting } from "./rewriting.js";

export { drawHistogram } from "./histogram.js";

/**
 * @typedef {Object} ViewerOptions
 * @property {(run: string, base: number) => Promise<PageMessage>} fetchRun asks the server for a run from token
 *   `base` on
 * @property {(index: number|null) => void} [onPin] a token was pinned or let go
 * @property {(dials: Partial<Dials>) => void} [onDialsSuggest] the viewer wants them there; move the controls
 * @property {(trace: Trace) => void} [onRunEnd] a streamed run has ended
 * @property {(trace: Trace) => void} [onShow] another entry of the branch strip is on the screen
 * @property {(request: BranchRequest) => void} [onBranch] run a branch; without it nothing offers one
 * @property {(request: ProbeRequest) => void} [onProbe] ask the LLM everywhere; the answer comes back through
 *   `setProbe`
 * @property {() => void} [onInside] show the inside of the pinned token's decision; without it nothing offers to
 * @property {(request: NextRequest, waits: (words: string) => void) => Promise<NextAnswer>} [onNext] both models' next
 *   tokens at a position
 * @property {() => boolean} [canProbe] whether the LLM can be asked everywhere now; it can where absent
 * @property {number} [livePace] tokens a second at which a run is shown while it is written; as they come where absent
 * @property {() => void} [onShowing] what is shown of a run has caught up with it, or was held
 * @property {{side?: HTMLElement, lower?: HTMLElement}} [places] where the figures with the inspector, and what is
 *   under the run, stand on the page; inside the viewer where absent
 * @property {DeviceSpec} [device] prices runs; the H100's data sheet where absent
 * @property {string} [glossary] address of the view that explains words; without it none leads there
 * @property {boolean} [stylesheet] false where the page brings viewer.css itself
 *
 * @typedef {{autoplay?: boolean, probe?: ProbedToken[]|null, pin?: number|null, origin?: Trace|null}} ShowOptions
 *   `origin`: the run that this one is under other dials
 *
 * @typedef {{next_tokens?: NextTokens} & Notice} NextAnswer
 * @typedef {(view: RunView, index: number, text: string|undefined, waits: (words: string) => void) =>
 *   Promise<NextAnswer>} AskNext
 */

const PICTURES_EVERY_MS = 350;
const REDRAW_RANK = { moved: 0, panels: 1, all: 2 };

function ensureStylesheet() {
  if (document.querySelector("link[data-citer-viewer]")) return;
  const href = new URL("./viewer.css", import.meta.url).href;
  document.head.append(html("link", { rel: "stylesheet", href, "data-citer-viewer": true }));
}

export class Viewer extends Panels {
  /** @type {number|null} */
  frame = null;
  /** @type {"moved"|"panels"|"all"|null} */
  due = null;
  /** @type {ReturnType<typeof setTimeout>|null} */
  pictureTimer = null;
  picturesAt = -Infinity;
  /** @type {Pricing|null} */
  pricing = null;
  nRuns = 0;
  status = "";
  /** @type {{update: (view: RunView) => void}|null} a panel that was fetched later */
  later = null;
  /** @param {HTMLElement} root @param {ViewerOptions} options */
  constructor(root, options) {
    super(root, options);
    this.root = root;
    this.options = options;
    /** Where its keys are heard: wherever a part of it stands. */
    this.parts = [root, options.places?.side, options.places?.lower].filter((part) => part !== undefined);
    this.view = this.#newView(null);
    root.classList.add("citer-viewer");
    for (const part of this.parts) part.classList.add("citer-look");
    this.abort = new AbortController();
    this.rewriting = new Rewriting(this);
    this.hover = listen(this, this.abort.signal);
    this.receiver = new RunReceiver({
      fetchRun: (run, base) => options.fetchRun(run, base),
      start: (head) => this.#begin(head),
      append: (tokens) => this.#append(tokens),
      end: (end) => this.#end(end),
      lost: () =>
        this.setStatus(
          "Some tokens could not be fetched from the server. The run goes on there; reload the page to see it whole.",
          { kind: "error" },
        ),
    });
    this.schedule("all");
  }

  // ---------------------------------------------------------------- public

  /**
   * Shows a finished run, as the first of its own branches.
   * @param {Trace} trace the trace JSON
   * @param {ShowOptions} [how]
   */
  showTrace(trace, how = {}) {
    this.branching.reset(trace, how.probe ?? null);
    this.show(trace, how);
  }

  /**
   * Shows a finished run and leaves the branches as they are.
   * @param {Trace} trace
   * @param {ShowOptions} [how]
   */
  show(trace, how = {}) {
    this.receiver.retire();
    this.#clear(trace);
    this.view.origin = how.origin ?? null;
    this.setStatus("");
    this.view.append(trace.events);
    this.view.finish(trace.finish_reason ?? null, trace.answer ?? null);
    this.branching.mark(this.view);
    this.playback.setLength(this.view.n, false);
    this.schedule("all");
    this.flush();
    if (how.pin !== undefined) this.pin(how.pin);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (how.autoplay && !calm) this.playback.play();
  }

  /** @param {unknown} message */
  receive(message) {
    this.receiver.receive(message);
  }

  /**
   * What if tau were `threshold`? No request. Null, or the run's own tau, shows the run as it was; a live run ignores
   * it.
   * @param {number|null} threshold
   */
  setThreshold(threshold) {
    if (this.view.setWhatIf(threshold)) this.schedule("all");
  }

  /**
   * Prices the run for another pair or device; null means its own pair on `options.device`.
   * @param {Pricing|null} pricing
   */
  setPricing(pricing) {
    this.pricing = pricing;
    this.branching.forgetTotals();
    if (!this.view.head) return;
    this.view.setPricing(pricing);
    this.schedule("panels");
  }

  /**
   * What both models say at every token of the run named `key`; ignored where another run is shown by now.
   * @param {string} key
   * @param {ProbedToken[]} tokens
   * @param {Truth|null} [truth] its labels, or why there are none
   */
  setProbe(key, tokens, truth = null) {
    if (!this.branching.takeProbe(this.view, key, tokens, truth)) return;
    this.announcer.say("The LLM was asked at every token.", true);
    this.schedule("all");
  }

  /**
   * A state in words; "" clears it.
   * @param {string} text
   * @param {{kind?: "info"|"error", busy?: boolean}} [how]
   */
  setStatus(text, how = {}) {
    const isError = how.kind === "error";
    this.head.setStatus(text, { isError, busy: Boolean(how.busy) });
    if (!text) this.announcer.unsay(this.status);
    else if (!isError) this.announcer.say(text, true);
    this.status = text;
  }

  /** Pins a token, or lets go with null. @param {number|null} index */
  pin(index) {
    const { view } = this;
    const valid = index !== null && Number.isInteger(index) && index >= 0 && index < view.n;
    const next = valid ? index : null;
    if (next === view.pinned) return;
    view.pinned = next;
    this.focusChanged();
    if (next !== null) this.tokens.scrollTo(next);
    this.options.onPin?.(next);
  }

  /** The current run as trace JSON, or null. */
  trace() {
    return this.view.trace();
  }

  /** Confidences of the current run belong to the page too: the histogram draws them. */
  get events() {
    return this.view.events;
  }

  destroy() {
    this.receiver.retire();
    this.playback.pause();
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    clearTimeout(this.pictureTimer ?? undefined);
    this.announcer.destroy();
    this.chart.destroy();
    this.abort.abort();
    this.tokens.reset();
    for (const part of this.parts) part.replaceChildren();
    this.root.classList.remove("citer-viewer", "citer-look");
  }

  // ---------------------------------------------------------------- a run comes in

  /** @param {TraceHead|null} head */
  #newView(head) {
    return new RunView(++this.nRuns, head, { device: this.options.device, pricing: this.pricing });
  }

  /** @param {TraceHead|null} head */
  #clear(head) {
    const wasPinned = Number.isInteger(this.view.pinned);
    this.view = this.#newView(head);
    this.tokens.reset();
    this.tooltip.hide();
    if (wasPinned) this.options.onPin?.(null);
  }

  /** @param {TraceHead} head */
  #begin(head) {
    this.#clear(head);
    this.view.live = true;
    this.view.isComing = this.pacing.rate !== null;
    this.playback.setLength(0, true);
    this.schedule("all");
  }

  /** @param {TokenEvent[]} tokens */
  #append(tokens) {
    const { view } = this;
    view.append(tokens);
    this.pacing.appended(view);
    if (view.live)
      this.announcer.say(
        `${plural(view.n, "token")} written, ${percent(view.ownSeries.totals().llmShare, 0)} by the LLM.`,
      );
    this.schedule("panels");
  }

  /** @param {RunEnd} end */
  #end(end) {
    const { view } = this;
    view.finish(end.finish_reason, end.answer ?? view.head?.answer ?? null);
    this.branching.ended(view);
    this.pacing.ended(view);
    this.setStatus(end.error ?? "", { kind: end.error ? "error" : "info" });
    this.announcer.say(
      `Finished: ${plural(view.n, "token")}, ${percent(view.ownSeries.totals().llmShare, 0)} by the LLM.`,
      true,
    );
    this.schedule("all");
    const trace = this.trace();
    if (trace) this.options.onRunEnd?.(trace);
  }

  // ---------------------------------------------------------------- drawing

  /** @param {"panels"|"moved"|"all"} what */
  schedule(what) {
    if (this.due === null || REDRAW_RANK[what] > REDRAW_RANK[this.due]) this.due = what;
    if (this.frame === null) this.frame = requestAnimationFrame(() => this.flush());
  }

  /** Draws now what is due. */
  flush() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    const { view, due } = this;
    this.due = null;
    if (due === null) return;
    const can = this.branching.can(view);
    this.tokens.append(view);
    if (due === "all") {
      this.tokens.repaint(view);
      this.tokens.markEnd(view);
      this.head.update(view);
    }
    if (due !== "moved") {
      this.whatIf.update(view, can.goOn);
      this.rule.update(view);
      this.legend.update(view);
      this.tools.update(view);
      this.branching.update(view);
      this.#drawPictures();
    } else {
      this.minimap.moved(view);
      this.inTime.moved(view);
      this.chart.moved(view);
    }
    this.counters.update(view);
    this.figures.update(view);
    this.answer.update(view);
    this.tokens.mark(view);
    this.inspector.update(view, can);
    this.later?.update(view);
    this.closer.update(view, can);
    for (const part of this.parts) part.classList.toggle("citer-pinned", view.pinned !== null);
    this.layout.dataset.state = view.head ? (view.live ? "live" : "finished") : "empty";
    this.tokens.keepUp();
  }

  /**
   * Minimap and chart are drawn whole, so while tokens arrive they follow a few times a second, not with each batch.
   */
  #drawPictures() {
    const { view } = this;
    const wait = view.live ? PICTURES_EVERY_MS - (performance.now() - this.picturesAt) : 0;
    if (wait > 0) {
      this.pictureTimer ??= setTimeout(() => {
        this.pictureTimer = null;
        this.schedule("panels");
      }, wait);
      return;
    }
    this.picturesAt = performance.now();
    this.minimap.root.hidden = view.looksBack;
    this.minimap.update(view);
    this.inTime.update(view);
    this.chart.update(view);
  }

  focusChanged() {
    const { view } = this;
    view.focus = view.hovered ?? view.pinned;
    this.schedule("moved");
  }

  /** Playback shows the first `shown` tokens. @param {number} shown */
  reveal(shown) {
    const previous = this.view.shown;
    this.view.shown = shown;
    if (shown > 0 && shown < this.view.n) this.tokens.scrollTo(shown - 1);
    this.tokens.reveal(this.view, previous);
    this.schedule("moved");
    this.pacing.revealed(this.view);
  }

  /** Pins a token, shown where playback had hidden it. @param {number} index */
  reach(index) {
    if (index >= this.view.shown) this.playback.scrub(index + 1);
    this.pin(index);
  }

  /** The same, and the keyboard goes there too. @param {number} index */
  goTo(index) {
    this.reach(index);
    this.flush();
    this.tokens.focus(index);
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
