/**
 * A run with look-back in the order of time: the doubts that add up, a cell for each written token, and each look with
 * a line back to where it went: thin over what the LLM read, thick over what it took back.
 *
 * Must not know the text. Calls back with the token under the pointer. A few paths, whatever the length.
 */

import { html, overTokens, setAttributes, setText, svg } from "./dom.js";
import { percent, plural, significant } from "../run/format.js";
import { doubtOf } from "../run/decision.js";

/**
 * A run in the order of time, what the LLM took back included: each token that was written, each look, and the doubts
 * that add up in between.
 *
 * @typedef {Object} Step one written token
 * @property {number} index of the token that stands there now
 * @property {number|null} place among those that were taken back for it; null where it stands itself
 * @property {number} doubts since the last look, this token's included
 *
 * @typedef {Object} Look a call of the LLM
 * @property {number} at the step that it ended with
 * @property {number} from the step of the look before, or the first
 * @property {number|null} back the first step that it took back
 * @property {number} nGone
 */

/**
 * @param {TokenEvent[]} events those that stay
 * @param {number|null} prior of the router; without it doubts are unknown and stay 0
 */
export function inTime(events, prior) {
  /** @type {Step[]} */
  const steps = [];
  /** @type {Look[]} */
  const looks = [];
  let doubts = 0;
  let from = 0;
  for (const event of events) {
    const { index, discarded = [] } = event;
    const nGone = discarded.length;
    const back = nGone ? steps.length : null;
    const doubted = (/** @type {number} */ confidence) => (doubts += prior === null ? 0 : doubtOf(confidence, prior));
    discarded.forEach(([, , confidence], place) => steps.push({ index, place, doubts: doubted(confidence) }));
    // What was taken back has been doubted, the token in this place first; a person's choice is not.
    if (!nGone && !event.forced) doubted(event.slm_confidence);
    const at = steps.push({ index, place: null, doubts }) - 1;
    if (!event.llm_tokens_fed) continue;
    looks.push({ at, from, back, nGone });
    [from, doubts] = [at, 0];
  }
  return { steps, looks };
}

const FLOOR = 30; // of the doubts
const LIMIT = 8; // where their budget is
const DEPTH = 62;
const MOST_OVER = 1.3; // of the budget: what is above is cut
const MOST_NAMED = 30;
const SHAPES = ["doubts", "limit", "read", "slm", "unread", "gone", "llm", "look"];

/** @typedef {ReturnType<typeof inTime>} InTime */

/**
 * What is drawn, a path for each shape; a step is 1 wide.
 * @param {InTime} run @param {ArrayLike<number>} isLlm of the tokens that stand
 * @param {number} budget 0 draws no doubts @param {number} span
 * @returns {Record<string, string>}
 */
export function timePaths({ steps, looks }, isLlm, budget, span) {
  /** @type {Record<string, string>} */
  const paths = Object.fromEntries(SHAPES.map((shape) => [shape, ""]));
  const nRead = looks.length ? looks[looks.length - 1].at + 1 : 0;
  const ends = new Set(looks.map(({ at }) => at));
  if (budget && steps.length) [paths.limit, paths.doubts] = [`M0 ${LIMIT}H${span}`, `M0 ${FLOOR}`];
  steps.forEach(({ index, place, doubts }, x) => {
    if (place !== null) paths.gone += `M${x + 0.15} 39h.7v10h-.7z`;
    else if (isLlm[index]) paths.llm += `M${x + 0.05} 35h.9v18h-.9z`;
    else paths[x < nRead ? "slm" : "unread"] += `M${x + 0.1} 39h.8v10h-.8z`;
    if (!budget) return;
    const y = FLOOR - (FLOOR - LIMIT) * Math.min(MOST_OVER, doubts / budget);
    paths.doubts += `V${Number(y.toFixed(2))}H${ends.has(x) ? `${x + 0.5}V${FLOOR}H${x + 1}` : x + 1}`;
  });
  if (paths.doubts) paths.doubts += `V${FLOOR}z`;
  for (const { at, from } of looks) {
    paths.look += `M${at + 0.5} ${budget ? 2 : FLOOR}V${DEPTH - 1}`;
    paths.read += `M${from && from + 1} 56V${DEPTH - 1}H${at + 0.5}`;
  }
  return paths;
}

/** The same in words. @param {InTime} run @param {number} budget */
export function timeWords({ steps, looks }, budget) {
  const nGone = looks.reduce((sum, look) => sum + look.nGone, 0);
  const named = looks.slice(0, MOST_NAMED).map(({ at, nGone: n }) => `at ${at + 1}, ${n ? `${n} taken back` : "none"}`);
  const nMore = looks.length - named.length;
  const nUnread = steps.length - 1 - (looks.at(-1)?.at ?? -1);
  return [
    `In the order of time: ${plural(steps.length, "token")} written, ${nGone} of them taken back`,
    plural(looks.length, "look") + (named.length ? `: ${named.join("; ")}` : "") + (nMore ? `; ${nMore} more` : ""),
    ...(nUnread ? [`The LLM has not read the last ${nUnread}`] : []),
    ...(budget ? [`Doubts add up to a budget of ${significant(budget)}`] : []),
  ].join(". ");
}

