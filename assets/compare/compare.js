/**
 * The view Compare: one problem, its columns on one clock, the blind test, and a live comparison.
 *
 * Must not know who writes the live ones. Recorded comparisons are fetched.
 *
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("./comparison_file.js").Comparison} Comparison
 * @typedef {import("./ways.js").AskedComparison} AskedComparison
 * @typedef {{file: string, title: string, subtitle: string, pair: string, url: string}} StoredProblem
 * @typedef {{comparison?: number, document?: unknown, is_done?: boolean, notice?: string, level?: string,
 *   columns?: {column: number, base: number, items: object[]}[]}} CompareMessage
 */

import { html, options, plainButton, setText, stylesheet } from "../viewer/dom.js";
import { largeButton } from "../viewer/large.js";
import { StoredChoice } from "../viewer/stored_choice.js";
import { messageOf } from "../run/format.js";
import { OWN_NOT_HERE, isOwn } from "../run/own_router.js";
import { BlindPanel } from "./blind_panel.js";
import { CarriedRun } from "./carried_run.js";
import { ColumnPanel } from "./column_panel.js";
import { CLOCKS, SPECULATIVE, chosenColumns, columnsOf, firstDifference, standAt } from "./columns.js";
import { MOST_COLUMNS, MOST_ROUTERS, comparisonInAddress, readCompareLink } from "./compare_link.js";
import { checkComparison, parseComparison } from "./comparison_file.js";
import { findings } from "./findings.js";
import { LiveForm, grown } from "./live_form.js";
import { Player } from "./player.js";

const SCALE = 1000;
const MOST_IN_A_ROW = 5;
const CLOCK_NAMES = { bytes: "memory moved", seconds: "measured time", tokens: "token by token" };
const STOPPED = "Stopped: what was written until then is shown.";
const NOTHING_STORED = "There are no recorded comparisons here. Write a problem live below.";
const LETTERS = ["A", "B"];
/** Look of a token, and what it says. */
const LEGEND = [
  ["cq-slm", "by the SLM"],
  ["cq-llm", "by the LLM"],
  ["cq-slm cq-kept", "drafted, kept by the LLM"],
  ["cq-slm cq-rejected", "rejected or taken back by the LLM"],
  ["cq-slm cq-differs", "first token that is not the LLM's"],
];

