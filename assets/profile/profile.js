/**
 * The tab "Is routing worth it here?": an answer in words, two charts, the numbers in tables.
 *
 * Draws what the server computed and computes nothing. Must not know Gradio: `mountProfile` is given messages and a
 * callback. Plotly is fetched when the tab is open; colours are read from the page, and again when the theme changes.
 */

import { html, part, setText, stylesheet, withCode } from "../viewer/dom.js";
import { passesFigure, sharesFigure } from "./figures.js";
import { press } from "../page/page_gradio.js";
import { loadPlotly } from "../viewer/plotly.js";
import { paletteOf } from "../viewer/plot_look.js";
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
 * @property {import("./figures.js").ProfileShares} shares
 * @property {import("./figures.js").ProfilePass[]} passes
 *
 * @typedef {(profile: ProfileMessage, palette: ChartPalette) => Figure} ProfileFigure
 */

const CONFIG = { displayModeBar: false, responsive: true };
const KINDS = { recorded: "Recorded", live: "Measured just now" };

/** @param {ProfileTable} how */
function table({ title, head, rows }) {
  return html(
    "div",
    { class: "cl-scroll cl-numbers", tabindex: 0, role: "region", "aria-label": title },
    html(
      "table",
      { class: "cl-table" },
      html("caption", { class: "cl-label cp-caption" }, title),
      html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))),
      html(
        "tbody",
        {},
        ...rows.map((row) =>
          html("tr", {}, ...row.map((cell, k) => (k ? html("td", {}, cell) : html("th", { scope: "row" }, cell)))),
        ),
      ),
    ),
  );
}

class Profile {
  /** @param {Element} root @param {string} plotlyUrl */
  constructor(root, plotlyUrl) {
    this.plotlyUrl = plotlyUrl;
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
    this.charts = charts.map(([name, title, figure]) => {
      const plot = html("div", { class: "cl-plot", role: "img", "aria-label": title });
      const root = html(
        "figure",
        { class: "cl-chart", "data-chart": name },
        html("figcaption", { class: "cl-label" }, title),
        plot,
      );
      return { title, figure, plot, root };
    });
    this.body = html(
      "div",
      { class: "cl-body", hidden: true },
      html(
        "section",
        { class: "cp-words" },
        this.headline,
        this.numbers,
        html("p", { class: "cp-top" }, this.kind, this.provenance),
      ),
      html("section", { class: "cl-charts" }, ...this.charts.map((chart) => chart.root)),
      html("section", { class: "cp-panel" }, html("h3", { class: "cl-heading" }, "Why, and the limits"), this.reasons),
      html("details", { class: "cl-details cp-numbers" }, html("summary", {}, "All numbers as tables"), this.tables),
    );
    this.root = html(
      "div",
      { class: "citer-labels citer-profile", role: "region", "aria-label": "Is routing worth it here?" },
      this.status,
      this.bar,
      this.body,
    );
    root.replaceChildren(this.root);
    new MutationObserver(() => this.draw()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  }

  /** @param {string} payload */
  receive(payload) {
    if (!payload) return;
    const message = JSON.parse(payload);
    if (message.profile) this.show(message.profile);
    else if (message.progress) {
      this.measuring(true);
      this.say(`Measuring: ${message.progress.doing}.`);
      Object.assign(this.bar, { hidden: false, value: message.progress.done });
    } else if (message.notice !== undefined) this.say(message.notice, message.level);
  }

  /** While it measures there is something to stop, here and with the page's own Stop. @param {boolean} isMeasuring */
  measuring(isMeasuring) {
    /** @type {[string, boolean][]} */
    const states = [
      ["cx-profile-measure", isMeasuring],
      ["cx-profile-stop", !isMeasuring],
      ["cx-profile-recorded", isMeasuring || this.profile?.kind !== "live"],
    ];
    for (const [id, disabled] of states) {
      const button = document.getElementById(id);
      if (button instanceof HTMLButtonElement) button.disabled = disabled;
    }
    globalThis.citer?.setOther(isMeasuring ? () => press("button#cx-profile-stop") : null);
  }

  /** Gradio's event is over, however it went. */
  settled() {
    this.measuring(false);
    if (!this.bar.hidden) this.say("");
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
        html(
          "div",
          {},
          html("dt", {}, label),
          html("dd", { class: "cp-number" }, value),
          html("dd", { class: "cl-note" }, note),
        ),
      ),
    );
    this.reasons.replaceChildren(...profile.sentences.map((sentence) => html("li", {}, sentence)));
    this.tables.replaceChildren(...profile.tables.map(table));
    this.body.hidden = false;
    // A measurement's event ends a moment later with its result once more: over whatever is asked for until then.
    this.measuring(profile.kind === "live");
    this.draw();
  }

  async draw() {
    if (!this.profile) return;
    try {
      const Plotly = await loadPlotly(this.plotlyUrl);
      const palette = paletteOf(this.root);
      for (const chart of this.charts) {
        const { data, layout } = chart.figure(this.profile, palette);
        await Plotly.react(chart.plot, data, layout, CONFIG);
        chart.plot.setAttribute("aria-label", `${chart.title}. ${this.profile.headline}`);
        chart.plot.dataset.drawn = "true";
      }
    } catch (error) {
      this.say(`The charts could not be drawn (${messageOf(error)}); the tables hold their numbers.`, "error");
    }
  }
}

/**
 * Called when the tab is first opened, with what Gradio gives a component's script.
 * @param {ComponentContext<{value: string, plotly: string}> & {onOpen: () => void}} context
 */
export async function mountProfile({ element, props, watch, onOpen }) {
  if (!props.value) onOpen();
  const styles = ["../labels/labels.css", "./profile.css"];
  await Promise.all(styles.map((name) => stylesheet(new URL(name, import.meta.url).href)));
  const profile = new Profile(part(element, ".cx-profile"), props.plotly);
  watch("value", () => profile.receive(props.value));
  window.citerProfile = profile;
  profile.receive(props.value);
  profile.measuring(false); // no event of before goes on
}
