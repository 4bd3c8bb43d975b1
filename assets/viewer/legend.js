/**
 * What the tints and outlines mean; the entries of the models and of decisive tokens also filter the text.
 *
 * The rule above the text is drawn as the text is, so it is legend too. Must not know tokens. Calls back with what is
 * to stand out, or null.
 */

import { html } from "./dom.js";
import { plural } from "../run/format.js";

/** @typedef {import("../run/run_look.js").KeptTokens} KeptTokens */

/** @param {Settings} settings */
export function whenItLooks({ threshold, doubt_budget: budget = 0, look_every: every = 0 }) {
  const causes = [
    ...(budget > 0 ? ["its doubts add up"] : []),
    ...(threshold > 0 ? ["its confidence is below τ"] : []),
    ...(every > 0 ? [`it has written ${plural(every, "token")}`] : []),
  ];
  return causes.length ? `When ${new Intl.ListFormat("en-GB", { type: "disjunction" }).format(causes)}` : "At the end";
}

/**
 * When the LLM looks at what the SLM wrote, and what it does then: one sentence whose terms are drawn as in the text,
 * so that it is the legend too. Must not know tokens.
 */
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

/** @type {[Writer, string][]} */
const SAMPLES = [
  ["slm", "SLM"],
  ["llm", "LLM"],
];

export class Legend {
  /** @param {(kept: KeptTokens|null) => void} onFilter @param {(isOn: boolean) => void} onCertainty */
  constructor(onFilter, onCertainty) {
    this.onFilter = onFilter;
    this.onCertainty = onCertainty;
    /** @type {KeptTokens|null} */
    this.filter = null;
    /** @type {Record<string, HTMLButtonElement>} */
    this.buttons = {};
    /** @param {string} look @param {...(string|Node)} inside */
    const sign = (look, ...inside) => html("span", { class: look, "aria-hidden": "true" }, ...inside);
    /** @param {Node} shown @param {string} words */
    const entry = (shown, words) => html("span", { class: "cv-key" }, shown, words);
    /** @param {KeptTokens} kept @param {string} title @param {...(string|Node)} inside */
    const filter = (kept, title, ...inside) => {
      const how = { class: "cv-key cv-key-button", "aria-pressed": "false", title, onclick: () => this.keep(kept) };
      return (this.buttons[kept] = html("button", { type: "button", ...how }, ...inside));
    };
    for (const [writer, label] of SAMPLES) {
      const steps = [0, 1, 2, 3].map((step) => html("span", { class: `cv-swatch cv-${writer} cv-c${step}` }));
      const words = html("span", {}, label, html("span", { class: "cv-wide" }, " wrote it"));
      filter(writer, `Show only what the ${label} wrote`, sign("cv-ramp", ...steps), words);
    }
    this.flip = entry(sign("cv-swatch cv-flip"), "would flip");
    this.hyp = entry(sign("cv-swatch cv-hyp"), "may differ");
    this.decisive = filter(
      "decisive",
      "Show only tokens of the LLM where the SLM would have written another one",
      sign("cv-swatch cv-decisive-key"),
      "decisive",
    );
    this.forced = entry(sign("cv-flag", "⚑"), "chosen by hand");
    this.changed = entry(sign("cv-swatch cv-changed-key"), "differs from its parent");
    this.certainty = html("input", { type: "checkbox", onchange: () => this.#tint() });
    this.root = html(
      "div",
      { class: "cv-legend", role: "group", "aria-label": "Legend; its buttons filter the text" },
      this.buttons.slm,
      this.buttons.llm,
      this.decisive,
      this.flip,
      this.hyp,
      this.forced,
      this.changed,
      html("label", { class: "cv-check cv-key", title: "Tints by certainty: stronger = further from τ" }, [
        this.certainty,
        "certainty",
      ]),
    );
  }

  /** These stand out; once more lets them go. @param {KeptTokens} kept */
  keep(kept) {
    this.#set(this.filter === kept ? null : kept);
  }

  /** @param {KeptTokens|null} kept */
  #set(kept) {
    this.filter = kept;
    for (const [name, node] of Object.entries(this.buttons))
      node.setAttribute("aria-pressed", String(name === this.filter));
    this.onFilter(this.filter);
  }

  #tint() {
    this.root.classList.toggle("cv-certainty", this.certainty.checked);
    this.onCertainty(this.certainty.checked);
  }

  /** As a person left it. */
  get look() {
    return { filter: this.filter, certainty: this.certainty.checked };
  }

  /** As if a person had chosen it. @param {{filter: KeptTokens|null, certainty: boolean}} look */
  show({ filter, certainty }) {
    this.#set(filter);
    this.certainty.checked = certainty;
    this.#tint();
  }

  /** Entries that nothing on screen uses are left out. @param {RunView} view */
  update(view) {
    this.flip.hidden = view.decisions.firstFlip < 0;
    this.hyp.hidden = view.decisions.doubt === null;
    this.decisive.hidden = !view.series.totals().nDecisive;
    this.forced.hidden = !view.hasForced;
    this.changed.hidden = view.changed === null;
  }
}
