/**
 * The view Evidence: accuracy against cost from stored results, and the questions that they answer.
 *
 * Draws what was read for it and computes nothing but an order. Plotly is fetched when the view is open; colours are
 * read from the page, and again when the theme changes.
 */

import { button, html, setText, stylesheet, withCode, withTerms } from "../viewer/dom.js";
import { ArenaPanel, levelIn } from "./arena_panel.js";
import { reachable } from "./chart_keys.js";
import { CurveKey } from "./curve_key.js";
import { AXES, addressOf, axesOf, csvOf, curvesFigure, sentenceOf, seriesOf, tableOf as cellsOf } from "./figures.js";
import { download } from "../share/page_export.js";
import { largeButton } from "../viewer/large.js";
import { PLOT_CONFIG, onAnotherLook, loadPlotly } from "../viewer/plot_frame.js";
import { paletteOf } from "../viewer/plot_look.js";
import { scrolling, tableOf } from "../viewer/table.js";
import { messageOf } from "../run/format.js";
import { figurePanel, questionPanel } from "./question_panel.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";
import { answerOf } from "../transport/server.js";

/**
 * @typedef {import("./figures.js").EvidencePoint} EvidencePoint
 * @typedef {import("./figures.js").AxisName} AxisName
 *
 * @typedef {Object} EvidenceRegime what was measured on one pair
 * @property {string} name
 * @property {string} title
 * @property {string} note
 * @property {string} provenance
 * @property {Record<string, {lead: string, more: string, best: string, points: EvidencePoint[]}>} kinds
 *   best: the label of a router
 *
 * @typedef {Object} EvidenceMessage
 * @property {EvidenceRegime[]} regimes
 * @property {{sentences: string[], figure: import("./question_panel.js").Figure}|null} lesson when a learned router
 *   pays
 * @property {import("./arena_panel.js").PairLevels[]} arena at each cost
 * @property {import("./question_panel.js").EvidenceClaim[]} claims
 * @property {Record<string, string>} problems a question of each kind, to open a router with
 *
 * @typedef {{points: {customdata?: number}[], event?: Event}} PlotEvent
 * @typedef {import("./chart_keys.js").DrawnPlot & {on?: (event: string, act: (data: PlotEvent) => void) => void}} Plot
 */

const PAPER_WIDTH = 640; // pixels of a sheet between its margins

/**
 * A row of buttons of which one is pressed.
 * @param {string} label
 * @param {string[]} names
 * @param {Record<string, string>} titles
 * @param {string} chosen
 * @param {(name: string) => void} act
 */
function choice(label, names, titles, chosen, act) {
  return html("div", { class: "ce-choice", role: "group", "aria-label": label }, [
    html("span", { class: "cl-small" }, label),
    ...names.map((name) => {
      const how = { "aria-pressed": String(name === chosen), "data-name": name, onclick: () => act(name) };
      return button(titles[name] ?? name, "cl-action", how);
    }),
  ]);
}

class Evidence {
  /** @param {Element} root @param {string} plotlyUrl */
  constructor(root, plotlyUrl) {
    this.plotlyUrl = plotlyUrl;
    /** @type {EvidenceMessage|null} */
    this.message = null;
    this.regime = "";
    this.kind = "";
    /** @type {ArenaPanel[]} */
    this.arenas = [];
    /** @type {AxisName} */
    this.axis = "bytes_share";
    this.isListening = false;
    /** Curves that a person showed or hid, by router: kept from pair to pair. @type {Map<string, boolean>} */
    this.toggled = new Map();
    this.key = new CurveKey(
      (series) => this.toggle(series),
      (isShown) => this.toggleAll(isShown),
    );
    this.status = html("p", { class: "cl-status", role: "status" }, "Reading what is stored.");
    this.lead = html("h2", { class: "cl-heading" });
    this.more = html("p", { class: "ce-more" });
    this.choices = html("div", { class: "ce-choices" });
    /** @type {Plot} */
    this.plot = html("div", { class: "cl-plot ce-plot", role: "group", "aria-label": "Accuracy against cost" });
    this.detail = html("p", { class: "ce-detail", role: "status" });
    this.note = html("p", { class: "cl-note" });
    const onclick = () => download(`citer-evidence-${this.regime}-${this.kind}.csv`, "text/csv", csvOf(this.points()));
    this.table = scrolling("All points as a table", "cl-numbers");
    this.lesson = html("section", { class: "ce-panel ce-lesson", hidden: true });
    this.questions = html("div", { class: "ce-questions" });
    const all = html("details", { class: "cl-details ce-panel" }, [
      html("summary", {}, "All points as a table"),
      html("p", { class: "ce-save" }, button("Download table (CSV)", "cl-action", { onclick })),
      this.table,
    ]);
    addEventListener("beforeprint", () => {
      all.open = true; // what is folded is not printed, and plotly does not see how wide paper is
      globalThis.Plotly?.relayout(this.plot, { width: PAPER_WIDTH });
    });
    addEventListener("afterprint", () => this.draw());
    this.body = html("div", { class: "cl-body", hidden: true }, [
      html("section", { class: "ce-panel cv-panel" }, [
        html("div", {}, this.lead, this.more),
        largeButton("The chart"),
        this.choices,
        this.plot,
        this.key.root,
        this.detail,
        this.note,
      ]),
      all,
      this.lesson,
      html("section", { class: "ce-panel ce-asked" }, [
        html("h2", { class: "cl-heading" }, "What the paper claims, and what its reviewers asked"),
        this.questions,
      ]),
    ]);
    this.root = html("div", { class: "citer-labels citer-evidence", role: "region", "aria-label": "Evidence" }, [
      this.status,
      this.body,
    ]);
    root.replaceChildren(this.root);
    onAnotherLook(() => this.draw());
  }

