/**
 * One token in full: who wrote it and why, what each model offered, and what the step cost.
 *
 * Must not know streaming or the text panel. Called by viewer.js with the hovered or pinned token; rebuilt as a whole,
 * which is cheap because it is one token.
 */

import { html } from "./dom.js";
import { WRITER_NAMES, percent, plural, probability, quantity, significant, formatTau } from "./format.js";
import { visibleText } from "./text.js";

/** What the SLM would have written here, as text, or its id where it is not among the recorded candidates. */
function slmCandidate(event) {
  if (event.slm_token_id === event.token_id && event.text !== "") return event.text;
  const found = event.slm_top.find(([id]) => id === event.slm_token_id);
  return found ? found[1] : null;
}

export class Inspector {
  constructor() {
    this.body = html("div", { class: "cv-inspector-body" });
    this.root = html("section", { class: "cv-inspector", "aria-label": "Token inspector" }, this.body);
    this.shownKey = null;
  }

  update(view) {
    const index = view.focus;
    const key = index === null ? `none ${view.n > 0}` : [view.runKey, index, view.whatIf, view.pinned === index, view.priceLabel, view.costModel.device.name, view.finishReason].join();
    if (key === this.shownKey) return;
    this.shownKey = key;
    this.body.replaceChildren(...(index === null ? this.#hint(view) : this.#token(view, index)));
  }

  #hint(view) {
    return [
      html("h2", { class: "cv-heading" }, "Token inspector"),
      html("p", { class: "cv-muted" }, view.n ? "Point at a token to see why its writer was chosen. Click to keep it." : "Tokens appear here as they are written."),
      html("dl", { class: "cv-keys" }, ...[
        ["← →", "previous, next token"],
        ["[ ]", "previous, next LLM token"],
        ["Space", "play or pause"],
        ["Esc", "let go"],
      ].map(([key, what]) => html("div", {}, html("dt", {}, key), html("dd", {}, what)))),
    ];
  }

  #token(view, index) {
    const event = view.events[index];
    const isLlm = Boolean(view.decisions.isLlm[index]);
    const flipped = Boolean(view.decisions.isFlipped[index]);
    const tau = view.whatIf ?? event.threshold;
    const isEnd = event.text === "" && index === view.n - 1 && view.finishReason === "eos";
    const quoted = isEnd ? "end of text" : event.text === "" ? "part of a character" : visibleText(event.text);
    const writer = isLlm ? "llm" : "slm";
    const heading = html(
      "div",
      { class: "cv-inspector-head" },
      html("h2", { class: "cv-quote-heading" }, html("bdi", { class: `cv-quote cv-quote-${writer}${event.text === "" ? " cv-quote-special" : ""}` }, quoted)),
      html("p", { class: "cv-muted" }, `Token ${index + 1} of ${view.n}${view.pinned === index ? " · pinned" : ""}`),
    );
    const forced = view.isForced(index);
    const why = forced
      ? "was chosen here by hand, against the router"
      : flipped
        ? `would write here at this tau; the ${WRITER_NAMES[event.source]} did in the run`
        : "wrote this token";
    const candidate = slmCandidate(event);
    const slmAlso = event.slm_token_id === event.token_id;
    return [
      heading,
      html("p", { class: "cv-why" }, html("span", { class: `cv-tag cv-tag-${writer}` }, WRITER_NAMES[writer]), why),
      this.#gauge(event.slm_confidence, tau, isLlm, forced),
      event.source === "llm"
        ? html("p", { class: "cv-small" }, slmAlso ? "The SLM would have written the same token." : html("span", {}, "The SLM would have written ", html("bdi", { class: "cv-code" }, candidate === null ? `token id ${event.slm_token_id}` : visibleText(candidate))))
        : null,
      this.#candidates("slm", event.slm_top, event),
      this.#candidates("llm", event.llm_top, event),
      this.#cost(view, event, index),
    ].filter(Boolean);
  }

