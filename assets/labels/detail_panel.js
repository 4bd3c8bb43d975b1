/**
 * One token in full: what both models would have written, its case, label and confidence; and both branches rolled out.
 *
 * Must not know how a roll-out is made: it asks through `onRollOut` and is given the result. Token text goes into text
 * nodes.
 */

import { prefersLlm } from "../run/decision.js";
import { button, html } from "../viewer/dom.js";
import { FINISH_WORDS, plural, probability } from "../run/format.js";
import { fillTokenText, visibleText } from "../viewer/text.js";
import { caseWords, labelWords } from "../viewer/truth.js";
import { verdictOfToken } from "./rows.js";
import { VERDICT_WORDS, tokenWords } from "./text_panel.js";
import { formatTauExact } from "./threshold_panel.js";

/** @typedef {import("./rows.js").LabelView} LabelView */

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
 * @property {"agrees"|"disagrees"|"undecided"} verdict
 * @property {Writer} preferred
 */

export class DetailPanel {
  /** @param {{onRollOut: (index: number) => void}} on */
  constructor(on) {
    this.on = on;
    this.root = html("section", { class: "cl-detail" });
  }

  /** @param {LabelView} view @param {RollOut|{busy: true}|undefined} rollout */
  update(view, rollout) {
    const { analysis, selected: i } = view;
    if (i === null) {
      this.root.replaceChildren(
        html(
          "p",
          { class: "cl-small" },
          "Choose a token to see what both models would have written there, and to roll out both branches.",
        ),
      );
      return;
    }
    const problem = analysis.problems[analysis.problemOf[i]];
    const token = html("bdi", { class: "cl-quote" }, tokenWords(analysis, i));
    const words = VERDICT_WORDS[verdictOfToken(view, i)];
    /** @param {string} name @param {number} tau */
    const decide = (name, tau) => {
      const confidence = analysis.confidence[name][i];
      // Beside tau two decimals may look equal and still decide.
      const shown = Math.abs(confidence - tau) < 0.005 ? confidence.toFixed(6) : probability(confidence);
      return (
        `${name}: confidence ${shown} at τ ${formatTauExact(tau)}, so the ` +
        `${prefersLlm(confidence, tau) ? "LLM" : "SLM"} writes.`
      );
    };
    this.root.replaceChildren(
      html("h4", { class: "cl-label" }, `Token ${i - problem.start + 1} of ${problem.n}: `, token),
      html(
        "p",
        { class: `cl-verdict cl-verdict-${verdictOfToken(view, i)}` },
        `${words[0].toUpperCase()}${words.slice(1)}.`,
      ),
      html(
        "div",
        { class: "cl-two" },
        model("SLM", "slm", analysis.slm[i], analysis.slmProbability[i], analysis.slmTruthProbability[i]),
        model("LLM", "llm", analysis.llm[i], analysis.llmProbability[i], analysis.llmTruthProbability[i]),
      ),
      html(
        "p",
        { class: "cl-small" },
        `${caseWords(analysis.caseOf[i])} ${labelWords(analysis.caseOf[i], analysis.label[i])}`,
      ),
      html(
        "p",
        { class: "cl-small" },
        decide(view.router, view.tau),
        view.other ? ` ${decide(view.other, view.otherTau)}` : "",
      ),
      this.#branches(view, i, rollout),
    );
  }

  /** @param {LabelView} view @param {number} i @param {RollOut|{busy: true}|undefined} rollout */
  #branches(view, i, rollout) {
    const ask = button(rollout?.busy ? "Rolling out …" : "Roll out both branches", "cl-action", {
      "data-rollout": true,
    });
    ask.disabled = Boolean(rollout?.busy);
    ask.addEventListener("click", () => this.on.onRollOut(i));
    const note = html(
      "p",
      { class: "cl-caption" },
      "From the true text before it, each model’s token in turn, then routed decoding with " +
        `${view.router} at τ ${formatTauExact(view.tau)}, greedily.`,
    );
    if (!rollout || rollout.busy) return html("div", { class: "cl-branches" }, ask, note);
    const same = view.analysis.slm[i] === view.analysis.llm[i];
    return html(
      "div",
      { class: "cl-branches" },
      ask,
      html(
        "p",
        { class: "cl-caption" },
        `Rolled out with ${rollout.router} at τ ${formatTauExact(rollout.tau)}, greedily, from the true ` +
          "text before the " +
          `token.${same ? " Both models write the same token here, so the branches are the same." : ""}`,
      ),
      html(
        "div",
        { class: "cl-two" },
        branch("The SLM writes", rollout.slm, "slm"),
        branch("The LLM writes", rollout.llm, "llm"),
      ),
      html(
        "p",
        { class: "cl-conclusion", "data-verdict": rollout.verdict },
        conclusion(rollout, view.analysis.label[i]),
      ),
    );
  }
}

/**
 * @param {string} name
 * @param {Writer} writer
 * @param {string|null} token
 * @param {number} chance
 * @param {number} truth
 */
function model(name, writer, token, chance, truth) {
  return html(
    "div",
    { class: `cl-model cl-model-${writer}` },
    html("span", { class: "cl-note" }, `${name} would write`),
    html("bdi", { class: "cl-quote" }, token === null ? "end of text" : visibleText(token)),
    html(
      "span",
      { class: "cl-note" },
      `with probability ${probability(chance)}; the true token has ${probability(truth)}`,
    ),
  );
}

/** @param {string} title @param {RollOutBranch} result @param {Writer} writer */
function branch(title, result, writer) {
  const text = html("p", { class: "cl-branch-text" });
  const own = html("span", { class: `cl-t cl-${writer} cl-c3` });
  if (result.token === "") own.append(html("span", { class: "cv-mark cv-mark-hidden", "data-mark": "end" }));
  else fillTokenText(own, result.token);
  text.append("… ", own);
  for (const [piece, source] of result.pieces) {
    if (piece === "") continue;
    const node = html("span", { class: `cl-t cl-${source} cl-c0` });
    fillTokenText(node, piece);
    text.append(node);
  }
  const how = result.finish === "eos" ? "" : ` It ${FINISH_WORDS[result.finish]}.`;
  const answer = result.answer === null ? "no answer" : visibleText(result.answer);
  return html(
    "div",
    { class: "cl-branch" },
    html("span", { class: "cl-note" }, title),
    text,
    html(
      "p",
      { class: `cl-answer cl-answer-${result.correct ? "right" : "wrong"}` },
      `${result.correct ? "✓ right" : "✗ wrong"}: `,
      html("bdi", {}, answer),
    ),
    html(
      "p",
      { class: "cl-caption" },
      `${plural(result.pieces.length, "token")} after it, ${result.n_llm} by the LLM.${how}`,
    ),
  );
}

/** @param {RollOut} rollout @param {number} label */
function conclusion(rollout, label) {
  const given = label ? "label 1, prefer the SLM" : "label 0, prefer the LLM";
  if (rollout.verdict === "undecided")
    return `Undecided: both branches fail, so neither model can be preferred. The token has ${given}.`;
  const why =
    rollout.preferred === "slm" ? "the SLM’s branch is right, and it is cheaper" : "only the LLM’s branch is right";
  return (
    `The branches ${rollout.verdict === "agrees" ? "agree" : "disagree"} with the label: ${why}; the ` +
    `token has ${given}.`
  );
}
