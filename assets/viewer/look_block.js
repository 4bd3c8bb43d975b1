/**
 * What the LLM read when it looked back, beside one token: how probable each token in question was to it.
 *
 * Must not know what is drawn elsewhere. Called by the inspector.
 */

import { prefersLlm } from "../run/decision.js";
import { block, caption, html, svg } from "./dom.js";
import { plural, probability, significant } from "../run/format.js";
import { visibleText } from "./text.js";

const HEIGHT = 48;

/**
 * The block, or null where the LLM did not look here.
 * @param {RunView} view @param {number} index
 */
export function lookBlock({ events, head }, index) {
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
export function lookRelation({ events, decisions, whatIf }, index) {
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
