/**
 * The formulas, each with the numbers of the run on the screen put in.
 *
 * Must not compute costs itself: it asks the viewer's cost model, so that these are the numbers of counters and chart.
 */

import { kvBytesPerToken, llmContext, weightBytes } from "../run/cost.js";
import { html } from "../viewer/dom.js";
import { formatTau, percent, probability, quantity, significant } from "../run/format.js";

/** @param {number} value */
const bytes = (value) => quantity("bytes", value);

/**
 * @param {RunView} view the viewer's state
 * @returns {[string, string, string][]} name, formula, the same with this run's numbers
 */
export function formulaRows(view) {
  const { costModel: model, series } = view;
  const totals = series.totals();
  const index = view.pinned ?? view.decisions.isLlm.indexOf(1);
  const event = view.events[index] ?? view.events[0];
  const tau = view.whatIf ?? event.threshold;
  const isLlm = Boolean(view.decisions.isLlm[event.index]);
  const fed = view.decisions.llmFed[event.index];
  const llmOnly = series.at("llmOnly", "bytes");
  /** @type {[string, string, string][]} */
  const rows = [
    [
      "Who writes",
      "LLM if confidence < τ, else SLM",
      `token ${event.index + 1}: ${probability(event.slm_confidence)} ` +
        `${event.slm_confidence < tau ? "<" : "≥"} ${formatTau(tau)}, so the ${isLlm ? "LLM" : "SLM"}`,
    ],
    [
      "Share of the LLM",
      "LLM tokens / tokens",
      `${totals.nLlmTokens} / ${totals.nTokens} = ${percent(totals.llmShare)}`,
    ],
    [
      "Weights read by one pass",
      "W = parameters × bytes each",
      `SLM ${bytes(weightBytes(model.slm))}, LLM ${bytes(weightBytes(model.llm))}`,
    ],
    [
      "Cache of one token",
      "κ = 2 × layers × KV heads × head size × bytes each",
      `LLM: 2 × ${model.llm.n_layers} × ${model.llm.n_kv_heads} × ${model.llm.head_dim} × ` +
        `${model.llm.bytes_per_element} = ${bytes(kvBytesPerToken(model.llm))}`,
    ],
  ];
  if (fed > 0) {
    rows.push([
      "One call of the LLM",
      "W + κ × (cached + new)",
      `token ${event.index + 1}: ${bytes(weightBytes(model.llm))} + ` +
        `${bytes(kvBytesPerToken(model.llm))} × (${llmContext(event) - fed} + ${fed}) = ` +
        `${bytes(model.parts(event, fed).llm.bytes)}`,
    ]);
  }
  rows.push(
    ["The whole run", "Σ SLM + router + (LLM where it is asked)", `${bytes(totals.bytes)}`],
    [
      "Of LLM-only bytes",
      "routed bytes / LLM-only bytes",
      `${bytes(totals.bytes)} / ${bytes(llmOnly)} = ${percent(totals.bytesShare)}`,
    ],
    [
      "Ratio of the models",
      "W of the LLM / W of the SLM",
      `${bytes(weightBytes(model.llm))} / ${bytes(weightBytes(model.slm))} = ` +
        `${significant(weightBytes(model.llm) / weightBytes(model.slm))}`,
    ],
  );
  return rows;
}

export class FormulaPanel {
  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.body = html("dl", { class: "cx-formulas" });
    this.drawn = "";
    this.root = html("section", { class: "cx-learn-card", "aria-labelledby": "cx-learn-formulas" }, [
      html("h2", { id: "cx-learn-formulas" }, "The formulas, with this run’s numbers"),
      html("p", { class: "cx-learn-small" }, [
        "They follow the run above: move τ, pin a token or price it for another pair, and they change. " +
          "Bytes are estimates.",
      ]),
      this.body,
    ]);
  }

  update() {
    const { view } = this.viewer;
    if (!view.head || !view.n) return;
    const rows = formulaRows(view);
    if (String(rows) === this.drawn) return;
    this.drawn = String(rows);
    this.body.replaceChildren(
      ...rows.map(([name, formula, numbers]) => {
        const said = html("dd", { class: "cx-formula-numbers" }, numbers);
        return html("div", {}, html("dt", {}, name), html("dd", { class: "cx-formula" }, formula), said);
      }),
    );
  }
}
