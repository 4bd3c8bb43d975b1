/**
 * A router in the making: its labels, the passes over them, and how it does on problems that it has not seen, as the
 * workers tell it. Labels are kept for as long as the page is open, so another router of them begins where they end.
 *
 * Must not know the document. Who shows it is told of every change.
 *
 * @typedef {import("../transport/lab_client.js").LabClient} LabClient
 * @typedef {import("../transport/lab_client.js").Labelled} Labelled
 * @typedef {import("../engine/router_training.js").Pass} Pass
 * @typedef {import("../engine/router_training.js").Trained} Trained
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {import("./recipe.js").Recipe} Recipe
 * @typedef {"idle"|"load"|"label"|"train"|"measure"|"done"|"stopped"|"failed"} Stage
 * @typedef {{wanted: number, n: number, right: number, nTokens: number, nLlm: number, bytes: number}} Point
 */

import { CHOICES } from "./recipe.js";

export const SHARES = CHOICES.share.map(([share]) => Number(share));

export class LabRun {
  /** @type {Stage} */
  stage = "idle";
  /** Why it failed, for a person. */
  why = "";
  /** @type {(Labelled|undefined)[]} by the problem's place */
  labelled = [];
  /** @type {Pass[]} */
  passes = [];
  /** @type {Trained|null} */
  trained = null;
  /** @type {number[]} one for each share */
  taus = [];
  /** @type {Point[]} one for each share */
  points = [];
  /** Whether an unseen problem was answered right, at each share, by its place. @type {(boolean[]|undefined)[]} */
  answers = [];
  nUnseen = 0;
  /** Until the router was there, and until all was over. */
  seconds = { router: 0, all: 0 };
  /** @type {Recipe|null} that it is made by */
  recipe = null;
  /** @type {Problem[]} that are labelled */
  problems = [];
  /** @type {AbortController|null} */
  #going = null;
  /** @type {Map<string, (Labelled|undefined)[]>} */
  #kept = new Map();

  /** @param {LabClient} client @param {() => void} told of every change */
  constructor(client, told) {
    this.client = client;
    this.told = told;
  }

  get isGoing() {
    return this.#going !== null;
  }

  get nLabelled() {
    return this.labelled.filter(Boolean).length;
  }

  /** Labels of one value. @param {0|1} label */
  nLabels(label) {
    return this.labelled.reduce((sum, one) => sum + (one?.labels.filter((own) => own === label).length ?? 0), 0);
  }

  /** Labels of these problems that are there. @param {Recipe} recipe @param {Problem[]} problems */
  known({ of, rule, truth }, problems) {
    const kept = this.#kept.get(`${of} ${rule} ${truth}`) ?? [];
    return problems.map((_, i) => kept[i]);
  }

  /**
   * Labels what is not labelled, trains, and tries the router.
   * @param {Recipe} recipe @param {Problem[]} problems to label @param {Problem[]} unseen
   * @param {boolean} [isEnough] whether the labels that are there are enough
   */
  async start(recipe, problems, unseen, isEnough = false) {
    this.cancel();
    const going = (this.#going = new AbortController());
    const began = performance.now();
    const since = (/** @type {number} */ start) => (performance.now() - start) / 1000;
    Object.assign(this, { recipe, problems, why: "", passes: [], trained: null, taus: [], points: [], answers: [] });
    this.nUnseen = unseen.length;
    this.labelled = this.known(recipe, problems);
    this.#kept.set(`${recipe.of} ${recipe.rule} ${recipe.truth}`, this.labelled);
    try {
      this.#to("load");
      if (!(await this.client.load())) throw new Error(this.client.why);
      if (!isEnough && !going.signal.aborted) await this.#label(recipe, going.signal);
      if (!going.signal.aborted && this.#canLearn()) {
        await this.#train(recipe, going.signal);
        this.seconds.router = since(began);
        if (!going.signal.aborted) await this.#measure(unseen, going.signal);
      }
    } catch (error) {
      if (this.#going !== going) return;
      this.why = error instanceof Error ? error.message : String(error);
      this.stage = "failed";
    }
    if (this.#going !== going) return; // another one has begun
    this.#going = null;
    this.seconds.all = since(began);
    if (this.stage !== "failed") this.stage = going.signal.aborted ? "stopped" : "done";
    this.told();
  }

  /** Stops soon; labels that are there stay. */
  cancel() {
    this.#going?.abort();
  }

  /** Another recipe is thought about: what is on its way ends, and says nothing any more. */
  leave() {
    this.cancel();
    this.#going = null;
    this.stage = "idle";
  }

  /** It cannot begin. @param {string} why */
  fail(why) {
    this.leave();
    Object.assign(this, { why, passes: [], trained: null, points: [] });
    this.#to("failed");
  }

  /** @param {Stage} stage */
  #to(stage) {
    this.stage = stage;
    this.told();
  }

  /** @param {Recipe} recipe @param {AbortSignal} signal */
  async #label({ rule, truth }, signal) {
    this.#to("label");
    const { labelled, problems } = this;
    const places = problems.flatMap((_, i) => (labelled[i] ? [] : [i]));
    const asked = places.map((i) => problems[i]);
    for await (const one of this.client.label(asked, { rule, truth }, signal)) {
      labelled[places[one.index]] = one;
      this.told();
    }
  }

  /** Whether there are labels of both kinds. */
  #canLearn() {
    if (this.nLabels(0) && this.nLabels(1)) return true;
    this.stage = "failed";
    return false;
  }

  /** @param {Recipe} recipe @param {AbortSignal} signal */
  async #train({ net }, signal) {
    this.#to("train");
    const labelled = this.labelled.filter((one) => one !== undefined);
    for await (const told of this.client.train(labelled, { network: net, seed: 0 }, signal)) {
      if (signal.aborted) return;
      if ("file" in told) this.trained = told;
      else this.passes.push(told);
      this.told();
    }
  }

  /** @param {Problem[]} unseen @param {AbortSignal} signal */
  async #measure(unseen, signal) {
    if (!this.trained) return;
    this.#to("measure");
    const labelled = this.labelled.filter((one) => one !== undefined);
    this.points = SHARES.map((wanted) => ({ wanted, n: 0, right: 0, nTokens: 0, nLlm: 0, bytes: 0 }));
    const asked = { labelled, problems: unseen, shares: SHARES };
    for await (const told of this.client.measure(this.trained.file, asked, signal)) {
      if (signal.aborted) return;
      if ("taus" in told) this.taus = told.taus;
      else {
        this.answers[told.index] = told.results.map(({ right }) => right);
        told.results.forEach((result, k) => {
          const point = this.points[k];
          point.n++;
          point.right += Number(result.right);
          for (const name of /** @type {const} */ (["nTokens", "nLlm", "bytes"])) point[name] += result[name];
        });
      }
      this.told();
    }
  }
}
