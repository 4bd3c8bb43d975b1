/**
 * The arena at a chosen share of the LLM's bytes: its contenders as figures, the one that recovers most first.
 *
 * Pure: must not know the DOM. The numbers at each share were computed by the server; here one is picked, and sorted.
 *
 * @typedef {import("./intervals.js").Figure} Figure
 * @typedef {import("./intervals.js").FigureRow} FigureRow
 *
 * @typedef {Object} Contender
 * @property {string} label
 * @property {boolean} is_held whether all others are held against it
 * @property {number} needs percent of the LLM's bytes below which it cannot be
 * @property {([gap: number, low: number, high: number, right: number]|null)[]} at each of the pair's percents
 *
 * @typedef {Object} PairLevels
 * @property {string} pair
 * @property {string} title
 * @property {number[]} percents of the LLM's bytes, one of which is chosen
 * @property {number} percent the one that is looked at first
 * @property {{kind: string, n: number, contenders: Contender[]}[]} kinds
 */

import { count, percent as inPercent } from "../run/format.js";
import { readOrRefuse } from "../run/gate.js";
import { oneNamed } from "../run/kinds.js";

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
export function percentIn(query, pair, refused) {
  const text = query.get(keyOf(pair));
  const names = pair.percents.map(String);
  const kind = { ...oneNamed(...names), wanted: `one of ${names.join(", ")}` };
  return text ? Number(readOrRefuse(kind, text, keyOf(pair), refused) ?? pair.percent) : pair.percent;
}

/**
 * A kind's contenders, the one that recovers most first, then those that cannot be so cheap, the cheapest first.
 * @param {PairLevels["kinds"][number]} of
 * @param {number} k place of the share
 */
function sorted({ kind, n, contenders }, k) {
  const reached = contenders.flatMap(({ label, is_held, at }) => {
    const numbers = at[k];
    if (!numbers) return [];
    const [value, low, high, right] = numbers;
    return [{ is_held, row: { group: kind, label, value, low, high, right, n, text: inPercent(value) } }];
  });
  const others = contenders.flatMap(({ label, is_held, needs, at }) => {
    const text = `needs\u00a0${needs}%`; // stays in one line
    const row = { group: kind, label, value: null, low: null, high: null, n: null, text };
    return at[k] ? [] : [{ is_held, needs, row }];
  });
  return [...reached.sort((a, b) => b.row.value - a.row.value), ...others.sort((a, b) => a.needs - b.needs)];
}

/**
 * A figure of each kind with its first contenders, and one with all, if these are more.
 * @param {PairLevels} pair
 * @param {number} percent one of its own
 * @returns {Figure[]}
 */
export function figuresAt({ percents, kinds }, percent) {
  const k = percents.indexOf(percent);
  const at = `at ${percent}% of the LLM's bytes`;
  const ranked = kinds.map((of) => sorted(of, k));
  /** @param {string} title @param {FigureRow[]} rows @returns {Figure} */
  const figure = (title, rows) => ({ title, unit: "share", rows, reference: [1, "the LLM"], is_log: false });
  const first = ranked.map((all, i) => {
    const shown = all.filter(({ is_held }, place) => place < MOST_SHOWN || is_held);
    const { kind, n } = kinds[i];
    const rows = shown.map(({ row }) => ({ ...row, group: "" }));
    return figure(`${kind}, ${count(n)} problems: the gap recovered ${at}`, rows);
  });
  const all = ranked.flat().map(({ row }) => row);
  const nShown = first.reduce((sum, { rows }) => sum + rows.length, 0);
  return all.length > nShown ? [...first, figure(`All ${at}`, all)] : first;
}
