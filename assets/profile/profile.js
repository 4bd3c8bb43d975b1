/**
 * The tab "Is routing worth it here?": an answer in words, two charts, the numbers in tables.
 *
 * Draws what was computed for it and computes nothing. Plotly is fetched when the view is open; colours are read from
 * the page, and again when the theme changes.
 */

import { button, html, setText, stylesheet, withCode } from "../viewer/dom.js";
import { PlotFrame, onAnotherLook, loadPlotly } from "../viewer/plot_frame.js";
import { paletteOf, errorBars, layoutOf, scatter, standingOut } from "../viewer/plot_look.js";
import { scrolling, tableOf } from "../viewer/table.js";
import { messageOf } from "../run/format.js";

/**
 * @typedef {{title: string, head: string[], rows: string[][]}} ProfileTable
 *
 * @typedef {Object} ProfileMessage
 * @property {"recorded"|"live"} kind
 * @property {string} pair
 * @property {string} headline
 * @property {{value: string, label: string, note: string}[]} numbers that lead
 * @property {string} provenance
 * @property {string[]} sentences
 * @property {number} [age_s]
 * @property {ProfileTable[]} tables
 * @property {ProfileShares} shares
 * @property {ProfilePass[]} passes
 *
 * @typedef {(profile: ProfileMessage, palette: ChartPalette) => Figure} ProfileFigure
 */

/**
 * The tab's two charts as plotly's data and layout.
 *
 * @typedef {Object} ProfileShares costs over the share of tokens by the LLM; LLM alone is 1
 * @property {number[]} share
 * @property {number[]} time
 * @property {number[]} bytes
 * @property {{share: number, time: number}[]} measured
 * @property {{time: number|null, bytes: number|null}} break_even by the fit
 * @property {{at: number, low: number, high: number}|null} crossing of the measured runs
 *
 * @typedef {Object} ProfilePass a model's forward passes
 * @property {"SLM"|"LLM"} name
 * @property {number[]} n_new
 * @property {number[]} measured_ms
 * @property {number[]} fitted_ms
 */

/** Of a logarithmic axis, in whole: plotly writes 0.5 as "5". */
const MS_TICKS = [0.1, 1, 10, 100, 1000].flatMap((power) => [power, 2 * power, 5 * power]);

/**
 * Cost of a routed token, of that of the LLM alone, over the share of LLM tokens.
 * @param {ProfileShares} shares
 * @param {ChartPalette} palette
 */
function sharesFigure(shares, palette) {
  const { crossing } = shares;
  const bars = { color: palette.text, thickness: 2, width: 8 };
  const measured = [...shares.measured].sort((a, b) => a.share - b.share);
  const [at, took] = [measured.map((p) => p.share), measured.map((p) => p.time)];
  /** @param {string} name @param {number[]} values @param {string} color @param {string} dash */
  const line = (name, values, color, dash) => {
    const hovertemplate = `${name}<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>`;
    return scatter("lines", name, shares.share, values, { line: { color, width: 2, dash }, hovertemplate });
  };
  /** @param {string} name @param {number|null} at @param {string} color @param {string} symbol */
  const even = (name, at, color, symbol) => {
    const hovertemplate = `${name}: %{x:.0%}<extra></extra>`;
    const look = standingOut(symbol, color, palette, 12);
    return scatter("markers", name, [at], [1], { showlegend: false, ...look, hovertemplate });
  };
  return {
    data: [
      scatter("lines", "LLM alone", [0, 1], [1, 1], { line: { color: palette.muted, width: 1.5, dash: "dot" } }),
      scatter("lines+markers", "time, measured", at, took, {
        line: { color: palette.llm, width: 2.5 },
        marker: { size: 9, symbol: "square", color: palette.llm },
        hovertemplate: "measured<br>LLM share %{x:.0%}: %{y:.2f}<extra></extra>",
      }),
      line("time, fitted", shares.time, palette.llm, "dot"),
      line("bytes, estimated", shares.bytes, palette.cost, "dash"),
      ...(crossing
        ? [
            {
              ...even("measured runs cross", crossing.at, palette.text, "circle"),
              error_x: errorBars([crossing.at], [crossing.low], [crossing.high], bars),
            },
          ]
        : []),
      even("the fit crosses", shares.break_even.time, palette.llm, "diamond-open"),
      even("bytes cross", shares.break_even.bytes, palette.cost, "diamond-open"),
    ],
    layout: layoutOf(
      palette,
      { title: "tokens written by the LLM", range: [-0.02, 1.02], tickformat: ".0%" },
      { title: "cost, LLM alone = 1", rangemode: "tozero" },
    ),
  };
}