  #gauge(confidence, tau, isLlm, forced) {
    const relation = tau >= 1 ? "tau 1 gives every token to the LLM" : confidence < tau ? "below tau: the LLM writes" : "not below tau: the SLM writes";
    const label = `SLM confidence ${probability(confidence)}, tau ${formatTau(tau)}`;
    const fill = html("span", { class: `cv-gauge-fill cv-gauge-${isLlm ? "llm" : "slm"}` });
    fill.style.width = percent(confidence, 2);
    const mark = html("span", { class: "cv-gauge-tau" });
    mark.style.left = percent(tau, 2);
    return html(
      "div",
      { class: "cv-gauge-block" },
      html("div", { class: "cv-row" }, html("span", { class: "cv-small" }, "SLM confidence ", html("strong", {}, probability(confidence))), html("span", { class: "cv-small" }, "tau ", html("strong", {}, formatTau(tau)))),
      html("div", { class: "cv-gauge", role: "img", "aria-label": label }, fill, mark),
      forced ? null : html("p", { class: "cv-caption" }, relation),
    );
  }

  #candidates(model, top, event) {
    const name = WRITER_NAMES[model];
    const block = html("div", { class: "cv-block" }, html("h3", { class: "cv-subheading" }, `${name} candidates`));
    if (!top?.length) {
      block.append(html("p", { class: "cv-muted" }, model === "llm" && event.source !== "llm" ? "Not computed: the LLM was not asked here." : "Not recorded."));
      return block;
    }
    const list = html("ol", { class: "cv-candidates" });
    for (const [id, text, p] of top) {
      const bar = html("span", { class: `cv-bar cv-bar-${model}`, "aria-hidden": "true" });
      bar.style.width = percent(Math.max(0, Math.min(1, p)), 2);
      const chosen = id === event.token_id;
      list.append(html(
        "li",
        { class: chosen ? "cv-chosen" : null },
        html("bdi", { class: "cv-code" }, text === "" ? "∅" : visibleText(text)),
        html("span", { class: "cv-bar-track" }, bar),
        html("span", { class: "cv-number" }, probability(p)),
        chosen ? html("span", { class: "cv-sr" }, "written") : null,
      ));
    }
    block.append(list);
    return block;
  }

  #cost(view, event, index) {
    const fed = view.decisions.llmFed[index];
    const parts = view.costModel.parts(event, fed);
    const recorded = fed === event.llm_tokens_fed && !view.decisions.isFlipped[index];
    const ms = (seconds) => (recorded && seconds > 0 ? significant(seconds * 1000) : "–");
    const rows = [["SLM", parts.slm, event.slm_s], ["Router", parts.router, event.router_s], ["LLM", parts.llm, event.llm_s]];
    const table = html(
      "table",
      { class: "cv-table" },
      html("thead", {}, html("tr", {}, html("td", {}), ...["bytes", "FLOP", "ms, measured"].map((h) => html("th", { scope: "col" }, h)))),
      html("tbody", {}, ...rows.map(([name, cost, seconds]) => html(
        "tr",
        {},
        html("th", { scope: "row" }, name),
        html("td", {}, cost.bytes ? quantity("bytes", cost.bytes) : "–"),
        html("td", {}, cost.flops ? quantity("flops", cost.flops).replace("FLOP", "") : "–"),
        html("td", {}, ms(seconds)),
      ))),
    );
    const catchUp = fed > 1
      ? fed === event.context_len
        ? `First call of the LLM: it read all ${plural(fed, "token")} so far.`
        : `The LLM read ${plural(fed, "token")}: ${fed - 1} to catch up, then this step.`
      : fed === 1 ? "The LLM was up to date: it read one token." : null;
    return html("div", { class: "cv-block" }, html("h3", { class: "cv-subheading" }, "This step, estimated"), table, catchUp ? html("p", { class: "cv-caption" }, catchUp) : null);
  }
}