  /** @param {Notice & {evidence?: EvidenceMessage}} message */
  receive(message) {
    if (message.notice !== undefined) this.say(message.notice, message.level);
    else if (message.evidence) this.show(message.evidence);
  }

  /** @param {string} text */
  say(text, level = "") {
    setText(this.status, text);
    this.status.dataset.level = level;
    this.status.hidden = text === "";
  }

  /** @param {EvidenceMessage} message */
  show(message) {
    this.message = message;
    const query = new URLSearchParams(location.search);
    /** @type {string[]} */
    const refused = [];
    this.arenas = message.arena.map((pair) => new ArenaPanel(pair, levelIn(query, pair, refused)));
    this.say(refused.join(" "));
    if (message.lesson) this.teach(message.lesson);
    const chosen = this.arenas.map(({ root }) => root);
    this.questions.replaceChildren(
      ...message.claims.map((claim) => questionPanel(claim, claim.name === "arena" ? chosen : [])),
    );
    this.body.hidden = false;
    const curves = query.get("curves")?.split(",");
    const axis = /** @type {AxisName} */ (query.get("axis") ?? this.axis);
    this.choose(query.get("pair") ?? "", query.get("kind") ?? "", axis);
    if (!curves) return;
    this.toggled = new Map(this.series().map(({ router }) => [router, curves.includes(router)]));
    this.draw();
  }

  /** Which curves of which chart, and where each pair's contenders meet. */
  inAddress() {
    const curves = this.series().flatMap((series) => (this.isShown(series) ? [series.router] : []));
    const chart = { pair: this.regime, kind: this.kind, axis: this.axis, curves: curves.join(",") };
    return new URLSearchParams([...Object.entries(chart), ...this.arenas.map(({ inAddress }) => inAddress)]);
  }

  /** @param {NonNullable<EvidenceMessage["lesson"]>} lesson */
  teach({ sentences, figure }) {
    this.lesson.replaceChildren(
      html("h2", { class: "cl-heading" }, "When a learned router pays"),
      html("div", { class: "ce-said" }, ...sentences.map((sentence) => html("p", {}, ...withTerms(sentence)))),
      figurePanel(figure, "when-it-pays", Infinity),
    );
    this.lesson.hidden = false;
  }

  /** @returns {EvidenceRegime} */
  shown() {
    const regimes = this.message?.regimes ?? [];
    return regimes.find((regime) => regime.name === this.regime) ?? regimes[0];
  }

  points() {
    return this.shown().kinds[this.kind].points;
  }

