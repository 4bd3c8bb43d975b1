/**
 * One token in full: who wrote it and why, what each model offered, and what the step cost.
 *
 * Must not know streaming or the text panel. Called by viewer.js with the hovered or pinned token; rebuilt as a whole,
 * which is cheap because it is one token.
 */

import { probeBlock } from "./closer.js";
import { llmContext } from "../run/cost.js";
import { leastEntropy, marginOf, splitStep } from "../run/cost_split.js";
import { confidenceDial } from "./dial.js";
import { largeButton } from "./large.js";
import { block, button, caption, html, refill, term, svg } from "./dom.js";
import { BOTH_MODELS } from "./draw.js";
import { WRITER_NAMES, plural, probability, quantity, significant } from "../run/format.js";
import { tableOf } from "./table.js";
import { visibleText } from "./text.js";
import { truthBlock } from "./truth.js";
import { prefersLlm } from "../run/decision.js";

const HEIGHT = 48;

/**
 * What the LLM read when it looked back here: how probable each token in question was to it; null where it did not.
 * @param {RunView} view @param {number} index
 */
function lookBlock({ events, head }, index) {
  const { read, discarded = [], llm_tokens_fed: fed } = events[index];
  if (!read) return null;
  const ratio = head?.settings.take_back ?? 0;
  const nGone = discarded.length;
  const nKept = read.length - Math.max(1, nGone);
  const [first, own] = read[nKept];
  const said = nGone
    ? [
        `It read ${plural(fed, "token")} at once. The first one below the line is `,
        html("bdi", { class: "cv-code" }, visibleText(discarded[0][1])),
        `: ${probability(first)} ÷ ${probability(own)} for its own choice is ${significant(own ? first / own : 0)}, ` +
          `less than ${significant(ratio)}. `,
        nGone === 1 ? "It was taken back." : `It and the ${nGone - 1} behind it were taken back.`,
      ]
    : [`It read ${plural(fed, "token")} at once and let ${nKept ? `the last ${nKept}` : "all"} stand.`];
  return block("The LLM looked back", lookChart(read, nKept, nGone, ratio), caption(...said));
}

/**
 * Why the LLM was called where the confidence was not below tau; null where it was, or where the SLM wrote.
 * @param {RunView} view @param {number} index
 */
function lookRelation({ events, decisions, whatIf }, index) {
  const event = events[index];
  const isByTau = prefersLlm(event.slm_confidence, whatIf ?? event.threshold);
  if (!decisions.isLlm[index] || isByTau) return null;
  return event.discarded ? "not below τ: taken back when the LLM looked" : "not below τ: called by doubts or distance";
}

/**
 * One bar for each token in question: its probability over that of the LLM's own choice.
 * @param {[number, number][]} read @param {number} nKept @param {number} nGone @param {number} ratio
 */
function lookChart(read, nKept, nGone, ratio) {
  const bars = read.slice(0, nKept + nGone).map(([token, own], i) => {
    const height = HEIGHT * Math.min(1, own ? token / own : 0);
    const look = i < nKept ? "cv-fill-slm" : "cv-look-gone";
    return svg("rect", { class: look, x: i + 0.1, width: 0.8, y: HEIGHT - height, height });
  });
  const y = HEIGHT * (1 - ratio);
  const line = svg("line", { class: "cv-look-line", x1: 0, x2: bars.length, y1: y, y2: y });
  const label =
    `Probability of each token over that of the LLM’s own choice: ${plural(nKept, "token")} kept, ` +
    `${nGone} taken back; the line is at ${significant(ratio)}`;
  const viewBox = `0 0 ${Math.max(1, bars.length)} ${HEIGHT}`;
  const how = { class: "cv-look-chart", role: "img", "aria-label": label, viewBox, preserveAspectRatio: "none" };
  return svg("svg", how, ...bars, line);
}

/**
 * What the SLM would have written here, as text, or its id where it is not among the recorded candidates.
 * @param {TokenEvent} event
 */
function slmCandidate(event) {
  if (event.slm_token_id === event.token_id && event.text !== "") return event.text;
  const found = event.slm_top.find(([id]) => id === event.slm_token_id);
  return found ? found[1] : null;
}