export class TimeStrip {
  /** @type {InTime} */
  run = { steps: [], looks: [] };
  span = 1;

  /**
   * @param {{onHover: (index: number|null) => void, onPick: (index: number) => void,
   *   onGone: (index: number, place: number) => void}} on `onGone`: one of those that were taken back for a token
   */
  constructor(on) {
    /** @type {Record<string, SVGPathElement>} */
    this.shapes = Object.fromEntries(SHAPES.map((shape) => [shape, svg("path", { class: `cv-time-${shape}` })]));
    this.veil = svg("rect", { class: "cv-minimap-veil", y: 0, height: DEPTH });
    this.svg = svg("svg", { class: "cv-time-svg", role: "img", preserveAspectRatio: "none" }, [
      ...Object.values(this.shapes),
      this.veil,
    ]);
    this.cursor = html("span", { class: "cv-minimap-cursor", hidden: true });
    this.backs = html("div", { class: "cv-time-backs", "aria-hidden": "true" });
    this.name = html("span", { class: "cv-time-name cv-caption", "aria-hidden": "true" }, "doubt");
    this.nLooks = html("span", {});
    /** @param {MouseEvent} event */
    const stepAt = (event) => {
      const box = this.svg.getBoundingClientRect();
      const step = Math.floor(((event.clientX - box.left) / box.width) * this.span);
      return step >= 0 && step < this.run.steps.length ? step : null;
    };
    const over = overTokens(stepAt, {
      onHover: (step) => on.onHover(step === null ? null : this.run.steps[step].index),
      onPick: (step) => {
        const { index, place } = this.run.steps[step];
        on.onPick(index);
        if (place !== null) on.onGone(index, place);
      },
    });
    this.root = html("div", { class: "cv-in-time", hidden: true }, [
      html("div", { class: "cv-time-map", ...over }, this.name, this.svg, this.backs, this.cursor),
      html("p", { class: "cv-caption cv-row" }, this.nLooks, html("span", {}, "time, taken-back tokens included")),
    ]);
  }

  /** @param {RunView} view */
  update(view) {
    this.root.hidden = !view.looksBack;
    if (this.root.hidden) return;
    const prior = view.head?.router.slm_prior ?? null;
    const budget = prior === null ? 0 : (view.head?.settings.doubt_budget ?? 0);
    this.run = inTime(view.events, prior);
    const { steps, looks } = this.run;
    // A live run has room for more, which grows in jumps.
    this.span = view.domain + steps.length - view.n;
    const top = budget ? 0 : FLOOR;
    setAttributes(this.svg, {
      viewBox: `0 ${top} ${this.span} ${DEPTH - top}`,
      height: DEPTH - top,
      "aria-label": timeWords(this.run, budget),
    });
    this.name.hidden = !budget;
    const paths = timePaths(this.run, view.decisions.isLlm, budget, this.span);
    for (const [shape, path] of Object.entries(this.shapes)) path.setAttribute("d", paths[shape]);
    this.backs.replaceChildren(
      ...looks.map(({ at, back, nGone }) => {
        if (back === null) return html("span", { hidden: true });
        const style = { left: this.#across(back + 0.5), width: this.#across(at - back) };
        return html("span", { style }, html("span", {}, String(nGone), html("span", {}, " taken back")));
      }),
    );
    this.moved(view);
  }

  /** @param {number} x in steps */
  #across(x) {
    return percent(x / this.span, 3);
  }

  /** What is hidden by playback, and where the chosen token is. @param {RunView} view */
  moved(view) {
    const { steps, looks } = this.run;
    const hidden = steps.findIndex(({ index }) => index >= view.shown);
    const nShown = hidden < 0 ? steps.length : hidden;
    setAttributes(this.veil, { x: nShown, width: steps.length - nShown });
    const isShown = looks.map(({ at }) => at < nShown);
    for (const [i, { nGone }] of looks.entries())
      /** @type {HTMLElement} */ (this.backs.children[i]).hidden = !nGone || !isShown[i];
    const nLooks = isShown.filter(Boolean).length;
    setText(this.nLooks, plural(nLooks, "look") + (nLooks ? ": back as far as the line goes" : ""));
    const at = steps.findIndex(({ index, place }) => index === view.focus && place === null);
    this.cursor.hidden = at < 0;
    if (at >= 0) this.cursor.style.left = this.#across(at + 0.5);
  }
}
