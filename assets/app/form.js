/**
 * The form: what a run is asked with, what it is priced as, and the problems to pick from. Plain elements of the
 * document (`citer_core/ui/form.py`), with the values that they have.
 *
 * Must not know runs or the viewer; `page` is told what a person does.
 *
 * @typedef {{key: string, question: string, data_type: string, kind?: string}} OfferedProblem
 * @typedef {Object} Offered what suits the loaded pair
 * @property {string} about
 * @property {OfferedProblem[]} problems
 * @property {{question: string, kind: string}[]} [recorded] the kinds of what the recorded runs were asked
 * @property {Record<string, string>} [chances] how well the pair answers problems of a kind, in words
 */

import { dialsOf } from "../run/dials.js";
import { shortTau } from "../run/format.js";
import { readOrRefuse } from "../run/gate.js";
import { options, part, setText } from "../viewer/dom.js";
import { SearchBox } from "../viewer/search_box.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";
import { problemTitle } from "../tasks/book.js";

const SEARCH_WORDS = "Pick a problem: type “museum” or “mc 12”";

/** @param {string} selector @returns {HTMLInputElement} */
const input = (selector) => /** @type {HTMLInputElement} */ (part(document, selector));

export class Form {
  /** @type {SearchBox<OfferedProblem>} */
  picker = new SearchBox("cx-problems", SEARCH_WORDS, (problem) =>
    this.setProblem(problem.question, problem.data_type),
  );
  question = /** @type {HTMLTextAreaElement} */ (/** @type {unknown} */ (input("#cx-prompt textarea")));
  router = /** @type {HTMLSelectElement} */ (/** @type {unknown} */ (input("#cx-router select")));
  answer = input("#cx-answer input");
  number = input("#cx-tau input[type=number]");
  range = input("#cx-tau input[type=range]");
  settings = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#cx-settings input[data-name]")]);
  given = Number(this.number.value);
  about = "";
  /** @type {Map<string, string|undefined>} by question */
  chances = new Map();
  priced = ["#cx-price select", "#cx-bandwidth", "#cx-peak"].map(input);
  generate = input("#cx-generate");
  stop = input("#cx-stop");

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.range.addEventListener("input", () => this.#tauMoved(this.range, this.number));
    this.number.addEventListener("input", () => this.#tauMoved(this.number, this.range));
    this.router.addEventListener("change", () => page.routerChosen());
    part(document, "#cx-settings").addEventListener("input", () => {
      page.tau.typed();
      page.dialsMoved();
    });
    this.generate.addEventListener("click", () => page.branches.generate(this.asked()));
    this.stop.addEventListener("click", () => page.stop());
    for (const control of this.priced) control.addEventListener("input", () => page.setPricing(...this.price));
    part(document, "#cx-picker").append(this.picker.root);
    part(document, "#cx-another").addEventListener("click", () => this.#another());
    this.#paint();
  }

  /** Where the slider stands, between two of its steps too, with all digits of a tau that was not typed. */
  get tau() {
    const typed = this.number.value;
    if (typed === String(shortTau(this.given))) return this.given;
    const isTau = typed !== "" && Number(typed) >= 0 && Number(typed) <= 1; // else it is being typed, or is none
    return Number(isTau ? typed : this.range.value);
  }

  /** Where the dials stand; what is typed and is none is as it is by default. */
  get dials() {
    const { threshold, ...others } = dialsOf(this.asked().settings);
    const read = Object.entries(others).map(([name, value]) => {
      const { kind } = SETTINGS_TABLE[/** @type {keyof Dials} */ (name)];
      return [name, readOrRefuse(kind, value, name, []) ?? undefined];
    });
    return dialsOf({ threshold, ...Object.fromEntries(read) });
  }

  /** Moves the controls of some settings; the page hears of it. @param {Partial<Settings>} given */
  setDials(given) {
    for (const control of this.settings) {
      const value = given[/** @type {keyof Settings} */ (control.dataset.name)];
      if (value !== undefined) control.value = String(value);
    }
    const { threshold: tau = this.tau } = given;
    if (this.tau !== tau) {
      this.given = tau;
      this.number.value = String(shortTau(tau));
      this.range.value = String(tau);
      this.#paint();
    }
    this.page.tau.taken();
    this.page.dialsMoved();
  }

  /** @param {HTMLInputElement} moved @param {HTMLInputElement} other */
  #tauMoved(moved, other) {
    if (moved.value === "" || !moved.validity.valid) return;
    other.value = moved.value;
    this.#paint();
    this.page.dialsMoved();
  }

  #paint() {
    this.range.style.setProperty("--range_progress", `${Number(this.range.value) * 100}%`);
  }

