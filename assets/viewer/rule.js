/**
 * When the LLM looks at what the SLM wrote, and what it does then: one sentence whose terms are drawn as in the text,
 * so that it is the legend too. Must not know tokens.
 */

import { html } from "./dom.js";
import { plural } from "../run/format.js";

/** @param {Settings} settings */
export function whenItLooks({ threshold, doubt_budget: budget = 0, look_every: every = 0 }) {
  const causes = [
    ...(budget > 0 ? ["its doubts add up"] : []),
    ...(threshold > 0 ? ["its confidence is below τ"] : []),
    ...(every > 0 ? [`it has written ${plural(every, "token")}`] : []),
  ];
  return causes.length ? `When ${new Intl.ListFormat("en-GB", { type: "disjunction" }).format(causes)}` : "At the end";
}

export class Rule {
  /** @type {TraceHead|null} */
  head = null;
  root = html("p", { class: "cv-rule", hidden: true });

  /** @param {RunView} view */
  update({ head, looksBack }) {
    this.root.hidden = !looksBack;
    if (!head || !looksBack || head === this.head) return;
    this.head = head;
    const slip = head.settings.take_back === 1 ? "first difference" : "first slip";
    /** @param {string} look @param {string} words */
    const term = (look, words) => html("span", { class: look }, words);
    this.root.replaceChildren(
      ...["The ", term("cv-slm", "small model writes"), `. ${whenItLooks(head.settings)}, the large model looks at `],
      ...["what it has ", term("cv-slm cv-unread", "not read yet"), ", "],
      ...[
        html("s", { class: "cv-gone" }, "takes back"),
        ` everything from the ${slip} on, and `,
        term("cv-llm", "writes one token"),
        " there.",
      ],
    );
  }
}
