/**
 * What a live comparison is asked with, and what is new of it put to what is there.
 *
 * Must not know how the server is asked: `onAsk` is given a plain object.
 *
 * @typedef {import("./shared_settings.js").AskedComparison} AskedComparison
 * @typedef {import("./shared_settings.js").SettingName} SettingName
 * @typedef {{state?: string, message?: string, pair?: string|null, thresholds?: Record<string, number>|null,
 *   default_router?: string|null, in_turn?: boolean, revision?: string}} LiveStatus
 * @typedef {{router: string, share_wanted: number|null, tau: number, n: number}} MeasuredPoint of the evidence
 */

import { html, options, plainButton, setText } from "../viewer/dom.js";
import { formatTau, messageOf, percent, shortTau } from "../run/format.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";
import { OF_SAMPLING, sharedSettings } from "./shared_settings.js";

/** Shares of LLM tokens that every router of the bundled pair was measured at. */
const SHARES = [0.05, 0.1, 0.2, 0.3];
const KINDS = /** @type {const} */ ([
  ["math", "Math"],
  ["mc", "Multiple choice"],
  ["open", "Free text"],
]);
const SAMPLED =
  "At each place every way draws by the same random number. Speculative decoding is compared greedily only.";
const IN_TURN = "a token each in turn, instead of one after another";

/** @param {string} label @param {HTMLElement} control */
const field = (label, control) =>
  html("label", { class: "cq-field" }, html("span", { class: "cq-small" }, label), control);

/** A setting's name for people. @param {string} name */
const inWords = (name) => (name[0].toUpperCase() + name.slice(1)).replaceAll("_", "-");

/** @param {Record<string, number>} range @param {() => void} [oninput] */
const numberInput = (range, oninput) => html("input", { class: "cq-input cq-tau", type: "number", ...range, oninput });

/** @param {SettingName} name */
function settingInput(name) {
  const { kind, default: value } = SETTINGS_TABLE[name];
  const step = kind.kind === "whole" ? 1 : 0.01;
  const min = "openLow" in kind && kind.openLow ? kind.low + step : kind.low;
  return numberInput({ min, max: kind.high, step, value });
}

/** @param {readonly (readonly [string|number, string])[]} offered @param {() => void} onchange */
const choice = (offered, onchange) => html("select", { class: "cq-select", onchange }, ...options(offered));

/** @param {...HTMLElement} controls */
const row = (...controls) => html("div", { class: "cq-row" }, ...controls);

export class LiveForm {
  others = sharedSettings(() => undefined);
  /** @type {LiveStatus|null} */
  status = null;
  /** @type {Partial<AskedComparison>|null} what came before there were routers */
  untaken = null;

