/**
 * The recipe as a sentence of selects, with the one next action beside it. On a phone the action is a bar at the foot.
 *
 * Must not know what an action does.
 *
 * @typedef {import("./recipe.js").Recipe} Recipe
 * @typedef {import("./recipe.js").Part} Part
 * @typedef {{label: string, act: () => void, isOff?: boolean}} Action
 */

import { html, instead, options, plainButton, setText } from "../viewer/dom.js";
import { CHOICES, inWords, kindInWords } from "./recipe.js";

/** @type {Record<Part, string>} */
const NAMES = {
  n: "How many problems",
  of: "Which problems",
  rule: "Label rule",
  truth: "Which answer counts",
  net: "What is trained",
  share: "Share of tokens for the LLM",
  ask: "Unseen problems",
};
/** The sentence around its selects. @type {[string, Part][]} */
const SENTENCE = [
  ["Take ", "n"],
  [" ", "of"],
  [", label ", "rule"],
  [" against ", "truth"],
  [", train ", "net"],
  [", call for ", "share"],
  [" of tokens, test on ", "ask"],
];

export class RecipeForm {
  primary = plainButton("Train", "cb-primary", () => this.#actions[0]?.act());
  second = plainButton("", "cb-second", () => this.#actions[1]?.act());
  links = html("div", { class: "cb-links" });
  said = html("p", { class: "cb-eta" });
  bar = html("i", {});
  progress = html(
    "div",
    { class: "cb-progress", role: "progressbar", "aria-label": "How far it is", hidden: true },
    this.bar,
  );
  /** On a phone the sentence is folded to this while a router is made, and afterwards. */
  summary = plainButton("", "cb-summary", () => this.#fold(!this.#isFolded));
  #isFolded = false;
  /** @type {(Action|null)[]} */
  #actions = [];

  /** @param {(part: Part, value: string|number) => void} onChange */
  constructor(onChange) {
    const select = (/** @type {Part} */ part) => {
      const node = html("select", { class: "cb-select", "aria-label": NAMES[part] }, options(CHOICES[part]));
      node.onchange = () =>
        onChange(part, CHOICES[part].find(([value]) => String(value) === node.value)?.[0] ?? node.value);
      return node;
    };
    this.selects = /** @type {Record<Part, HTMLSelectElement>} */ (
      Object.fromEntries(Object.keys(CHOICES).map((part) => [part, select(/** @type {Part} */ (part))]))
    );
    const words = SENTENCE.flatMap(([before, part]) => [before, this.selects[part]]);
    this.root = html(
      "form",
      { class: "cb-recipe", "aria-label": "Recipe of a router", ...instead(() => this.primary.click()) },
      [
        html("div", {}, this.summary, html("p", { class: "cb-sentence" }, [...words, "."])),
        html("div", { class: "cb-act" }, [
          html("div", { class: "cb-actions" }, this.primary, this.second),
          this.progress,
          this.said,
          this.links,
        ]),
      ],
    );
  }

  /** Adds the kinds of each format to what may be taken. @param {Record<string, string[]>} kinds by format */
  offerKinds(kinds) {
    const some = Object.entries(kinds).filter(([, names]) => names.length);
    const groups = some.map(([format, names]) =>
      html(
        "optgroup",
        { label: `One kind of ${kindInWords(format)}` },
        options(names.map((name) => [`${format}/${name}`, kindInWords(`${format}/${name}`)])),
      ),
    );
    this.selects.of.append(...groups);
  }

  /** @param {boolean} isFolded */
  #fold(isFolded) {
    this.#isFolded = isFolded;
    this.root.classList.toggle("cb-folded", isFolded);
    this.summary.setAttribute("aria-expanded", String(!isFolded));
  }

  /**
   * @param {Recipe} recipe @param {ReadonlySet<Part>} changed those that an experiment changes
   * @param {boolean} isOff whether a router is being made @param {boolean} isAsking whether nothing is made yet
   */
  show(recipe, changed, isOff, isAsking) {
    if (isAsking !== (this.summary.dataset.for === "asking")) this.#fold(!isAsking);
    this.summary.dataset.for = isAsking ? "asking" : "made";
    const parts = /** @type {const} */ (["of", "rule", "share"]).map((part) => inWords(part, recipe));
    setText(this.summary, `${recipe.n} ${parts.join(" · ")}`);
    for (const part of /** @type {Part[]} */ (Object.keys(this.selects))) {
      const select = this.selects[part];
      if (select.value !== String(recipe[part])) select.value = String(recipe[part]);
      select.disabled = isOff;
      select.classList.toggle("cb-changed", changed.has(part));
    }
  }

  /**
   * @param {Action} first @param {Action|null} second @param {string} said
   * @param {number|null} done between 0 and 1, null while nothing goes on
   */
  offer(first, second, said, done) {
    this.#actions = [first, second];
    setText(this.primary, first.label);
    this.primary.disabled = Boolean(first.isOff);
    this.primary.classList.toggle("cb-cancel", done !== null);
    this.second.hidden = second === null;
    setText(this.second, second?.label ?? "");
    setText(this.said, said);
    this.progress.hidden = done === null;
    this.bar.style.setProperty("width", `${100 * (done ?? 0)}%`);
    this.progress.setAttribute("aria-valuenow", String(Math.round(100 * (done ?? 0))));
  }

  /** @param {Action[]} actions with the router that is there */
  offerUse(actions) {
    const labels = actions.map(({ label }) => label).join();
    if (this.links.dataset.has === labels) return;
    this.links.dataset.has = labels;
    this.links.replaceChildren(...actions.map(({ label, act }) => plainButton(label, "cv-button cv-link", act)));
  }
}