/** @param {number} confidence @param {number} tau */
export function relationOf(confidence, tau) {
  if (tau >= 1) return "τ 1 gives every token to the LLM";
  return confidence < tau ? "below τ: the LLM writes" : "not below τ: the SLM writes";
}

export class Inspector {
  /**
   * @param {{onFlip: (index: number, source: "slm"|"llm", tokenId: number|null) => void, onProbe: () => void,
   *   onClose: () => void, onInside?: () => void, glossary?: string}} on
   * @param {import("./choices.js").Choices} choices
   */
  constructor(on, choices) {
    this.on = on;
    this.choices = choices;
    this.body = html("div", { class: "cv-inspector-body" });
    this.close = button("×", "cv-close", { "aria-label": "Close the inspector", onclick: () => on.onClose() });
    this.root = html(
      "section",
      { class: "cv-inspector cv-panel", "aria-label": "Token inspector", hidden: true, tabindex: "-1" },
      html("div", { class: "cv-corner" }, largeButton("Token inspector"), this.close),
      this.body,
    );
    /** @type {string|null} */
    this.shownKey = null;
  }

  /** @param {RunView} view @param {Askable} can what may be asked of the server */
  update(view, can) {
    // It takes the place of the figures only for a token that was chosen: while the pointer passes, nothing jumps.
    const index = view.pinned === null ? null : view.focus;
    this.root.hidden = index === null;
    const key = [
      view.runKey,
      index,
      view.n > 0,
      view.whatIf,
      view.pinned === index,
      view.priceLabel,
      view.costModel.device.name,
      view.finishReason,
      view.live,
      Boolean(view.probe),
      can.flip,
      can.probe,
      can.whyNot,
      can.next,
      this.choices.version,
    ].join();
    if (key === this.shownKey) return;
    this.shownKey = key;
    refill(this.body, () => (index === null ? [] : this.#token(view, index, can)));
  }

  /** @param {RunView} view @param {number} index @param {Askable} can */
  #token(view, index, can) {
    const event = view.events[index];
    const isLlm = Boolean(view.decisions.isLlm[index]);
    const flipped = Boolean(view.decisions.isFlipped[index]);
    const tau = view.whatIf ?? event.threshold;
    const isEnd = event.text === "" && index === view.n - 1 && view.finishReason === "eos";
    const quoted = isEnd ? "end of text" : event.text === "" ? "part of a character" : visibleText(event.text);
    const writer = isLlm ? "llm" : "slm";
    const heading = html("div", { class: "cv-inspector-head" }, [
      html("h2", { class: "cv-quote-heading" }, [
        html("bdi", { class: `cv-quote cv-quote-${writer}${event.text === "" ? " cv-quote-special" : ""}` }, quoted),
      ]),
      html("p", { class: "cv-muted" }, `Token ${index + 1} of ${view.n}${view.pinned === index ? " · pinned" : ""}`),
    ]);
    const forced = view.isForced(index);
    const why = forced
      ? "was chosen here by hand, not by the router"
      : flipped
        ? `would write here at this τ; the ${WRITER_NAMES[event.source]} did in the run`
        : "wrote this token";
    const candidate = slmCandidate(event);
    const instead = candidate === null ? `token id ${event.slm_token_id}` : visibleText(candidate);
    const slmWord = html("bdi", { class: "cv-code" }, instead);
    const slmAlso = event.slm_token_id === event.token_id;
    return [
      heading,
      html("p", { class: "cv-why" }, html("span", { class: `cv-tag cv-tag-${writer}` }, WRITER_NAMES[writer]), why),
      confidenceDial(
        event.slm_confidence,
        tau,
        forced
          ? "chosen by hand, whatever τ says"
          : (lookRelation(view, index) ?? relationOf(event.slm_confidence, tau)),
      ),
      lookBlock(view, index),
      this.#insideButton(view),
      view.pinned === index ? this.#flipBlock(view, index, isLlm, can) : null,
      event.source === "llm"
        ? html("p", { class: "cv-small" }, [
            slmAlso
              ? "Not decisive: the SLM would have written the same token."
              : html("span", {}, "Decisive: the SLM would have written ", slmWord),
          ])
        : null,
      ...this.choices.blocks(view, index, can),
      this.#uncertainty(view, event, index),
      view.truth ? truthBlock(view, index) : null,
      probeBlock(view, can, () => this.on.onProbe()),
      this.#cost(view, event, index),
    ].filter((node) => node !== null);
  }

  /** @param {RunView} view */
  #insideButton({ live }) {
    if (!this.on.onInside || live) return null;
    const onclick = () => this.on.onInside?.();
    const how = { "data-key": "inside", "aria-haspopup": "dialog", onclick };
    return button("See inside this decision", "cv-do", how);
  }

