/**
 * One pair's arena with its choice of a cost: a share of the LLM's bytes, or of LLM passes. The numbers at each were
 * computed by the server; here one is picked, and sorted.
 */

import { html, options } from "../viewer/dom.js";
import { figurePanel } from "./question_panel.js";
import { percent as inPercent } from "../run/format.js";
import { readOrRefuse } from "../run/gate.js";
import { inDigits, oneNamed } from "../run/kinds.js";

/**
 * The arena at a chosen cost: its contenders as figures, the one that recovers most first.
 *
 * @typedef {import("./question_panel.js").Figure} Figure
 * @typedef {import("./question_panel.js").FigureRow} FigureRow
 *
 * @typedef {Object} Contender
 * @property {string} label
 * @property {boolean} is_held whether all others are held against it
 * @property {[bytes: number, passes: number]} needs percents below which it cannot be
 * @property {([gap: number, low: number, high: number, right: number]|null)[]} at each of the pair's levels
 *
 * @typedef {Object} PairLevels
 * @property {string} pair
 * @property {string} title
 * @property {{name: string, words: string, by_passes: boolean}[]} levels costs, one of which is chosen
 * @property {string} level the one that is looked at first
 * @property {{kind: string, n: number, contenders: Contender[]}[]} kinds
 */

/** Contenders that are shown of each kind, beside those that all are held against; the others are folded. */
const MOST_SHOWN = 10;

/** The key of a pair's choice in a link. @param {PairLevels} pair */
export const keyOf = ({ pair }) => `at-${pair}`;

/**
 * The choice that a link holds; that of the first look where it holds none that is offered.
 * @param {URLSearchParams} query
 * @param {PairLevels} pair
 * @param {string[]} refused is added to
 */
export function levelIn(query, pair, refused) {
  const text = query.get(keyOf(pair));
  const names = pair.levels.map(({ name }) => name);
  const kind = { ...oneNamed(...names), wanted: `one of ${names.join(", ")}` };
  return (text && /** @type {string|null} */ (readOrRefuse(kind, text, keyOf(pair), refused))) || pair.level;
}

/**
 * A kind's contenders, the one that recovers most first, then those that cannot be so cheap, the cheapest first.
 * @param {PairLevels["kinds"][number]} of
 * @param {number} k place of the level
 * @param {number} of what: 0, bytes; 1, passes
 */
function sorted({ kind, n, contenders }, k, of) {
  const reached = contenders.flatMap(({ label, is_held, at }) => {
    const numbers = at[k];
    if (!numbers) return [];
    const [value, low, high, right] = numbers;
    return [{ is_held, row: { group: kind, label, value, low, high, right, n, text: inPercent(value) } }];
  });
  const others = contenders.flatMap(({ label, is_held, needs: { [of]: needs }, at }) => {
    const text = `needs\u00a0${needs}%`; // stays in one line
    const row = { group: kind, label, value: null, low: null, high: null, n: null, text };
    return at[k] ? [] : [{ is_held, needs, row }];
  });
  return [...reached.sort((a, b) => b.row.value - a.row.value), ...others.sort((a, b) => a.needs - b.needs)];
}

/**
 * A figure of each kind with its first contenders, and one with all, if these are more.
 * @param {PairLevels} pair
 * @param {string} name of one of its levels
 * @returns {Figure[]}
 */
export function figuresAt({ levels, kinds }, name) {
  const k = levels.findIndex((level) => level.name === name);
  const at = `at ${levels[k].words}`;
  const ranked = kinds.map((of) => sorted(of, k, Number(levels[k].by_passes)));
  /** @param {string} title @param {FigureRow[]} rows @returns {Figure} */
  const figure = (title, rows) => ({ title, unit: "share", rows, reference: [1, "the LLM"], is_log: false });
  const first = ranked.map((all, i) => {
    const shown = all.filter(({ is_held }, place) => place < MOST_SHOWN || is_held);
    const { kind, n } = kinds[i];
    const rows = shown.map(({ row }) => ({ ...row, group: "" }));
    return figure(`${kind}, ${inDigits(n)} problems: the gap recovered ${at}`, rows);
  });
  const all = ranked.flat().map(({ row }) => row);
  const nShown = first.reduce((sum, { rows }) => sum + rows.length, 0);
  return all.length > nShown ? [...first, figure(`All ${at}`, all)] : first;
}

export class ArenaPanel {
  /** @param {PairLevels} pair @param {string} level that is chosen at first */
  constructor(pair, level) {
    this.pair = pair;
    /** @type {[string, string][]} */
    const offered = pair.levels.map(({ name, words }) => [name, words]);
    this.select = html("select", { class: "cl-select", onchange: () => this.show() }, ...options(offered));
    this.select.value = level;
    this.figures = html("div", {});
    this.root = html("section", { class: "ce-arena", "data-pair": pair.pair }, [
      html("label", { class: "cl-label" }, `${pair.title}: at `, this.select),
      this.figures,
    ]);
    this.show();
  }

  /** The choice as a link has it. @returns {[string, string]} */
  get inAddress() {
    return [keyOf(this.pair), this.select.value];
  }

  /** What is chosen; what a person has unfolded stays so. */
  show() {
    const { pair, select } = this;
    const isOpen = this.figures.querySelector("details")?.open ?? false;
    const name = (/** @type {number} */ k) => `arena-${pair.pair}-${select.value}-${k + 1}`;
    this.figures.replaceChildren(...figuresAt(pair, select.value).map((figure, k) => figurePanel(figure, name(k))));
    for (const folded of this.figures.querySelectorAll("details")) folded.open = isOpen;
  }
}