/**
 * Milliseconds of a pass over the tokens that it feeds, both axes logarithmic.
 * @param {ProfilePass[]} passes
 * @param {ChartPalette} palette
 */
function passesFigure(passes, palette) {
  const colors = { SLM: palette.slm, LLM: palette.llm };
  return {
    data: passes.flatMap((model, k) => [
      scatter("markers", `${model.name} measured`, model.n_new, model.measured_ms, {
        marker: { size: 9, symbol: k ? "square" : "circle", color: colors[model.name] },
        hovertemplate: `${model.name}<br>%{x} tokens: %{y:.3f} ms<extra></extra>`,
      }),
      scatter("lines", `${model.name} fitted`, model.n_new, model.fitted_ms, {
        line: { color: colors[model.name], width: 1.5, dash: k ? "dash" : "solid" },
      }),
    ]),
    layout: layoutOf(
      palette,
      { title: "tokens fed by one pass", type: "log", tickvals: passes[0]?.n_new ?? [] },
      { title: "ms", type: "log", tickvals: MS_TICKS },
    ),
  };
}

const STOPPED = "The measurement was stopped: nothing was kept.";
const KINDS = { recorded: "Recorded", live: "Measured just now" };

/** @param {ProfileTable} how */
function table({ title, head, rows }) {
  const caption = html("caption", { class: "cl-label cp-caption" }, title);
  return scrolling(title, "cl-numbers", tableOf({ head, rows }, { caption, isNamed: true }));
}

class Profile {
  /** @type {AbortController|null} of the measurement that is followed */
  measurement = null;

  /** @param {Element} root @param {Page} page */
  constructor(root, page) {
    const { plotly, profiles } = page.props;
    this.page = page;
    this.plotlyUrl = plotly;
    /** @type {ProfileMessage|null} */
    this.profile = null;
    this.status = html("p", { class: "cl-status", role: "status" }, "Reading the recorded profile.");
    this.bar = html("progress", {
      class: "cl-progress",
      max: 1,
      value: 0,
      "aria-label": "Measured so far",
      hidden: true,
    });
    this.kind = html("span", { class: "cp-kind" });
    this.headline = html("h2", { class: "cl-heading" });
    this.provenance = html("span", { class: "cl-note" });
    this.numbers = html("dl", { class: "cp-figures" });
    this.reasons = html("ul", { class: "cp-reasons" });
    this.tables = html("div", { class: "cp-tables" });
    /** @type {[string, string, ProfileFigure][]} */
    const charts = [
      [
        "shares",
        "Cost of a routed token, of the LLM alone",
        (profile, palette) => sharesFigure(profile.shares, palette),
      ],
      ["passes", "Time of one forward pass", (profile, palette) => passesFigure(profile.passes, palette)],
    ];
    this.charts = charts.map(([name, title, figure]) => ({ figure, frame: new PlotFrame(name, title) }));
    this.body = html("div", { class: "cl-body", hidden: true }, [
      html("section", { class: "cp-words" }, [
        this.headline,
        this.numbers,
        html("p", { class: "cp-top" }, this.kind, this.provenance),
      ]),
      html("section", { class: "cl-charts" }, ...this.charts.map(({ frame }) => frame.root)),
      html("section", { class: "cp-panel" }, html("h3", { class: "cl-heading" }, "Why, and the limits"), this.reasons),
      html("details", { class: "cl-details cp-numbers" }, html("summary", {}, "All numbers as tables"), this.tables),
    ]);
    this.root = html(
      "div",
      { class: "citer-labels citer-profile", role: "region", "aria-label": "Is routing worth it here?" },
      this.status,
      this.bar,
      this.body,
    );
    root.replaceChildren(this.#controls(profiles), this.root);
    onAnotherLook(() => this.draw());
  }

  /** What there is to see, and to measure where that is offered. @param {string[]} profiles */
  #controls(profiles) {
    const { page } = this;
    /** @param {string} id @param {string} words @param {() => void} act */
    const action = (id, words, act) => button(words, "cx-quiet", { id, onclick: () => act() });
    this.measure = action("cx-profile-measure", "Measure on this device", () => this.#measure());
    this.stop = action("cx-profile-stop", "Stop measuring", () => this.measurement?.abort());
    this.back = action("cx-profile-recorded", "Show the recorded profile", () => this.recorded());
    this.measure.hidden = !page.transport.offers.has("measure") || !page.props.may_measure;
    const onchange = () => this.recorded();
    this.choice = html("select", { class: "cl-select", onchange }, ...profiles.map((name) => html("option", {}, name)));
    const label = html("label", { id: "cx-profile-choice" }, "Recorded profile ", this.choice);
    label.hidden = profiles.length < 2;
    this.#measuring(false);
    return html("div", { id: "cx-profile-buttons" }, this.measure, this.stop, this.back, label);
  }

  /** The recorded profile that is chosen. */
  async recorded() {
    try {
      this.receive(await this.page.ask("profile", { profile: this.choice?.value }));
    } catch (error) {
      this.say(`The recorded profile could not be read (${messageOf(error)}). Try again.`, "error");
    }
  }

  /** Follows the server's measurement, until it ends or is cancelled. */
  async #measure() {
    const own = (this.measurement = new AbortController());
    this.#measuring(true);
    try {
      for await (const message of this.page.transport.ask("measure", null, own.signal)) this.receive(message);
    } catch (error) {
      this.say(own.signal.aborted ? STOPPED : `The measurement was lost (${messageOf(error)}).`);
    }
    this.measurement = null;
    this.#measuring(false);
  }

