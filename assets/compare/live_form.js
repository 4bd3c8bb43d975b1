/**
 * What a live comparison is asked with, and what is new of it put to what is there.
 *
 * Must not know how the server is asked: `onAsk` is given a plain object.
 *
 * @typedef {import("./ways.js").AskedComparison} AskedComparison
 * @typedef {import("./ways.js").AskedWay} AskedWay
 * @typedef {import("./ways.js").SettingName} SettingName
 * @typedef {{state?: string, message?: string, pair?: string|null, thresholds?: Record<string, number>|null,
 *   default_router?: string|null, in_turn?: boolean, revision?: string,
 *   labels?: Record<string, string>, quantiles?: Record<string, number[]>}} LiveStatus of a person's own routers also
 *   their labels and what their cards say of their confidences
 * @typedef {import("./equal_cost.js").MeasuredPoint} MeasuredPoint
 */

import { html, options, plainButton, setText } from "../viewer/dom.js";
import { LOOKING_BACK } from "../run/dials.js";
import { messageOf, shortTau } from "../run/format.js";
import { tauAtShare } from "../run/own_router.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";
import { EQUAL_COSTS, costWords, pointAt, readCost } from "./equal_cost.js";
import { OF_SAMPLING, sharedSettings, wayOf } from "./ways.js";
import { inDigits } from "../run/kinds.js";

const KINDS = /** @type {const} */ ([
  ["math", "Math"],
  ["mc", "Multiple choice"],
  ["open", "Free text"],
]);
const SAMPLED =
  "At each place every way draws by the same random number. Speculative decoding is compared greedily only.";
const OF_OUTCOMES = "citer-outcome";
/** The routers that one can choose: what stands before each, and which of its settings have a field. */
const PLACES = /** @type {[string, SettingName[]][]} */ ([
  ["Routed by", ["threshold"]],
  ["and by the router", ["threshold"]],
  ["with look-back by", ["doubt_budget", "take_back"]],
]);
const IN_TURN = "a token each in turn, instead of one after another";

/** @param {string} label @param {HTMLElement} control */
const field = (label, control) =>
  html("label", { class: "cq-field" }, html("span", { class: "cq-small" }, label), control);

/** @param {Record<string, number>} range @param {() => void} [oninput] */
const numberInput = (range, oninput) => html("input", { class: "cq-input cq-tau", type: "number", ...range, oninput });

