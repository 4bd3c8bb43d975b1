/**
 * One token in full: what both models would have written, its case, label and confidence; and both branches rolled out.
 *
 * Must not know how a roll-out is made: it asks through `onRollOut` and is given the result. Token text goes into text
 * nodes.
 */

import { prefersLlm } from "../run/decision.js";
import { button, html } from "../viewer/dom.js";
import { FINISH_WORDS, WRITER_NAMES, plural, probability } from "../run/format.js";
import { fillTokenText, visibleText } from "../viewer/text.js";
import { caseWords, labelWords } from "../viewer/truth.js";
import { modelWords, tokenWords } from "./analysis.js";
import { verdictOfToken } from "./label_view.js";
import { UNDECIDED } from "./verdict.js";
import { VERDICT_WORDS, hiddenMark } from "./text_panel.js";
import { formatTauExact } from "./threshold_panel.js";

/** @typedef {import("./label_view.js").LabelView} LabelView */

/**
 * @typedef {Object} RollOutBranch
 * @property {string} token
 * @property {[string, Writer][]} pieces text and writer of what follows
 * @property {FinishReason} finish
 * @property {string|null} answer
 * @property {boolean} correct
 * @property {number} n_llm
 *
 * @typedef {Object} RollOut both branches of a token
 * @property {false} [busy]
 * @property {number} index
 * @property {string} router
 * @property {number} tau
 * @property {RollOutBranch} slm
 * @property {RollOutBranch} llm
 * @property {Writer|null} preferred null where both answers are wrong
 */

/** Of labels by outcome. @type {Record<number, string>} */
const OUTCOME_WORDS = {
  0: "Label 0: with the LLM going on alone, only the LLM’s token led to the right answer.",
  1: "Label 1: with the LLM going on alone, the SLM’s token led to the right answer.",
  2: "No label: with the LLM going on alone, neither model’s token led to the right answer.",
};
/** @type {Record<number, string>} */
const GIVEN = { 0: "label 0, prefer the LLM", 1: "label 1, prefer the SLM", 2: "no label" };
const NOTHING = "Choose a token to see what both models would have written there, and to roll out both branches.";
/** @param {string} look @param {...(string|Node)} words */
const paragraph = (look, ...words) => html("p", { class: look }, ...words);
/** @param {...Node} parts */
const two = (...parts) => html("div", { class: "cl-two" }, ...parts);

export class DetailPanel {
  /** @param {import("./label_view.js").LabelActions} labels */
  constructor(labels) {
    this.labels = labels;
    this.root = html("section", { class: "cl-detail" });
  }

  /** @param {LabelView} view @param {RollOut|{busy: true}|undefined} rollout */
  update(view, rollout) {
    const { analysis, selected: i } = view;
    if (i === null) {
      this.root.replaceChildren(paragraph("cl-small", NOTHING));
      return;
    }
    const { start, n } = analysis.problems[analysis.problemOf[i]];
    const verdict = verdictOfToken(view, i);
    const words = VERDICT_WORDS[verdict];
    const other = view.other ? ` ${decision(view, view.other, view.otherTau, i)}` : "";
    this.root.replaceChildren(
      html("h4", { class: "cl-label" }, `Token ${i - start + 1} of ${n}: `, quoted(tokenWords(analysis, i))),
      paragraph(`cl-verdict cl-verdict-${verdict}`, `${words[0].toUpperCase()}${words.slice(1)}.`),
      two(
        model("slm", analysis.slm[i], analysis.slmProbability[i], analysis.slmTruthProbability[i]),
        model("llm", analysis.llm[i], analysis.llmProbability[i], analysis.llmTruthProbability[i]),
      ),
      paragraph("cl-small", `${caseWords(analysis.caseOf[i])} ${why(analysis, i)}`),
      paragraph("cl-small", decision(view, view.router, view.tau, i), other),
      this.#branches(view, i, rollout),
    );
  }