export class Compare {
  /** @type {Comparison|null} */
  comparison = null;
  /** @type {string|null} the recorded problem that is shown, or was before a live one */
  problem = null;
  /** @type {Column[]} all that there is of this problem */
  offered = [];
  /** @type {string[]} ids of those that are shown */
  chosen = [];
  /** @type {ColumnPanel[]} */
  panels = [];
  /** @type {typeof CLOCKS[number]} */
  clock = "bytes";
  isLive = false;
  isFilling = false;
  /** @type {AskedComparison|null} what the live comparison was asked with */
  asked = null;
  /** @type {string[]} columns that a link wants of the next live comparison */
  wanted = [];
  /** @type {AbortController|null} of the live comparison that is listened to */
  listening = null;
  player = new Player(
    (place) => this.reveal(place),
    (isPlaying) => setText(this.play, isPlaying ? "❚❚ Pause" : "▶ Play"),
  );
  blind = new BlindPanel({ onRound: () => this.draw(), columns: () => this.offered });
  form = new LiveForm({
    onAsk: (asked) => this.ask(asked),
    onStop: () => this.listening?.abort(),
    measured: (kind) => this.#measured(kind),
  });
  carried = new CarriedRun((asked) => this.fillForm(asked));
  play = plainButton("▶ Play", "cq-button cq-main", () => this.player.toggle());
  slider = html("input", {
    type: "range",
    class: "cq-range",
    min: 0,
    max: SCALE,
    value: SCALE,
    step: 1,
    "aria-label": "How far the clock has come",
    oninput: () => this.player.moveTo(Number(this.slider.value) / SCALE),
  });
  clocks = html(
    "select",
    { class: "cq-select", "aria-label": "What the clock counts", onchange: () => this.#chooseClock() },
    options(CLOCKS.map((clock) => [clock, `Clock: ${CLOCK_NAMES[clock]}`])),
  );
  add = plainButton("Add a column", "cq-button", () => this.addColumn());
  question = html("p", { class: "cq-question" });
  grid = html("div", { class: "cq-grid" });
  sentences = html("ul", { class: "cq-findings" });
  source = html("p", { class: "cq-small" });
  note = html("p", { class: "cq-note", role: "status" });

  /** @param {HTMLElement} root @param {Page} page */
  constructor(root, page) {
    this.root = root;
    this.page = page;
    this.device = page.pricing.device;
    this.picker = new StoredChoice(page.props.comparisons, "A problem of your own", (file) => this.open(file), {
      class: "cq-select",
      "aria-label": "Recorded problem",
    });
    this.form.root.addEventListener("toggle", () => {
      if (this.form.root.open && !this.isFilling) this.#openForm();
      this.isFilling = false;
    });
    root.classList.add("cv-panel");
    root.replaceChildren(
      html("div", { class: "cq-top" }, [
        this.picker.root,
        this.add,
        this.blind.start,
        this.carried.root,
        largeButton("The comparison"),
      ]),
      this.question,
      html("div", { class: "cq-transport" }, this.play, this.slider, this.clocks),
      this.note,
      this.blind.root,
      this.grid,
      html("p", { class: "cq-legend" }, ...LEGEND.map(legendKey)),
      this.sentences,
      this.source,
      this.form.root,
    );
  }

  /** The last one that was asked for is shown. @param {string} file @param {string[]} asked columns */
  async open(file, asked = this.chosen) {
    if (!this.picker.files.length) {
      this.say(NOTHING_STORED);
      return;
    }
    await this.picker.open(
      file,
      (text) => {
        const comparison = parseComparison(text);
        this.problem = this.picker.name;
        this.isLive = false;
        this.show(comparison, asked);
        this.say("");
      },
      (error) =>
        this.say(`This comparison could not be opened (${messageOf(error)}). Choose another one, or reload the page.`),
    );
  }

  /** @param {Comparison} comparison @param {string[]} asked */
  show(comparison, asked) {
    this.comparison = comparison;
    this.offered = columnsOf(comparison, this.device);
    this.chosen = chosenColumns(this.offered, asked, this.isLive ? MOST_ROUTERS : 1);
    const [{ prompt }] = comparison.runs;
    setText(this.question, prompt.question);
    if (!this.isLive) this.form.fill(prompt.question, prompt.data_type);
    this.blind.reset();
    this.draw();
    this.offerRun();
  }

  /** Explore's run, where it is not in this comparison. */
  offerRun() {
    this.carried.offer(this.page.viewer.trace(), this.comparison?.runs[0].prompt, this.offered);
  }

  /** Draws all columns anew, and what follows from them. */
  draw() {
    const round = this.blind.round;
    const isHidden = round !== null && round.choice === null;
    const ids = round ? round.pair : this.chosen;
    const shown = ids.flatMap((id) => this.offered.filter((column) => column.id === id));
    const reference = this.offered.find(({ way }) => way === "llm");
    while (this.panels.length < shown.length) this.panels.push(this.#panel(this.panels.length));
    this.panels.length = shown.length;
    this.grid.replaceChildren(...this.panels.map(({ root }) => root));
    const nRows = Math.ceil(shown.length / MOST_IN_A_ROW);
    this.grid.style.setProperty("--columns", String(Math.ceil(shown.length / nRows)));
    shown.forEach((column, k) =>
      this.panels[k].show(column, this.offered, {
        firstDifference: reference ? firstDifference(column.ids, reference.ids) : -1,
        beside: shown,
        hidden: isHidden ? LETTERS[k] : null,
        canRemove: round === null && shown.length > 1,
        isMath: this.comparison?.runs[0].prompt.data_type === "math",
      }),
    );
    this.root.classList.toggle("cq-blind", isHidden);
    // What speaks against routing is said whether or not its column is shown.
    const other = this.offered.filter((column) => column.way === SPECULATIVE && !shown.includes(column));
    const said = isHidden ? [] : findings([...shown, ...other]);
    this.sentences.replaceChildren(...said.map((text) => html("li", {}, text)));
    const hardware = [...new Set(shown.map((column) => column.hardware))].join("; ");
    setText(
      this.source,
      `${this.isLive ? "Written live" : "Recorded"}: ${this.comparison?.runs[0].pair.name}.` +
        `${sampledWords(this.comparison)} Seconds were measured on ${hardware}; bytes and operations are estimated ` +
        "from each pass.",
    );
    this.add.hidden = round !== null || shown.length >= Math.min(MOST_COLUMNS, this.offered.length);
    this.reveal(this.player.place);
  }

  /** @param {number} k */
  #panel(k) {
    return new ColumnPanel({
      onChoose: (id) => this.choose(this.chosen.map((old, at) => (at === k ? id : old))),
      onRemove: () => this.choose(this.chosen.filter((_, at) => at !== k)),
    });
  }

  #chooseClock() {
    this.clock = CLOCKS.find((clock) => clock === this.clocks.value) ?? "bytes";
    this.reveal(this.player.place);
  }

  /** @param {string[]} ids */
  choose(ids) {
    this.chosen = chosenColumns(this.offered, [...new Set(ids)]);
    this.draw();
  }

  addColumn() {
    const next = [...this.offered].reverse().find(({ id }) => !this.chosen.includes(id));
    if (next) this.choose([...this.chosen, next.id]);
  }

