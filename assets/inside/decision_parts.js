/**
 * The upper half of an inside: what the SLM offers, what the router makes of it, who writes. Must not know
 * who computes.
 */

import { formatTau, percent, plural, probability, significant } from "../run/format.js";
import { dialPicture } from "../viewer/dial.js";
import { html, pairs } from "../viewer/dom.js";
import { relationOf } from "../viewer/inspector.js";
import { visibleText } from "../viewer/text.js";
import { networkPicture, signed } from "./network.js";

/**
 * Routers without layers, in words: what each reads, and what its confidence is of that. By name, as both engines have
 * them; of any other router nothing is said but what came of it.
 *
 * @typedef {Object} RouterWords
 * @property {string} says
 * @property {[string, string][]} reads what, and how much
 * @property {string} is what the confidence is
 */

/** @param {number|null} value */
const nats = (value) => (value === null ? "not used: the SLM wrote it" : `${significant(value)} nats`);

/** @type {Record<string, (inside: Inside) => RouterWords>} */
const WORDS = {
  "max-probability": ({ max_probability: p }) => ({
    says: "It has no layers: it takes one number of the SLM as it is.",
    reads: [["probability of the SLM’s first choice", probability(p)]],
    is: "that probability",
  }),
  margin: ({ max_probability: p, margin }) => ({
    says: "It has no layers: it takes the first choice against the second.",
    reads: [
      ["probability of the SLM’s first choice", probability(p)],
      ["of its second", probability(p - margin)],
    ],
    is: `${probability(p)} − ${probability(p - margin)}`,
  }),
  entropy: ({ entropy }) => ({
    says: "It has no layers: a wide distribution gives little confidence.",
    reads: [["entropy of the SLM’s distribution", nats(entropy)]],
    is: `e to the power of −${significant(entropy)}`,
  }),
  "bidirectional-entropy": ({ entropy, llm_entropy: llm }) => ({
    says: "It has no layers: the greater of two entropies counts.",
    reads: [
      ["entropy of the SLM’s distribution", nats(entropy)],
      ["of the LLM’s, at the token before", nats(llm)],
    ],
    is: `e to the power of −${significant(Math.max(entropy, llm ?? 0))}`,
  }),
  random: () => ({
    says: "It reads neither model.",
    reads: [],
    is: "a number drawn from the prompt and the position, the same in every run",
  }),
  disagreement: ({ confidence }) => ({
    says: "It has the LLM read every token too, which is counted, and compares.",
    reads: [["first choices of both models", confidence === 1 ? "the same" : "different"]],
    is: confidence === 1 ? "1, because they are the same" : "0, because they differ",
  }),
  "always-slm": () => ({ says: "It reads nothing.", reads: [], is: "1, always" }),
  "always-llm": () => ({ says: "It reads nothing.", reads: [], is: "0, always" }),
};

/** @param {string} name of the router @param {Inside} inside @returns {RouterWords} */
const wordsOf = (name, inside) =>
  Object.hasOwn(WORDS, name)
    ? WORDS[name](inside)
    : { says: "How this router computes is not known to this page.", reads: [], is: "what it gave" };

const SAME = 0.005;
const BESIDE = 486; // px of the other two columns

/** Three decimals, and never a 0 or a 1 that it is not. @param {number} value */
export const fine = (value) =>
  [0, 1].includes(value) || (value > 5e-4 && value < 1 - 5e-4) ? value.toFixed(3) : probability(value);

/** A token's word without the space before it, where it has one. @param {string} text */
const wordOf = (text) => visibleText(text.trim() || text) || "end";

/** @param {string} title @param {...(Node|string|null|undefined)} more */
export const heading = (title, ...more) =>
  html("h3", { class: "ci-heading" }, title, html("small", {}, ...more.filter(Boolean)));

/** @param {string} words */
export const note = (words) => html("p", { class: "ci-note" }, words);