  /** @param {Notice & {profile?: ProfileMessage, progress?: {done: number, doing: string}}} message */
  receive(message) {
    if (message.profile) this.show(message.profile);
    else if (message.progress) {
      this.say(`Measuring: ${message.progress.doing}.`);
      Object.assign(this.bar, { hidden: false, value: message.progress.done });
    } else if (message.notice !== undefined) this.say(message.notice, message.level);
  }

  /** While it measures there is something to stop, here and with the page's own Stop. @param {boolean} isMeasuring */
  #measuring(isMeasuring) {
    if (this.measure) this.measure.disabled = isMeasuring;
    if (this.stop) this.stop.hidden = !isMeasuring;
    if (this.back) this.back.hidden = isMeasuring || this.profile?.kind !== "live";
    this.page.setOther(isMeasuring ? () => this.measurement?.abort() : null);
  }

  /** @param {string} text */
  say(text, level = "") {
    setText(this.status, text);
    this.status.dataset.level = level;
    this.status.hidden = text === "";
    this.bar.hidden = true;
  }

  /** @param {ProfileMessage} profile */
  show(profile) {
    this.say("");
    this.profile = profile;
    const minutes = Math.round((profile.age_s ?? 0) / 60);
    const kind = minutes > 0 ? `Measured ${minutes} min ago, for all who ask` : KINDS[profile.kind];
    setText(this.kind, `${kind} · ${profile.pair}`);
    this.kind.dataset.kind = profile.kind;
    setText(this.headline, profile.headline);
    this.provenance.replaceChildren(...withCode(profile.provenance));
    this.numbers.replaceChildren(
      ...profile.numbers.map(({ value, label, note }) =>
        html("div", {}, [
          html("dt", {}, label),
          html("dd", { class: "cp-number" }, value),
          html("dd", { class: "cl-note" }, note),
        ]),
      ),
    );
    this.reasons.replaceChildren(...profile.sentences.map((sentence) => html("li", {}, sentence)));
    this.tables.replaceChildren(...profile.tables.map(table));
    this.body.hidden = false;
    this.#measuring(this.measurement !== null);
    this.draw();
  }

  async draw() {
    if (!this.profile) return;
    try {
      const plotly = await loadPlotly(this.plotlyUrl);
      for (const { figure, frame } of this.charts)
        await frame.draw(plotly, figure(this.profile, paletteOf(frame.root)), this.profile.headline);
    } catch (error) {
      this.say(`The charts could not be drawn (${messageOf(error)}); the tables hold their numbers.`, "error");
    }
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountProfile(panel, page) {
  const styles = ["../labels/labels.css", "./profile.css"];
  await Promise.all(styles.map((name) => stylesheet(new URL(name, import.meta.url).href)));
  const profile = new Profile(panel, page);
  await profile.recorded();
}
