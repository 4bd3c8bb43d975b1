/**
 * The view Lab: train a router of one's own in this browser, see its labels, how its confidences part, and how it does
 * on problems that it has not seen; then spoil one part of the recipe and see why it matters.
 *
 * Glue: `lab_run.js` has the stages, panels draw. Nothing is sent anywhere.
 *
 * @typedef {import("./recipe.js").Recipe} Recipe
 * @typedef {import("./recipe.js").Part} Part
 * @typedef {import("./baselines.js").Baselines} Baselines
 * @typedef {import("./curve_chart.js").OwnPoint} OwnPoint
 * @typedef {import("../tasks/book.js").Problem} Problem
 */

import { html, plainButton, setText, stylesheet } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";
import { browserName, canCompute } from "../transport/engine_client.js";
import { LabClient } from "../transport/lab_client.js";
import { answerOf } from "../transport/server.js";
import { baselinesOf, tauAt } from "./baselines.js";
import { CurveChart } from "./curve_chart.js";
import { GuessPanel } from "./guess_panel.js";
import { LabProblems } from "./lab_problems.js";
import { LabRun, SHARES } from "./lab_run.js";
import { LabelPanel } from "./label_panel.js";
import { BREAKS, RULES_IN_WORDS, USUAL, formatOf, inAddress, readRecipe } from "./recipe.js";
import { RecipeForm } from "./recipe_form.js";
import { Separation } from "./separation.js";
import { SPOKEN, actionsOf, findingOf, headlineOf, noteOf, ownPoints } from "./stages.js";
import { WrittenPanel } from "./written_panel.js";

const CANNOT = "This browser cannot run the models: it has no WebAssembly vectors. Try a newer one.";
const MOST_WORKERS = 4;
const MOST_ON_PHONES = 2; // each has both models in its memory

export class Lab {
  /** @type {Recipe} */
  recipe = USUAL;
  /** @type {string|null} the experiment that is open */
  broken = null;
  /** @type {Map<string, number>} how many of 100 came out right, by experiment */
  results = new Map();
  /** The curve of the usual recipe, for an experiment to be held against. @type {OwnPoint[]} */
  usual = [];
  /** @type {Record<string, Baselines>} */
  baselines = {};
  /** @type {Problem[]} */
  problems = [];
  /** Which of the panels is shown. @type {"labels"|"written"} */
  tab = "labels";
  /** @type {string|null} the router's name, once the page has it */
  own = null;
  /** What is handed in to a class, once it is asked for. @type {HTMLElement|null} */
  card = null;
  /** @type {number|null} */
  frame = null;
  #wasDone = false;
  form = new RecipeForm((part, value) => this.change(part, value));
  guess = new GuessPanel(() => this.update());
  labels = new LabelPanel();
  written = new WrittenPanel();
  chart = new CurveChart();
  separation = new Separation();
  number = html("p", { class: "cb-number" });
  words = html("div", { class: "cb-words" });
  slot = html("div", { class: "cb-slot" });
  spoken = html("p", { class: "cv-sr", role: "status" });

  /** @param {HTMLElement} root @param {Page} page @param {LabClient} client @param {LabProblems} book */
  constructor(root, page, client, book) {
    this.page = page;
    this.book = book;
    this.client = client;
    this.run = new LabRun(client, () => this.update());
    const tab = (/** @type {"labels"|"written"} */ name, /** @type {string} */ title) =>
      plainButton(title, "cb-tab", () => this.openTab(name), { role: "tab", "data-tab": name });
    this.tabs = html("div", { class: "cb-tabs", role: "tablist", "aria-label": "What is shown" }, [
      tab("labels", "Its labels"),
      tab("written", "Written with it"),
    ]);
    this.chips = Object.entries(BREAKS).map(([name, { title }]) =>
      plainButton(title, "cb-chip", () => this.openBreak(name), { "data-break": name }),
    );
    root.classList.add("citer-look", "cx-lab");
    root.replaceChildren(
      this.spoken,
      this.form.root,
      html("div", { class: "cb-hero" }, [
        html("section", { class: "cb-main", "aria-label": "Labels and texts" }, [
          this.tabs,
          this.slot,
          this.labels.root,
          this.written.root,
        ]),
        html("aside", { class: "cb-side", "aria-label": "Results" }, [
          html("div", { class: "cb-figure" }, this.number, this.words),
          this.chart.root,
          this.separation.root,
        ]),
      ]),
      html("section", { class: "cb-breaks", "aria-labelledby": "cb-break" }, [
        html("h3", { id: "cb-break" }, "Break it"),
        html("div", { class: "cb-chips" }, this.chips),
      ]),
    );
  }

  /** @param {Record<string, Baselines>} baselines by format @param {string} search `location.search` */
  async begin(baselines, search) {
    this.baselines = baselines;
    this.form.offerKinds(await this.book.kinds());
    const { recipe, broken } = readRecipe(search);
    await this.set(recipe, broken);
  }