  /**
   * @param {{onAsk: (asked: AskedComparison) => void, onStop: () => void,
   *   measured: (kind: string) => Promise<MeasuredPoint[]>}} on `measured`: the loaded pair's, for a kind of problem
   */
  constructor({ onAsk, onStop, measured }) {
    this.measured = measured;
    this.question = html("textarea", { class: "cq-input", rows: 3, "aria-label": "The problem" });
    this.kind = choice(KINDS, () => this.#sameShare());
    this.routers = [0, 1].map((k) => ({
      name: choice([], () => this.#chosen(k)),
      tau: numberInput({ min: 0.01, max: 0.99, step: 0.01 }, () => (this.share.value = "")),
    }));
    const shares = SHARES.map((share) => /** @type {const} */ ([share, `${percent(share, 0)} for both`]));
    this.share = choice([["", "each its own τ"], ...shares], () => this.#sameShare());
    this.together = html("input", { type: "checkbox" });
    this.settings = Object.fromEntries(OF_SAMPLING.map((name) => [name, settingInput(name)]));
    this.temperature = this.settings.temperature;
    this.temperature.addEventListener("input", () => this.#showSampling());
    const drawn = OF_SAMPLING.filter((name) => name !== "temperature");
    this.sampling = row(
      ...drawn.map((name) => field(inWords(name), this.settings[name])),
      html("p", { class: "cq-small" }, SAMPLED),
    );
    this.turns = html("label", { class: "cq-check" }, this.together, IN_TURN);
    this.go = plainButton("Write it now, in every way", "cq-button cq-main", () => onAsk(this.asked()));
    this.stop = plainButton("Stop", "cq-button", onStop, { hidden: true });
    this.note = html("p", { class: "cq-note", role: "status" });
    const routers = this.routers.flatMap(({ name, tau }, k) => [
      field(k ? "and by the router" : "Routed by", name),
      field("at τ", tau),
    ]);
    this.root = html("details", { class: "cq-live" }, [
      html("summary", {}, "Write a problem of your own in every way, live"),
      html("div", { class: "cq-form" }, [
        field("Problem", this.question),
        row(field("Kind", this.kind), ...routers, field("LLM tokens", this.share)),
        row(field("Temperature (0 is greedy)", this.temperature), this.turns, this.stop, this.go),
        this.sampling,
        this.note,
      ]),
    ]);
    this.#showSampling();
  }

  /** Another router stands where it usually does. @param {number} k */
  #chosen(k) {
    const { name, tau } = this.routers[k];
    const usual = this.status?.thresholds?.[name.value];
    if (usual !== undefined) tau.value = String(usual);
    this.#sameShare();
  }

  /** Each router gets the tau at which it gave that share to the LLM on the problems of the evidence. */
  async #sameShare() {
    const share = Number(this.share.value);
    if (!share) return;
    const chosen = this.routers.filter(({ name }) => name.value);
    try {
      this.say("Looking up what was measured.");
      const points = await this.measured(this.kind.value);
      if (share !== Number(this.share.value)) return;
      const found = chosen.map(({ name }) =>
        points.find(({ router, share_wanted: wanted }) => router === name.value && wanted === share),
      );
      const missing = chosen.filter((_, k) => !found[k]).map(({ name }) => name.value);
      chosen.forEach(({ tau }, k) => (tau.value = found[k] ? String(shortTau(found[k].tau)) : tau.value));
      this.say(
        missing.length
          ? `Not measured here at ${percent(share, 0)}: ${missing.join(", ")}. Set τ by hand.`
          : `At this τ each router gave about ${percent(share, 0)} of the tokens to the LLM, over the ` +
              `${found[0]?.n.toLocaleString("en")} problems of this kind in Evidence. On one problem that varies.`,
      );
    } catch (error) {
      this.say(`What was measured could not be read (${messageOf(error)}). Set τ by hand.`);
    }
  }

  /** @param {LiveStatus} status */
  offer(status) {
    this.status = status;
    this.turns.hidden = status.in_turn === false;
    const names = Object.keys(status.thresholds ?? {});
    this.go.disabled = names.length === 0;
    this.say(names.length ? `${status.pair} is loaded.` : (status.message ?? ""));
    const usual = [status.default_router ?? names[0], names.find((name) => name === "max-probability")];
    this.routers.forEach(({ name, tau }, k) => {
      const offered = k ? ["", ...names] : names;
      name.replaceChildren(...options(offered.map((value) => [value, value || "no other"])));
      name.value = usual[k] && usual[k] !== usual[k - 1] ? String(usual[k]) : offered[0];
      tau.value = formatTau(status.thresholds?.[name.value] ?? 0.7);
    });
    if (names.length && this.untaken) this.take(this.untaken); // asked while the models were loading
  }

  /** @returns {AskedComparison} */
  asked() {
    const routers = this.routers
      .filter(({ name }) => name.value)
      .map(({ name, tau }) => ({ router: name.value, threshold: Number(tau.value) }));
    return {
      question: this.question.value,
      data_type: this.kind.value,
      together: this.together.checked,
      settings: sharedSettings((name) => (this.settings[name] ? Number(this.settings[name].value) : this.others[name])),
      routers,
    };
  }

  /** Fills all of it in, as far as the pair has the routers. @param {Partial<AskedComparison>} asked */
  take({ question = "", data_type = "math", routers = [], together = false, settings = {} }) {
    this.fill(question, data_type);
    const names = Object.keys(this.status?.thresholds ?? {});
    this.untaken = names.length ? null : { question, data_type, routers, together, settings };
    const known = routers.filter(({ router }) => names.includes(router));
    this.routers.forEach(({ name, tau }, k) => {
      if (known[k]) {
        name.value = known[k].router;
        tau.value = String(known[k].threshold);
      } else if (known.length) name.value = "";
    });
    this.share.value = "";
    this.together.checked = together;
    this.others = sharedSettings((name) => settings[name]);
    for (const name of OF_SAMPLING) this.settings[name].value = String(this.others[name]);
    this.#showSampling();
  }

  #showSampling() {
    this.sampling.hidden = !(Number(this.temperature.value) > 0);
  }

  /** @param {string} question @param {string} kind */
  fill(question, kind) {
    this.question.value = question;
    this.kind.value = kind;
  }

  /** @param {boolean} isRunning */
  running(isRunning) {
    this.go.disabled = isRunning || Object.keys(this.status?.thresholds ?? {}).length === 0;
    this.stop.hidden = !isRunning;
  }

  /** @param {string} text */
  say(text) {
    setText(this.note, text);
  }
}

/**
 * A comparison with what is new of it; what does not continue what is there waits for the whole at the end.
 * @param {import("./comparison_file.js").Comparison} comparison
 * @param {{column: number, base: number, items: object[]}[]} columns
 */
export function grown(comparison, columns) {
  const next = { ...comparison, runs: [...comparison.runs] };
  for (const { column, base, items } of columns) {
    const run = next.runs[column];
    if (run && run.events.length === base) {
      next.runs[column] = { ...run, events: [...run.events, .../** @type {TokenEvent[]} */ (items)] };
    } else if (column === next.runs.length && next.speculative?.passes.length === base) {
      const passes = /** @type {import("./comparison_file.js").SpeculativePass[]} */ (items);
      next.speculative = { ...next.speculative, passes: [...next.speculative.passes, ...passes] };
    }
  }
  return next;
}