  get type() {
    return input("#cx-type input:checked").value;
  }

  /** @param {string} question @param {string} dataType */
  setProblem(question, dataType) {
    if (this.question.value !== question) this.answer.value = ""; // which was of another one
    this.question.value = question;
    input(`#cx-type input[value="${dataType}"]`).checked = true;
    this.#tell();
  }

  /** Generate while idle, Stop while there is something to stop. @param {boolean} isRunning */
  setRunning(isRunning, canStop = isRunning) {
    this.generate.disabled = isRunning;
    this.stop.disabled = !canStop;
  }

  /** @returns {Asked} */
  asked() {
    const named = this.settings.map((control) => [
      control.dataset.name,
      control.value === ""
        ? SETTINGS_TABLE[/** @type {keyof Settings} */ (control.dataset.name)].default
        : Number(control.value),
    ]);
    return {
      question: this.question.value,
      data_type: this.type,
      router: this.router.value || null,
      settings: Object.fromEntries([["threshold", this.tau], ...named]),
      ...(this.answer.value.trim() ? { true_answer: this.answer.value } : {}),
    };
  }

  /** What a link asks for; its router is chosen once there are some. @param {Asked} asked */
  fill({ question, data_type, settings }) {
    this.setProblem(question, data_type);
    this.setDials(settings);
  }

  /** @returns {[string, number, number]} pair, bandwidth and peak compute */
  get price() {
    const [pair, bandwidth, peak] = this.priced;
    return [pair.value, Number(bandwidth.value), Number(peak.value)];
  }

  /** @param {(string|number)[]} values in that order */
  setPrice(values) {
    this.priced.forEach((control, i) => (control.value = String(values[i])));
  }

  /**
   * @param {string[]} names of routers @param {string|null} chosen @param {string} about
   * @param {Record<string, string>} labels of those that are not shown by their names
   */
  offerRouters(names, chosen, about, labels) {
    this.router.replaceChildren(...options(names.map((name) => [name, labels[name] ?? name])));
    if (chosen) this.router.value = chosen;
    setText(part(document, "#cx-router .info-text"), about);
  }

  /** @param {Offered} offered */
  offerProblems({ about, problems, recorded = [], chances = {} }) {
    this.picker.offer(new Map(problems.map((problem) => [problemTitle(problem), problem])));
    this.about = about;
    this.chances = new Map([...problems, ...recorded].map(({ question, kind }) => [question, chances[kind ?? ""]]));
    this.#tell();
  }

  /** What may be asked, and how well what is in the box is usually answered. Other numbers leave that as it is. */
  #tell() {
    const chance = this.chances.get(this.question.value.trim());
    if (this.about) setText(part(document, "#cx-prompt .info-text"), [this.about, chance].filter(Boolean).join(" "));
  }

  /** One of the same type, or of any where there is none. */
  #another() {
    const all = [...this.picker.offered];
    const some = all.filter(([, problem]) => problem.data_type === this.type);
    const [title, problem] = (some.length ? some : all)[Math.floor(Math.random() * (some.length || all.length))] ?? [];
    if (!problem) return;
    this.picker.input.value = title ?? "";
    this.setProblem(problem.question, problem.data_type);
  }
}