  /** What a link should open again. */
  inAddress() {
    return this.broken ? new URLSearchParams({ break: this.broken }) : inAddress(this.recipe);
  }

  /** @param {Recipe} recipe @param {string|null} broken */
  async set(recipe, broken) {
    this.run.leave();
    [this.recipe, this.broken] = [recipe, broken];
    this.card = null;
    this.guess.reset();
    this.separation.clear();
    this.tab = "labels";
    this.problems = await this.book.toLabel(recipe.of, recipe.n);
    this.update();
  }

  /** @param {Part} part @param {string|number} value */
  async change(part, value) {
    const recipe = /** @type {Recipe} */ ({ ...this.recipe, [part]: value });
    if (part === "of") recipe.ask = formatOf(recipe);
    if (part === "share") {
      this.recipe = recipe; // all shares are measured
      this.written.set([], this.#write);
      this.update();
    } else await this.set(recipe, null);
  }

  /** @param {string} name of an experiment; the open one closes */
  openBreak(name) {
    if (name === this.broken) return this.set(USUAL, null);
    return this.set({ ...USUAL, ...BREAKS[name].changes }, name);
  }

  /** The experiment after the open one. */
  nextBreak() {
    const names = Object.keys(BREAKS);
    return this.openBreak(names[(names.indexOf(this.broken ?? "") + 1) % names.length]);
  }

  /** @param {boolean} [isEnough] whether the labels that are there are enough */
  async train(isEnough = false) {
    this.own = this.card = null;
    this.tab = "labels";
    this.separation.clear();
    let unseen;
    try {
      unseen = await this.book.unseen(this.recipe.ask);
    } catch (error) {
      this.run.fail(messageOf(error));
      return;
    }
    await this.run.start(this.recipe, this.problems, unseen, isEnough);
    if (this.run.trained) this.#done(unseen);
  }

  /** @param {Problem[]} unseen */
  #done(unseen) {
    const points = this.ownPoints();
    if (!points.length) return;
    if (this.broken) this.results.set(this.broken, points.find(({ isChosen }) => isChosen)?.accuracy ?? NaN);
    else if (String(inAddress(this.recipe)) === String(inAddress(USUAL))) this.usual = points;
    this.#offerWritten(unseen);
    this.update();
  }