/** @param {TokenEvent} event @param {Inside|null} inside */
export function slmPart(event, inside) {
  const rows = event.slm_top.slice(0, 4).map(([, text, p]) => {
    const bar = html("i", { class: "ci-bar", style: { width: percent(p, 1) } });
    return html("li", {}, html("bdi", { class: "ci-code" }, wordOf(text)), html("span", {}, bar), probability(p));
  });
  return html("div", {}, [
    heading("The SLM", `has read ${plural(event.context_len, "token")} and would write`),
    rows.length ? html("ol", { class: "ci-candidates" }, ...rows) : note("Not recorded."),
    pairs("ci-facts", [
      ["first choice", inside ? probability(inside.max_probability) : "–"],
      ["lead over 2nd", inside ? probability(inside.margin) : "–"],
      ["entropy", inside ? `${significant(inside.entropy)} nats` : "–"],
    ]),
  ]);
}

/**
 * @param {string} name of the router @param {Inside|null} inside @param {string} notice why there is none
 * @param {number} width of all three parts
 */
export function routerPart(name, inside, notice, width) {
  const place = html("div", { class: "ci-router" });
  if (inside?.layers) {
    const state = name === "query-level" ? "The prompt’s state" : "Its state";
    place.append(networkPicture(inside.layers, width < 900 ? width : width - BESIDE, state));
  } else if (inside) {
    const { says, reads, is } = wordsOf(name, inside);
    const came = html("p", { class: "ci-is" }, [
      "Its confidence is ",
      html("strong", {}, is),
      `: ${fine(inside.confidence)}.`,
    ]);
    place.append(heading("Router", name), html("p", { class: "ci-says" }, says), pairs("ci-facts", reads), came);
  } else place.append(heading("Router", name), note(notice));
  return place;
}

/** @param {RunView} view @param {number} index @param {Inside|null} inside */
export function verdictPart(view, index, inside) {
  const event = view.events[index];
  const tau = view.tauAt(index);
  const { slm_confidence: confidence } = event;
  const writer = view.decisions.isLlm[index] ? "llm" : "slm";
  const isForced = view.isForced(index);
  const relation = isForced ? "chosen by hand, whatever τ says" : relationOf(confidence, tau);
  const power = inside?.layers ? html("sup", {}, signed(-inside.layers.logit).replace("+", "")) : null;
  const isOther = inside && Math.abs(inside.confidence - confidence) > SAME;
  return html("div", { class: "ci-verdict" }, [
    heading("Confidence in the SLM", ...(power ? ["1 ÷ (1 + e", power, ")"] : [])),
    dialPicture(confidence, tau, relation),
    html("div", { class: "ci-number-block" }, [
      html("p", { class: `ci-big ci-ink-${writer}` }, fine(confidence)),
      html("p", {}, isForced ? relation : `${confidence < tau ? "below" : "not below"} τ = ${formatTau(tau)}`),
    ]),
    html("bdi", { class: `ci-chip ci-chip-${writer}` }, wordOf(event.text)),
    html("p", { class: "ci-who" }, html("strong", {}, `The ${writer.toUpperCase()} writes. `), whoWords(view, index)),
    isOther ? note(`Computed again here it is ${fine(inside.confidence)}: other hardware rounds otherwise.`) : null,
  ]);
}

/** What the writer does here. @param {RunView} view @param {number} index */
function whoWords({ events, decisions }, index) {
  const event = events[index];
  if (decisions.isFlipped[index]) return `At this τ; in the run the ${event.source.toUpperCase()} did.`;
  if (event.source === "slm") return decisions.llmFed[index] ? "The LLM has read it too." : "The LLM is not called.";
  const [first] = event.llm_top;
  if (!first) return "";
  const [id, text, p] = first;
  const share = percent(p, p > 0.995 || p < 0.1 ? 1 : 0);
  if (id === event.slm_token_id) return `It agrees: ${share} for “${wordOf(text)}”.`;
  const other = event.slm_top.find(([own]) => own === event.slm_token_id);
  return `It gives “${wordOf(text)}” ${share}${other ? `, not “${wordOf(other[1])}”` : ""}.`;
}