  /** @param {LabelView} view @param {number} i @param {RollOut|{busy: true}|undefined} rollout */
  #branches({ analysis, router, tau }, i, rollout) {
    const isBusy = Boolean(rollout?.busy);
    const ask = button(isBusy ? "Rolling out …" : "Roll out both branches", "cl-action", {
      "data-rollout": true,
      disabled: isBusy,
      onclick: () => this.labels.rollOut(i),
    });
    if (!rollout || rollout.busy) {
      const how =
        "From the true text before it, each model’s token in turn, then routed decoding with " +
        `${router} at τ ${formatTauExact(tau)}, greedily.`;
      return html("div", { class: "cl-branches" }, ask, paragraph("cl-caption", how));
    }
    const isSame = analysis.slm[i] === analysis.llm[i];
    const same = isSame ? " Both models write the same token here, so the branches are the same." : "";
    const made =
      `Rolled out with ${rollout.router} at τ ${formatTauExact(rollout.tau)}, greedily, from the true text before ` +
      `the token.${same}`;
    return html("div", { class: "cl-branches" }, [
      ask,
      paragraph("cl-caption", made),
      two(branch("slm", rollout.slm), branch("llm", rollout.llm)),
      html("p", { class: "cl-conclusion" }, conclusion(rollout, analysis.label[i])),
    ]);
  }
}

/**
 * Who writes a token.
 * @param {LabelView} view
 * @param {string} router
 * @param {number} tau
 * @param {number} i
 */
function decision({ analysis }, router, tau, i) {
  const confidence = analysis.confidence[router][i];
  // Beside tau two decimals may look equal and still decide.
  const shown = Math.abs(confidence - tau) < 0.005 ? confidence.toFixed(6) : probability(confidence);
  const writer = prefersLlm(confidence, tau) ? "LLM" : "SLM";
  return `${router}: confidence ${shown} at τ ${formatTauExact(tau)}, so the ${writer} writes.`;
}

/** @param {string} words */
const quoted = (words) => html("bdi", { class: "cl-quote" }, words);
/** @param {string} words */
const note = (words) => html("span", { class: "cl-note" }, words);

/** @param {Writer} writer @param {string|null} token @param {number} chance @param {number} truth */
const model = (writer, token, chance, truth) =>
  html("div", { class: `cl-model cl-model-${writer}` }, [
    note(`${WRITER_NAMES[writer]} would write`),
    quoted(modelWords(token)),
    note(`with probability ${probability(chance)}; the true token has ${probability(truth)}`),
  ]);

/** @param {string} text @param {Writer} writer @param {string} certainty */
function piece(text, writer, certainty) {
  const node = html("span", { class: `cl-t cl-${writer} ${certainty}` });
  fillTokenText(node, text);
  return node;
}

/** @param {Writer} writer of the first token @param {RollOutBranch} result */
function branch(writer, { token, pieces, finish, answer, correct, n_llm: nLlm }) {
  const own = piece(token, writer, "cl-c3");
  if (token === "") own.append(hiddenMark("end"));
  const after = pieces.flatMap(([text, source]) => (text ? [piece(text, source, "cl-c0")] : []));
  const how = finish === "eos" ? "" : ` It ${FINISH_WORDS[finish]}.`;
  return html("div", { class: "cl-branch" }, [
    note(`The ${WRITER_NAMES[writer]} writes`),
    paragraph("cl-branch-text", "… ", own, ...after),
    paragraph(
      `cl-answer cl-answer-${correct ? "right" : "wrong"}`,
      `${correct ? "✓ right" : "✗ wrong"}: `,
      html("bdi", {}, answer === null ? "no answer" : visibleText(answer)),
    ),
    paragraph("cl-caption", `${plural(pieces.length, "token")} after it, ${nLlm} by the LLM.${how}`),
  ]);
}

/** What the label is, and why. @param {LabelView["analysis"]} analysis @param {number} i */
function why({ rule, caseOf, label, slm, llm }, i) {
  if (rule === "published") return labelWords(caseOf[i], label[i]);
  if (slm[i] === llm[i]) return "Label 1: both models write the same token.";
  return OUTCOME_WORDS[label[i]];
}

/** What the two branches say about a label. @param {RollOut} rollout @param {number} label */
export function conclusion({ preferred }, label) {
  const given = GIVEN[label];
  if (preferred === null)
    return `Undecided: both branches fail, so neither model can be preferred. The token has ${given}.`;
  const why = preferred === "slm" ? "the SLM’s branch is right, and it is cheaper" : "only the LLM’s branch is right";
  if (label === UNDECIDED) return `The token has no label. Here ${why}.`;
  const agree = given.endsWith(WRITER_NAMES[preferred]) ? "agree" : "disagree";
  return `The branches ${agree} with the label: ${why}; the token has ${given}.`;
}
