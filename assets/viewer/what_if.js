/**
 * The line above the text: at which tau the run was written, what another tau would change, the way back, the way on
 * for real, and the tau for a budget.
 *
 * Must not know how a branch is made: it calls back.
 */

import { decisiveWords } from "./counters.js";
import { button, html, instead, options, setText } from "./dom.js";
import { dialsOf, isSameButForTau, otherDialsInWords } from "../run/dials.js";
import { formatTau, plural, significant } from "../run/format.js";
import { BUDGETS, solveTau } from "../run/solve.js";

/** Why the text may differ from a token on. */
const DOUBTS = {
  other: "the other model writes another token there",
  unknown: "what the LLM writes there is not known: ask it everywhere to see further",
  confidence: "this router looks at who wrote before",
  look: "the LLM looks back at another place there",
};

/** Where dials stand, in words. @param {Partial<Settings>} settings */
export const dialsWords = (settings) =>
  [`τ ${formatTau(dialsOf(settings).threshold)}`, otherDialsInWords(settings)].filter(Boolean).join(", ");

/**
 * What another tau does to a finished run, in a sentence.
 * @param {number} tau
 * @param {{nFlips: number, nExact: number, doubt: Replay["doubt"]}} how
 */
export function whatIfWords(tau, { nFlips, nExact, doubt }) {
  const at = `At τ ${formatTau(tau)}`;
  if (nFlips === 0) return `${at} every decision is the same, and so is the text.`;
  if (doubt === null) return `${at} ${plural(nFlips, "token")} would change hands: the same text, exactly.`;
  return (
    `${at} the same text, exactly, before token ${nExact + 1}; from there on (hatched) it may ` +
    `differ: ${DOUBTS[doubt]}.`
  );
}

/**
 * What a finished run is, in a sentence: how many tokens the LLM wrote, and how many of them changed the text.
 * @param {Partial<Settings>} dials
 * @param {Totals} totals
 */
export function ownWords(dials, totals) {
  const at = `Written at ${dialsWords(dials)}`;
  if (!totals.nLlmTokens) return `${at}, all of it by the SLM.`;
  return (
    `${at}: ${plural(totals.nLlmTokens, "token")} by the LLM; ${decisiveWords(totals)} of them ` +
    "decisive, where the SLM would have written another one."
  );
}

/**
 * What is being written again, in a sentence.
 * @param {number} tau
 * @param {{nFlips: number, nExact: number, doubt: Replay["doubt"]}} decisions
 */
function pendingWords(tau, decisions) {
  if (decisions.doubt === null) return whatIfWords(tau, decisions);
  return `At τ ${formatTau(tau)} the text is written again from token ${decisions.nExact + 1} on.`;
}

/**
 * A run that was written again under moved dials, in a sentence.
 * @param {Trace} origin
 * @param {RunView} view
 */
function againWords(origin, view) {
  const totals = view.series.totals();
  const { changed } = view;
  const first = changed ? changed.indexOf(1) : -1;
  const isSame = first < 0 && origin.events.length === view.n;
  return (
    `${dialsWords(view.head?.settings ?? {})}, written in this browser: ` +
    `${isSame ? "the same text" : `another text from token ${(first < 0 ? view.n : first) + 1} on`}; ` +
    `${plural(totals.nLlmTokens, "token")} by the LLM, ${decisiveWords(totals)} of them decisive.`
  );
}

export class WhatIf {
  /** @param {{onBack: () => void, onContinue: () => void, onTau: (tau: number) => void}} on */
  constructor(on) {
    this.on = on;
    /** @type {RunView|null} */
    this.view = null;
    /** @type {number|null} */
    this.foundTau = null;
    this.sentence = html("span", { class: "cv-sentence" });
    this.back = button("", "cv-link", { hidden: true, onclick: () => on.onBack() });
    this.goOn = button("", "cv-do", { hidden: true, onclick: () => on.onContinue() });
    this.limit = html("input", {
      type: "number",
      class: "cv-field cv-limit",
      min: 0,
      step: "any",
      value: 20,
      "aria-label": "Budget",
    });
    this.unit = html("select", { class: "cv-select", "aria-label": "Unit of the budget" });
    this.unit.append(...options(Object.entries(BUDGETS).map(([name, { label }]) => [name, label])));
    this.find = html("button", { type: "submit", class: "cv-button cv-do" }, "Find τ");
    this.found = html("output", { class: "cv-count-note", "aria-live": "polite" });
    this.form = html("form", { class: "cv-budget", "aria-label": "τ for a budget", ...instead(() => this.#solve()) }, [
      html("span", { class: "cv-tool-name" }, "At most"),
      this.limit,
      this.unit,
      this.find,
      this.found,
    ]);
    this.root = html("div", { class: "cv-notice" }, this.sentence, this.back, this.goOn);
  }

  #solve() {
    const { view } = this;
    const limit = this.limit.valueAsNumber;
    if (!view?.n || view.live) return;
    if (!(limit >= 0)) {
      setText(this.found, "Give a number of at least 0.");
      return;
    }
    const { tau, value, least, next, isExact } = solveTau(view, this.unit.value, limit);
    const unit = BUDGETS[this.unit.value].label;
    if (tau === null) setText(this.found, `Not possible: even at τ 0 it is ${significant(least)} ${unit}.`);
    else {
      // A prediction: the text may become another one.
      const reached = `τ ${formatTau(tau)}: ${significant(value)} ${unit}, by replay`;
      const near =
        next === null ? "all that there is to spend" : `the nearest reachable; the next is ${significant(next)}`;
      setText(this.found, isExact ? reached : `${reached}: ${near}`);
      this.foundTau = tau;
      this.on.onTau(tau);
    }
  }

  /** @param {RunView} view @param {boolean} canBranch whether a real continuation can be asked for */
  update(view, canBranch) {
    // What was found is said for as long as its tau holds, also beside the text that is written again with it.
    const tau = view.whatIf ?? view.head?.settings.threshold ?? null;
    if (this.view !== view && tau !== this.foundTau) setText(this.found, "");
    this.view = view;
    const { firstFlip } = view.decisions;
    const moved = view.whatIf !== null;
    const isRewritten = view.origin !== null && !moved;
    this.back.hidden = !moved && !isRewritten;
    this.goOn.hidden = !canBranch || view.isPending || !(isRewritten || (moved && firstFlip >= 0));
    this.form.hidden = view.live || view.n === 0;
    this.root.dataset.kind = moved ? "what-if" : "own";
    let text = "";
    if (view.whatIf !== null && view.isPending) text = pendingWords(view.whatIf, view.decisions);
    else if (view.whatIf !== null) text = whatIfWords(view.whatIf, view.decisions);
    else if (view.origin) text = againWords(view.origin, view);
    else if (view.head && view.n) {
      text =
        view.live || view.isComing
          ? `Writing at ${dialsWords(view.head.settings)}.`
          : ownWords(view.head.settings, view.series.totals());
      if (view.isHeld && view.shown < view.n) text = `Held at token ${view.shown} of ${view.n}: play shows the rest.`;
    } else if (view.head) text = view.live ? "Reading the prompt." : "Ended before the first token.";
    setText(this.sentence, text);
    const isTau = isSameButForTau(view.ownDials, view.head?.settings ?? {});
    setText(this.back, isTau ? `Back to the run’s τ ${formatTau(view.ownTau)}` : "Back to the run as it was");
    const goOn = firstFlip < 0 ? "" : `Continue from token ${firstFlip + 1} for real`;
    setText(this.goOn, isRewritten ? "Keep it as a branch" : goOn);
  }
}