  /** Those first that it has right. @param {Problem[]} unseen */
  #offerWritten(unseen) {
    const k = SHARES.indexOf(this.recipe.share);
    const isRight = (/** @type {number} */ i) => Number(this.run.answers[i]?.[k] ?? false);
    const order = unseen.map((_, i) => i).sort((a, b) => isRight(b) - isRight(a) || a - b);
    this.written.set(
      order.map((i) => unseen[i]),
      this.#write,
    );
  }

  /** @type {import("./written_panel.js").Write} */
  #write = (way, problem) => {
    const { trained, taus } = this.run;
    if (!trained) throw new Error("Train a router first.");
    const k = SHARES.indexOf(this.recipe.share);
    const free = this.baselines[this.recipe.ask].free;
    return way === "own"
      ? this.client.write(trained.file, problem, taus[k])
      : this.client.write("max-probability", problem, tauAt(free, this.ownPoints()[k].share));
  };

  /** @param {"labels"|"written"} name */
  async openTab(name) {
    this.tab = name;
    if (name === "written" && this.written.isEmpty) {
      this.#offerWritten(await this.book.unseen(this.recipe.ask));
      this.written.show();
    }
    this.update();
  }

  ownPoints() {
    return ownPoints(this.run.points, this.recipe.share);
  }

  /** What an experiment is held against: the curve of the usual recipe, where it was asked the same. */
  get before() {
    return this.broken && this.recipe.ask === USUAL.ask ? this.usual : [];
  }

  /**
   * Gives the router to the page, which has it from now on.
   * @param {(routers: import("../app/own_routers.js").OwnRouters, name: string) => unknown} act with it
   */
  async handOver(act) {
    const { trained } = this.run;
    if (!trained) return;
    try {
      const routers = await this.page.ownRouters();
      this.own ??= (await routers.add(trained.file)).name;
      await act(routers, this.own);
    } catch (error) {
      setText(this.form.said, messageOf(error));
    }
  }

  /** Its curve as a code for a class. */
  async handIn() {
    const { LAB, answerCard } = await import("../class/answer_card.js");
    const points = this.run.points.map(
      ({ nLlm, nTokens, right }) => /** @type {[number, number]} */ ([nLlm / nTokens, right]),
    );
    this.card = answerCard({ of: LAB, curve: { n: this.run.points[0].n, points } });
    this.update();
  }

  /** Its tau for the chosen share. */
  get tau() {
    return this.run.taus[SHARES.indexOf(this.recipe.share)] ?? null;
  }

  /** Draws what has changed, once a frame. */
  update() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.#draw();
    });
  }

  #draw() {
    const { run, recipe, broken, guess } = this;
    const others = this.baselines[recipe.ask];
    const isAsking = run.stage === "idle";
    const isDone = run.trained !== null && !run.isGoing && !isAsking;
    const changed = new Set(Object.keys(broken ? BREAKS[broken].changes : {}));
    this.form.show(recipe, /** @type {Set<Part>} */ (changed), run.isGoing, isAsking);
    const { first, second, said, done, use } = actionsOf(this);
    setText(this.spoken, SPOKEN[run.stage]);
    this.form.offer(first, second, said, done);
    this.form.offerUse(use);
    const points = isAsking ? [] : this.ownPoints();
    const [n] = run.points.map((point) => point.n);
    const asked = guess.value === null ? null : { share: recipe.share, accuracy: guess.value };
    this.chart.draw(others, points, isAsking ? 0 : (n ?? 0), asked, this.before);
    if (!isAsking) this.separation.update(run.passes, run.trained?.best ?? null, this.tau);
    const { number, words } = headlineOf(this, others, points);
    setText(this.number, number);
    this.words.replaceChildren(...words);
    this.tabs.hidden = !isDone;
    for (const tab of this.tabs.children)
      if (tab instanceof HTMLElement) tab.setAttribute("aria-selected", String(tab.dataset.tab === this.tab));
    const isWritten = isDone && this.tab === "written";
    this.labels.root.hidden = isWritten || run.stage === "failed" || (isAsking && broken !== null);
    this.written.root.hidden = !isWritten;
    const labelled = isAsking ? run.known(recipe, this.problems) : run.labelled;
    this.labels.update(
      isAsking ? this.problems : run.problems,
      labelled,
      RULES_IN_WORDS[recipe.rule],
      run.stage === "label",
    );
    this.#fillSlot(isDone, others, points);
    for (const chip of this.chips) {
      const result = this.results.get(chip.dataset.break ?? "");
      chip.setAttribute("aria-pressed", String(chip.dataset.break === broken));
      chip.dataset.result = result === undefined ? "" : `${Math.round(100 * result)}%`;
    }
    this.#toLook(isDone);
  }

  /** @param {boolean} isDone @param {Baselines} others @param {OwnPoint[]} points */
  #fillSlot(isDone, others, points) {
    const { run, broken, guess } = this;
    const isAsking = run.stage === "idle";
    if (isAsking) {
      const one = broken ? BREAKS[broken] : null;
      const share = Math.round(100 * this.recipe.share);
      const ask = `How many of 100 unseen problems will it get right with ${share}% of the tokens by the LLM?`;
      guess.ask(one?.title ?? "", one ? `${one.about} ${ask}` : `Your guess, if you like: ${ask}`);
      if (this.slot.firstChild !== guess.root) this.slot.replaceChildren(guess.root);
    } else {
      const note = isDone ? (broken ? findingOf(this, others, points) : null) : noteOf(this);
      this.slot.replaceChildren(...[note, this.card].filter((part) => part !== null));
    }
    this.slot.classList.toggle("cb-after", isAsking && broken === null);
  }

  /** Once, when a router is there: a text that it wrote says more than numbers. @param {boolean} isDone */
  #toLook(isDone) {
    if (isDone && !this.#wasDone && !this.broken) this.openTab("written");
    this.#wasDone = isDone;
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountLab(panel, page) {
  await stylesheet(new URL("./lab.css", import.meta.url).href);
  const facts = page.props.browser_pair;
  if (!facts || !canCompute()) {
    panel.append(html("p", { class: "cb-cannot" }, CANNOT));
    return undefined;
  }
  const [root, script, lab_script] = [facts.root, facts.script, facts.lab_script].map(
    (url) => new URL(url ?? "", document.baseURI).href,
  );
  const whole = { ...facts, root, script, lab_script };
  const most = matchMedia("(pointer: coarse)").matches ? MOST_ON_PHONES : MOST_WORKERS;
  const nWorkers = Math.min(most, navigator.hardwareConcurrency || 1);
  const client = new LabClient(whole, { hardware: browserName(navigator.userAgent), nWorkers });
  client.load(); // on its way while the stored results are
  panel.append(html("p", { role: "status" }, "Reading what is stored."));
  const { evidence } = await answerOf(page.transport, "evidence");
  const lab = new Lab(panel, page, client, new LabProblems(whole));
  const { kinds } = evidence.regimes[0];
  const baselines = Object.fromEntries(
    Object.entries(kinds).map(([format, kind]) => [format, baselinesOf(/** @type {any} */ (kind).points)]),
  );
  await lab.begin(baselines, location.search);
  return lab;
}