  /** @param {number} place from 0 to 1 of the longest column */
  reveal(place) {
    const columns = this.panels.flatMap(({ column }) => (column ? [column] : []));
    // A blind test that showed who is ahead would not be blind.
    const clock = this.root.classList.contains("cq-blind") ? "tokens" : this.clock;
    const last = Math.max(0, ...columns.map(({ total }) => total[clock]));
    const time = place >= 1 ? Infinity : place * last;
    columns.forEach((column, k) => this.panels[k].reveal(standAt(column, clock, time)));
    this.slider.value = String(Math.round(place * SCALE));
  }

  /** @param {string} text */
  say(text) {
    setText(this.note, text);
  }

  /** A recorded problem, or what a live one was asked with, with these columns. */
  inAddress() {
    const { isLive, problem, chosen, clock, asked } = this;
    const live = isLive ? asked : null;
    return comparisonInAddress({ problem: isLive ? null : problem, columns: chosen, clock, live });
  }

  // ------------------------------------------------------------ live

  /** @param {string} kind @returns {Promise<import("./live_form.js").MeasuredPoint[]>} none where nothing was */
  async #measured(kind) {
    const { evidence } = await this.page.ask("evidence");
    /** @type {{pair_revision: string, kinds: Record<string, {points: import("./live_form.js").MeasuredPoint[]}>}[]} */
    const regimes = evidence?.regimes ?? [];
    const own = regimes.find((regime) => regime.pair_revision === this.form.status?.revision);
    return own?.kinds[kind]?.points ?? [];
  }

  async #openForm() {
    this.form.offer(await (await this.page.comparing()).status());
  }

  /** Filled in, and written when a person says so. @param {Partial<AskedComparison>} asked */
  async fillForm(asked) {
    this.isFilling = !this.form.root.open; // or opening it would ask once more, and choose anew what is filled in
    this.form.root.open = true;
    await this.#openForm();
    this.form.take(asked);
    this.form.root.scrollIntoView({ block: "nearest" });
    this.form.go.focus();
  }

  /** @param {AskedComparison} asked */
  ask(asked) {
    this.asked = asked;
    this.player.moveTo(1);
    this.form.running(true);
    this.form.say("");
    this.#listen(asked);
  }

  /** @param {AskedComparison} asked */
  async #listen(asked) {
    this.listening?.abort();
    const own = (this.listening = new AbortController());
    try {
      for await (const message of (await this.page.comparing()).ask(asked, own.signal)) {
        if (own !== this.listening) return;
        this.receive(message);
      }
    } catch (error) {
      if (own !== this.listening) return;
      this.form.say(own.signal.aborted ? STOPPED : `The comparison was lost (${messageOf(error)}). Try again.`);
    }
    this.form.running(false);
  }

  /** @param {CompareMessage} message */
  receive(message) {
    if (message.notice !== undefined) {
      this.form.say(message.notice);
      if (message.level !== "wait") this.form.running(false);
      return;
    }
    if (message.document !== undefined) {
      try {
        const comparison = checkComparison(message.document);
        this.picker.leave();
        this.isLive = true;
        const isSame = this.comparison?.title === comparison.title;
        this.show(comparison, isSame ? this.chosen : this.wanted);
        if (message.is_done) this.wanted = [];
      } catch (error) {
        this.form.say(messageOf(error));
      }
      if (message.is_done) this.form.running(false);
    } else if (message.columns && this.comparison && this.isLive) {
      this.comparison = grown(this.comparison, message.columns);
      this.offered = columnsOf(this.comparison, this.device);
      this.draw();
    }
  }
}

/** @param {Comparison|null} comparison */
function sampledWords(comparison) {
  const { temperature, seed } = comparison?.runs[0].settings ?? { temperature: 0, seed: 0 };
  return temperature > 0 ? ` Sampled at temperature ${temperature}, seed ${seed}.` : "";
}

/** @param {string[]} key */
const legendKey = ([look, text]) =>
  html("span", { class: "cq-key" }, html("span", { class: `cq-t ${look}` }, "token"), text);

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountCompare(panel, page) {
  await stylesheet(new URL("./compare.css", import.meta.url).href);
  const compare = new Compare(panel, page);
  // The run travels along, and may have become another one while a person was elsewhere.
  new MutationObserver(() => compare.offerRun()).observe(document.body, { attributeFilter: ["data-view"] });
  const { problem, columns, clock, live } = readCompareLink(location.search);
  if (clock) compare.clocks.value = compare.clock = clock;
  await compare.open(problem ? `${problem}.json` : "", columns);
  if (live) {
    await compare.fillForm(live);
    compare.wanted = columns;
    const isAway = live.routers.some(({ router }) => isOwn(router) && !page.browser.own.has(router));
    compare.form.say(isAway ? OWN_NOT_HERE : "This is what the link asks for. Write it when you like.");
  }
  return compare;
}
