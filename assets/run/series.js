/**
 * Running totals of a run, one entry per token, so that "after the first k tokens" is one array read.
 *
 * Pure: must not know the DOM or how tau is chosen; it is told each decision. Called by viewer.js, read by the chart
 * and the counters. Appending is the only mutation, so a live run costs the same per token at any length.
 */

/** @type {Metric[]} */
const METRICS = ["bytes", "flops", "seconds"];
const COUNTS = ["llmTokens", "decisive", "decisiveUnknown", "handOffs", "measured"];
/** @type {CostLine[]} */
const LINES = ["routed", "slmOnly", "llmOnly"];

/** Cumulative cost, LLM tokens, hand-offs and measured seconds. Entry k is the total of the first k tokens. */
export class RunSeries {
  /**
   * @param {import("./cost.js").CostModel} costModel
   * @param {number} capacity
   * @param {RunSeries|null} own the series of the same finished run as it was made, under the same cost model: what
   *   does not
   *   depend on decisions is read from it, which halves the work of a replay
   */
  constructor(costModel, capacity = 256, own = null) {
    this.costModel = costModel;
    this.own = own;
    this.length = 0;
    /** @type {Record<string, Float64Array>} */
    this.columns = {};
    for (const name of COUNTS) this.columns[name] = new Float64Array(0);
    for (const line of LINES) for (const metric of METRICS) this.columns[`${line}.${metric}`] = new Float64Array(0);
    this.size = 0;
    this.lastIsLlm = false;
    this.#grow(capacity + 1);
  }

  /** @param {number} size */
  #grow(size) {
    for (const name of Object.keys(this.columns)) {
      const wider = new Float64Array(size);
      wider.set(this.columns[name]);
      this.columns[name] = wider;
    }
    this.size = size;
  }

  /**
   * Adds the next token under the decision that holds for it; `decisive` as in `Replay`.
   * @param {TokenEvent} event
   * @param {boolean|number} isLlm
   * @param {number} llmFed
   */
  push(event, isLlm, llmFed, decisive = 0) {
    const k = this.length;
    if (k + 1 >= this.size) this.#grow(this.size * 2);
    const { columns, costModel } = this;
    this.#add("routed", k, costModel.step(event, llmFed));
    if (!this.own) {
      this.#add("slmOnly", k, costModel.alone(costModel.slm, event));
      this.#add("llmOnly", k, costModel.alone(costModel.llm, event));
    }
    const changed = k > 0 && Boolean(isLlm) !== this.lastIsLlm;
    columns.llmTokens[k + 1] = columns.llmTokens[k] + (isLlm ? 1 : 0);
    columns.decisive[k + 1] = columns.decisive[k] + (decisive > 0 ? 1 : 0);
    columns.decisiveUnknown[k + 1] = columns.decisiveUnknown[k] + (decisive < 0 ? 1 : 0);
    columns.handOffs[k + 1] = columns.handOffs[k] + (changed ? 1 : 0);
    columns.measured[k + 1] = columns.measured[k] + event.slm_s + event.router_s + event.llm_s;
    this.lastIsLlm = Boolean(isLlm);
    this.length = k + 1;
  }

  /** Forgets all but the first tokens. @param {number} n */
  truncate(n) {
    this.length = n;
    this.lastIsLlm = n > 0 && this.columns.llmTokens[n] > this.columns.llmTokens[n - 1];
  }

  /** @param {CostLine} line @param {number} k @param {Cost} cost */
  #add(line, k, cost) {
    for (const metric of METRICS) {
      const column = this.columns[`${line}.${metric}`];
      column[k + 1] = column[k] + cost[metric];
    }
  }

  /**
   * Total of `line` ("routed", "slmOnly", "llmOnly") in `metric` after `k` tokens.
   * @param {CostLine} line
   * @param {Metric} metric
   */
  at(line, metric, k = this.length) {
    const { columns } = this.own && line !== "routed" ? this.own : this;
    return columns[`${line}.${metric}`][k];
  }

  /** Counts after `k` tokens, ready to show. */
  totals(k = this.length) {
    const { columns } = this;
    const llmOnlyBytes = this.at("llmOnly", "bytes", k);
    return {
      nTokens: k,
      nLlmTokens: columns.llmTokens[k],
      llmShare: k ? columns.llmTokens[k] / k : 0,
      nDecisive: columns.decisive[k],
      nDecisiveUnknown: columns.decisiveUnknown[k],
      handOffs: columns.handOffs[k],
      bytes: this.at("routed", "bytes", k),
      bytesShare: llmOnlyBytes ? this.at("routed", "bytes", k) / llmOnlyBytes : 0,
      measuredS: columns.measured[k],
    };
  }
}

/**
 * The series of a whole run under a replay; `own` as in `RunSeries`.
 * @param {CostModel} costModel
 * @param {TokenEvent[]} events
 * @param {Replay} decisions
 * @param {RunSeries|null} [own]
 */
export function seriesOf(costModel, events, decisions, own = null) {
  const series = new RunSeries(costModel, Math.max(64, events.length), own);
  const { isLlm, llmFed, decisive } = decisions;
  for (let i = 0; i < events.length; i++) series.push(events[i], isLlm[i], llmFed[i], decisive[i]);
  return series;
}

/**
 * Token counts at which a line of `n` tokens is drawn: all of them, or evenly thinned with both ends kept.
 * @param {number} n
 */
export function samplePoints(n, maxPoints = 240) {
  const step = Math.max(1, n / maxPoints);
  const points = [];
  for (let k = 0; k < n; k += step) points.push(Math.floor(k));
  points.push(n);
  return points;
}