  /**
   * The other model, from here on.
   * @param {RunView} view
   * @param {number} index
   * @param {boolean} isLlm
   * @param {Askable} can
   */
  #flipBlock(view, index, isLlm, can) {
    if (!can.flip) return can.whyNot ? caption(can.whyNot) : null;
    const other = isLlm ? "slm" : "llm";
    const onclick = () => this.on.onFlip(index, other, null);
    const words = `Flip: let the ${WRITER_NAMES[other]} write this token`;
    return html("div", { class: "cv-block" }, [
      button(words, "cv-do", { "data-key": "flip", onclick }),
      caption("Makes a branch: the same tokens up to here, then written again. Or choose one of the candidates."),
    ]);
  }

  /**
   * How undecided each model is; exact after a probe, a bound from the recorded candidates before.
   * @param {RunView} view
   * @param {TokenEvent} event
   * @param {number} index
   */
  #uncertainty(view, event, index) {
    const probed = view.probe?.[index];
    const rows = BOTH_MODELS.flatMap((model) => {
      const top = probed?.[`${model}_top`] ?? event[`${model}_top`];
      if (!top?.length) return [];
      const known = probed?.[`${model}_entropy`];
      const least = top.length > 1 ? `≥ ${significant(leastEntropy(top))}` : "–";
      const margin = marginOf(top);
      const entropy = known === undefined ? least : significant(known);
      return [[WRITER_NAMES[model], entropy, margin === null ? "–" : probability(margin)]];
    });
    const head = ["", ["entropy, ", term("nats", this.on.glossary)], "margin"];
    const said =
      probed &&
      `${probed.agree ? "Both would write the same token" : "The models would write different tokens"}; ` +
        `KL(LLM ‖ SLM) ${significant(probed.kl)} nats.`;
    const table = tableOf({ head, rows }, { isNamed: true, look: "cv-table" });
    return block("Uncertainty", table, said ? caption(said) : null);
  }

  /** @param {RunView} view @param {TokenEvent} event @param {number} index */
  #cost(view, event, index) {
    const fed = view.decisions.llmFed[index];
    const recorded = fed === event.llm_tokens_fed && !view.decisions.isFlipped[index];
    /** @type {Record<string, number>} */
    const ms = { "SLM weights": event.slm_s, Router: event.router_s, "LLM weights": event.llm_s };
    const parts = splitStep(view.costModel, event, fed);
    const rows = parts.map(({ name, bytes, flops }) => [
      name,
      bytes ? quantity("bytes", bytes) : "–",
      flops ? quantity("flops", flops).replace("FLOP", "") : "–",
      recorded && ms[name] > 0 ? significant(ms[name] * 1000) : "–",
    ]);
    const looks = parts.map(({ within }) => (within ? "cv-within" : null));
    const head = ["", "bytes", "FLOP", "ms, measured"];
    const table = tableOf({ head, rows }, { isNamed: true, look: "cv-table", looks });
    const catchUp =
      fed > 1
        ? fed === llmContext(event)
          ? `First call of the LLM: it read all ${plural(fed, "token")} so far.`
          : `The LLM read ${plural(fed, "token")}: ${fed - 1} to catch up, then this step.`
        : fed === 1
          ? "The LLM was up to date: it read one token."
          : null;
    return block("This step, estimated", table, catchUp ? caption(catchUp) : null);
  }
}