  /** What is drawn; a kind or an axis that was not measured there gives way. @param {string} regime */
  choose(regime, kind = this.kind, axis = this.axis) {
    this.regime = regime;
    const { name, kinds, note, provenance } = this.shown();
    this.regime = name;
    this.kind = Object.hasOwn(kinds, kind) ? kind : Object.keys(kinds)[0];
    const axes = axesOf(this.points());
    this.axis = axes.includes(axis) ? axis : axes[0];
    const regimes = this.message?.regimes ?? [];
    const titles = Object.fromEntries(regimes.map(({ name, title }) => [name, title.split(/[:(]/)[0].trim()]));
    const buttons = Object.fromEntries(Object.entries(AXES).map(([name, { button }]) => [name, button]));
    const names = regimes.map(({ name }) => name);
    const focused = document.activeElement?.getAttribute("data-name");
    this.choices.replaceChildren(
      choice("Pair", names, titles, this.regime, (name) => this.choose(name)),
      choice("Problems", Object.keys(kinds), {}, this.kind, (name) => this.choose(this.regime, name)),
      choice("Against", axes, buttons, this.axis, (name) =>
        this.choose(this.regime, this.kind, /** @type {AxisName} */ (name)),
      ),
    );
    const again = [...this.choices.querySelectorAll("button")].find((one) => one.dataset.name === focused);
    again?.focus();
    setText(this.lead, kinds[this.kind].lead);
    setText(this.more, kinds[this.kind].more);
    this.note.replaceChildren(...withCode(`${this.shown().title}. ${note} ${provenance}`));
    const opens = this.points().some((point) => this.address(point));
    setText(
      this.detail,
      opens ? "Choose a point to open its router and τ in Explore." : "Choose a point for its numbers.",
    );
    this.fillTable();
    this.draw();
  }

  series() {
    return seriesOf(this.points(), this.axis, this.shown().kinds[this.kind].best);
  }

  /** @param {import("./figures.js").Series} series */
  isShown({ router, isFirst }) {
    return this.toggled.get(router) ?? isFirst;
  }

  /** Shows a curve, or hides it. @param {import("./figures.js").Series} series */
  toggle(series) {
    this.toggled.set(series.router, !this.isShown(series));
    this.draw();
  }

  /** Shows every curve, or again those that are shown at first. @param {boolean} isShown */
  toggleAll(isShown) {
    this.toggled = new Map(isShown ? this.series().map(({ router }) => [router, true]) : []);
    this.draw();
  }

  fillTable() {
    const points = this.points();
    const { head, rows } = cellsOf(points);
    const linked = rows.map((row, i) => [...row, this.opening(points[i], "Explore")]);
    this.table.replaceChildren(tableOf({ head: [...head, "opens"], rows: linked }, { isNamed: true }));
  }

  /** Where this router and tau are shown; "" where the page does not have it. @param {EvidencePoint} point */
  address(point) {
    const question = this.message?.problems[this.kind];
    if (!point.opens || question === undefined) return "";
    const defaults = Object.fromEntries(Object.entries(SETTINGS_TABLE).map(([name, row]) => [name, row.default]));
    const problem = /** @type {Asked} */ ({ question, data_type: this.kind, router: null, settings: defaults });
    return addressOf(new URL(".", document.baseURI).href, point, problem);
  }

  /** A link to it. @param {EvidencePoint} point @param {string} text */
  opening(point, text) {
    const href = this.address(point);
    return href ? html("a", { class: "ce-open", href }, text) : html("span", {}, "–");
  }

  /** @param {EvidencePoint} point */
  pick(point) {
    const link = this.address(point) ? this.opening(point, "Open this router and τ in Explore") : "";
    this.detail.replaceChildren(`${sentenceOf(point)}. `, link);
  }

  /** Leaves for Explore, where the page has this router. @param {EvidencePoint} point */
  open(point) {
    const address = this.address(point);
    if (address) window.location.assign(address);
  }

  makeReachable() {
    const points = this.points();
    reachable(this.plot, {
      nameOf: (number) =>
        `${sentenceOf(points[number])}${this.address(points[number]) ? ". Enter opens it in Explore" : ""}`,
      onFocus: (number) => this.pick(points[number]),
      onOpen: (number) => this.open(points[number]),
    });
  }

  async draw() {
    if (!this.message) return;
    this.key.show(this.series(), (series) => this.isShown(series));
    try {
      const Plotly = await loadPlotly(this.plotlyUrl);
      const shown = this.series().filter((series) => this.isShown(series));
      const { data, layout } = curvesFigure(
        shown,
        this.points(),
        this.axis,
        paletteOf(this.plot.parentElement ?? this.root),
      );
      await Plotly.react(this.plot, data, layout, PLOT_CONFIG);
      this.plot.setAttribute("aria-label", `Accuracy against ${AXES[this.axis].title}. ${this.lead.textContent}`);
      this.plot.dataset.drawn = `${this.regime} ${this.kind} ${this.axis}`;
      if (this.isListening) return;
      this.isListening = true;
      this.plot.on?.("plotly_click", ({ points: [chosen], event }) => {
        const point = chosen?.customdata === undefined ? undefined : this.points()[chosen.customdata];
        if (!point) return;
        this.pick(point);
        // A finger cannot hover: its first tap says what the point is, and the link beside it opens.
        if (!(event instanceof PointerEvent && event.pointerType === "touch")) this.open(point);
      });
      this.plot.on?.("plotly_afterplot", () => this.makeReachable());
      this.makeReachable();
    } catch (error) {
      this.say(`The chart could not be drawn (${messageOf(error)}); the table holds its numbers.`, "error");
    }
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountEvidence(panel, { props, transport }) {
  const { plotly } = props;
  loadPlotly(plotly).catch(() => {}); // on its way while the numbers are; who draws says what failed
  const answer = answerOf(transport, "evidence").catch((error) => ({
    notice: `The stored results could not be read (${messageOf(error)}). Reload the page.`,
    level: "error",
  }));
  const styles = ["../labels/labels.css", "./evidence.css"];
  await Promise.all(styles.map((name) => stylesheet(new URL(name, import.meta.url).href)));
  const evidence = new Evidence(panel, plotly);
  evidence.receive(await answer);
  return evidence;
}