/** @param {SettingName} name */
function settingInput(name) {
  const { kind, default: value } = SETTINGS_TABLE[name];
  const step = kind.kind === "whole" ? 1 : 0.01;
  const min = kind.openLow ? kind.low + step : kind.low;
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
    this.kind = choice(KINDS, () => this.#sameCost());
    this.places = PLACES.map(([words, names], k) => {
      const inputs = names.map((name) => /** @type {const} */ ([name, settingInput(name)]));
      const name = choice([], () => this.#chosen(k));
      const fields = inputs.map(([one, input]) =>
        field(one === "threshold" ? "at τ" : SETTINGS_TABLE[one].label, input),
      );
      /** @type {Partial<Settings>} */
      const own = {}; // all its settings, with or without a field
      return {
        name,
        inputs,
        own,
        tau: Object.fromEntries(inputs).threshold,
        controls: [field(words, name), ...fields],
      };
    });
    this.routed = this.places.filter(({ tau }) => tau);
    for (const { tau } of this.routed) tau.addEventListener("input", () => (this.equal.value = ""));
    this.equal = choice([["", "each its own τ"], ...EQUAL_COSTS], () => this.#sameCost());
    this.together = html("input", { type: "checkbox" });
    this.settings = Object.fromEntries(OF_SAMPLING.map((name) => [name, settingInput(name)]));
    this.temperature = this.settings.temperature;
    this.temperature.addEventListener("input", () => this.#showSampling());
    const drawn = OF_SAMPLING.filter((name) => name !== "temperature");
    this.sampling = row(
      ...drawn.map((name) => field(SETTINGS_TABLE[name].label, this.settings[name])),
      html("p", { class: "cq-small" }, SAMPLED),
    );
    this.turns = html("label", { class: "cq-check" }, this.together, IN_TURN);
    this.go = plainButton("Write it now, in every way", "cq-button cq-main", () => onAsk(this.asked()));
    this.stop = plainButton("Stop", "cq-button", onStop, { hidden: true });
    this.note = html("p", { class: "cq-note", role: "status" });
    this.root = html("details", { class: "cq-live" }, [
      html("summary", {}, "Write a problem of your own in every way, live"),
      html("div", { class: "cq-form" }, [
        field("Problem", this.question),
        row(
          field("Kind", this.kind),
          ...this.routed.flatMap(({ controls }) => controls),
          field("Equal for both", this.equal),
        ),
        ...this.places.filter(({ tau }) => !tau).map(({ controls }) => row(...controls)),
        row(field("Temperature (0 is greedy)", this.temperature), this.turns, this.stop, this.go),
        this.sampling,
        this.note,
      ]),
    ]);
    this.#showSampling();
  }

  /** Another router stands where it usually does. @param {number} k */
  #chosen(k) {
    const place = this.places[k];
    const { value: router } = place.name;
    const threshold = this.status?.thresholds?.[router];
    if (place.tau && threshold !== undefined) this.#fill(place, router, { threshold });
    this.#sameCost();
  }

  /** @param {typeof this.places[number]} place @param {string} router @param {Partial<Settings>} own */
  #fill(place, router, own) {
    place.name.value = router;
    place.own = own;
    for (const [name, input] of place.inputs) input.value = String(own[name] ?? 0);
  }

  /** Each router gets the tau at which it cost that much on the problems of the evidence. */
  async #sameCost() {
    const { value } = this.equal;
    if (!value) return;
    const [measure, wanted] = readCost(value);
    const chosen = this.routed.filter(({ name }) => name.value);
    try {
      this.say("Looking up what was measured.");
      const points = await this.measured(this.kind.value);
      if (value !== this.equal.value) return;
      const found = chosen.map(({ name: { value: router } }) => {
        const quantiles = (measure === "share" && this.status?.quantiles?.[router]) || [];
        return pointAt(points, router, measure, wanted) ?? { tau: tauAtShare(quantiles, wanted), n: null };
      });
      const missing = chosen.filter((_, k) => found[k].tau === null).map(({ name }) => name.value);
      chosen.forEach(({ tau }, k) => (tau.value = found[k].tau === null ? tau.value : String(shortTau(found[k].tau))));
      const n = found.find((point) => point.n)?.n;
      const where = n ? `over the ${inDigits(n)} problems of this kind in Evidence` : "";
      const ofCards = found.some((point) => !point.n) ? "by the card of yours, on true solutions" : "";
      this.say(
        missing.length
          ? `Not measured here at ${costWords(measure, wanted)}: ${missing.join(", ")}. Set τ by hand.`
          : `At this τ each router came to about ${costWords(measure, wanted)}, ` +
              `${[where, ofCards].filter(Boolean).join("; ")}. On one problem that varies.`,
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
    const ofOutcomes = names.find((name) => name === OF_OUTCOMES);
    const first = status.default_router ?? names[0];
    const second = ofOutcomes ?? names.find((name) => name === "max-probability");
    const usual = [first, second === first ? "" : second, ofOutcomes];
    this.places.forEach((place, k) => {
      const offered = names.map((name) => /** @type {const} */ ([name, status.labels?.[name] ?? name]));
      place.name.replaceChildren(...options([["", "no router"], ...offered]));
      const router = usual[k] ?? "";
      this.#fill(place, router, place.tau ? { threshold: status.thresholds?.[router] ?? 0.7 } : LOOKING_BACK);
    });
    if (names.length && this.untaken) this.take(this.untaken); // asked while the models were loading
  }

  /** @returns {AskedComparison} */
  asked() {
    const routers = this.places
      .filter(({ name }) => name.value)
      .map(({ name, own, inputs }) => {
        const given = Object.fromEntries(inputs.map(([one, { value }]) => [one, Number(value)]));
        return wayOf(name.value, { ...own, ...given });
      });
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
    for (const place of known.length ? this.places : []) {
      const at = known.findIndex(({ take_back: ratio }) => Boolean(ratio) !== Boolean(place.tau));
      if (at < 0) place.name.value = "";
      else this.#fill(place, known[at].router, known.splice(at, 1)[0]);
    }
    this.equal.value = "";
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
