/**
 * The controls as plain elements, with the ids that the page looks for: what gradio's components are elsewhere.
 *
 * Must not know runs or the viewer; `window.citer` is the page.
 */

import { html, part } from "../viewer/dom.js";
import { ProblemBook, rowsOf } from "../tasks/book.js";

const MOST_SHOWN = 80;

/** @param {string} selector @returns {HTMLInputElement} */
const input = (selector) => /** @type {HTMLInputElement} */ (part(document, selector));

export class SiteForm {
  book = new ProblemBook(new Map(), []);

  /** @param {Record<string, number>} thresholds of the routers, the default one first */
  constructor(thresholds) {
    this.question = /** @type {HTMLTextAreaElement} */ (/** @type {unknown} */ (input("#cx-prompt textarea")));
    this.router = /** @type {HTMLSelectElement} */ (/** @type {unknown} */ (input("#cx-router select")));
    this.router.replaceChildren(...Object.keys(thresholds).map((name) => html("option", { value: name }, name)));
    this.number = input("#cx-tau input[type=number]");
    this.range = input("#cx-tau input[type=range]");
    this.settings = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#cx-settings input[data-name]")]);
    this.range.addEventListener("input", () => this.#tau(this.range, this.number));
    this.number.addEventListener("input", () => this.#tau(this.number, this.range));
    this.router.addEventListener("change", () => window.citer?.routerChosen(this.router.value));
    part(document, "#cx-generate").addEventListener("click", () => window.citer?.branches.generate(this.asked()));
    part(document, "#cx-stop").addEventListener("click", () => window.citer?.stop());
    this.priced = ["#cx-price select", "#cx-bandwidth", "#cx-peak"].map(input);
    const [price, bandwidth, peak] = this.priced;
    for (const control of this.priced) {
      control.addEventListener("input", () =>
        window.citer?.setPricing(price.value, Number(bandwidth.value), Number(peak.value)),
      );
    }
    this.picker = /** @type {HTMLSelectElement} */ (/** @type {unknown} */ (input("#cx-picker select")));
    this.picker.addEventListener("change", () => this.#show(this.picker.value));
    part(document, "#cx-another").addEventListener("click", () => this.#another());
    this.#paint();
  }

  /** @param {HTMLInputElement} moved @param {HTMLInputElement} other */
  #tau(moved, other) {
    if (moved.value === "" || !moved.validity.valid) return;
    other.value = moved.value;
    this.#paint();
    window.citer?.setThreshold(Number(moved.value));
  }

  #paint() {
    this.range.style.setProperty("--range_progress", `${Number(this.range.value) * 100}%`);
  }

  get #type() {
    return input("#cx-type input:checked").value;
  }

  /** @returns {Asked} */
  asked() {
    const named = this.settings.map((control) => [control.dataset.name, Number(control.value)]);
    return {
      question: this.question.value,
      data_type: this.#type,
      router: this.router.value,
      settings: Object.fromEntries([["threshold", Number(this.number.value)], ...named]),
    };
  }

  /** What a link asks for. @param {Asked|null} asked */
  fill(asked) {
    if (!asked) return;
    this.question.value = asked.question;
    input(`#cx-type input[value="${asked.data_type}"]`).checked = true;
    for (const control of this.settings) {
      const value = asked.settings[/** @type {keyof Settings} */ (control.dataset.name)];
      if (value !== undefined) control.value = String(value);
    }
    if ([...this.router.options].some(({ value }) => value === asked.router)) this.router.value = String(asked.router);
    this.number.value = this.range.value = String(asked.settings.threshold);
    this.#paint();
  }

  /** What a link prices runs as. @param {(string|number)[]} values */
  price(...values) {
    this.priced.forEach((control, i) => (control.value = String(values[i])));
  }

  /** The problems to pick from. @param {(path: string) => Promise<string>} read a file beside the pair */
  async readBook(read) {
    try {
      const kinds = ["math", "mc"];
      const texts = await Promise.all(kinds.map((kind) => read(`datasets/${kind}.jsonl`)));
      this.book = new ProblemBook(new Map(kinds.map((kind, i) => [kind, rowsOf(texts[i])])), []);
    } catch {
      return; // then there is nothing to pick
    }
    for (const [key, { question }] of this.book.byKey) {
      const line = question.replace(/\s+/g, " ");
      const short = line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line;
      this.picker.append(html("option", { value: key }, `${key} · ${short}`));
    }
  }

  /** @param {string} key */
  #show(key) {
    const problem = this.book.byKey.get(key);
    if (!problem) return;
    this.question.value = problem.question;
    input(`#cx-type input[value="${problem.data_type}"]`).checked = true;
  }

  #another() {
    const keys = [...this.book.byKey.keys()].filter((key) => key.startsWith(this.#type));
    if (!keys.length) return;
    this.picker.value = keys[Math.floor(Math.random() * keys.length)];
    this.#show(this.picker.value);
  }
}
