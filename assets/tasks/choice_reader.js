/**
 * Which choice of a question a text names; the mirror of `citer_core/tasks/choice_reader.py`, whose first lines say the
 * grammar. Pure.
 */

import { clean, fold, linesOf, plainer, stripped, trimmed } from "./plain_text.js";
import { ANSWER_PATTERNS } from "./tables.js";

const TEXT_MARK = ANSWER_PATTERNS.text;
const LABEL_MARK = ANSWER_PATTERNS.label;
const BARE_MARK = ANSWER_PATTERNS.bare;
const NO_CHOICE = ANSWER_PATTERNS.noChoice;
const MOST_READ_CHARS = 10000;
const BESIDE_CHARS = 20;

/** @param {string} pattern */
const everyMatch = (pattern) => new RegExp(pattern, "gu");
/** @param {string} pattern @param {string} text */
const firstMatch = (pattern, text) => new RegExp(pattern, "u").exec(text);
/** @param {string} mark */
const markCode = (mark) => mark.charCodeAt(0);
/** The choice that a mark stands for. @param {string} mark */
const markedChoice = (mark) => markCode(mark) & 0x3ff;

/** @param {string} text */
function choiceKey(text) {
  const plain = plainer(clean(text)).replaceAll("\n", "").trim();
  return trimmed(plain.replace(/[.,;]+$/u, ""), "\"'") || plain;
}

/** Finds a choice's text, in itself too, with or without spaces around its operators. @param {string} key */
function writtenKey(key) {
  const parts = key.split(new RegExp(ANSWER_PATTERNS.operator, "u")).filter(Boolean);
  return everyMatch(`(?=(${parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&")).join(" ?")}))`);
}

/** @param {string} text @param {number} start @param {number} end */
function standsAlone(text, start, end) {
  const before = text.slice(Math.max(0, start - BESIDE_CHARS), start);
  if (!firstMatch(ANSWER_PATTERNS.before, before) || firstMatch(ANSWER_PATTERNS.sumBefore, before)) return false;
  return firstMatch(ANSWER_PATTERNS.behind, text.slice(end, end + BESIDE_CHARS)) !== null;
}

export class ChoiceReader {
  /** @param {[string, string][]} choices label and text of each */
  constructor(choices) {
    this.names = choices.map(([label]) => label);
    this.labels = new Map(this.names.map((label, i) => [fold(clean(label)), i]));
    const keys = choices.map(([, text]) => choiceKey(text));
    const folded = keys.map(fold);
    /** @param {string[]} some @param {string} key */
    const isShared = (some, key) => some.indexOf(key) !== some.lastIndexOf(key);
    this.texts = new Map(keys.map((key, i) => [key, isShared(keys, key) ? NO_CHOICE : TEXT_MARK + i]));
    // A letter alone keeps its case, and so do texts that only their case tells apart.
    this.folded = new Map(
      folded
        .map((key, i) => /** @type {[string, number]} */ ([key, TEXT_MARK + i]))
        .filter(([key]) => !isShared(folded, key) && !/^\p{L}$/u.test(key)),
    );
  }

  /** The label of the choice that `completion` names; null for none, or for two at once. @param {string} completion */
  label(completion) {
    const written = stripped(stripped(completion).split(everyMatch(ANSWER_PATTERNS.newQuestion), 1)[0]).slice(
      -MOST_READ_CHARS,
    );
    const mark = this.#announced(this.#marked(written)) ?? this.#whole(linesOf(written));
    return mark === null || markCode(mark) === NO_CHOICE ? null : this.names[markedChoice(mark)];
  }

  /** @param {string} marked @returns {string|null} a mark */
  #announced(marked) {
    let concluded = "";
    for (const cue of [...marked.matchAll(everyMatch(ANSWER_PATTERNS.cue))].reverse()) {
      const [whole, stated, boxed, behind, before] = cue;
      if (behind ?? before) return behind ?? before;
      const [paragraph] = trimmed(marked.slice(cue.index + whole.length), " \n:").split("\n", 1);
      const first = firstMatch(stated === undefined ? ANSWER_PATTERNS.firstLabel : ANSWER_PATTERNS.first, paragraph);
      if (first) return first[0];
      if (stated !== undefined && firstMatch(ANSWER_PATTERNS.numeric, paragraph)) return String.fromCharCode(NO_CHOICE);
      concluded ||= boxed === undefined ? paragraph : "";
    }
    return firstMatch(ANSWER_PATTERNS.first, concluded)?.[0] ?? (concluded ? String.fromCharCode(NO_CHOICE) : null);
  }

  /** @param {string[]} lines @returns {string|null} a mark */
  #whole(lines) {
    const ends = [...lines.slice(0, 1), ...lines.slice(1).slice(-1)].map((line) => this.#marked(line));
    const matches = ends.map((line) => firstMatch(ANSWER_PATTERNS.whole, line));
    if (ends.length === 1) matches.push(firstMatch(ANSWER_PATTERNS.atTheStart, ends[0]));
    if (ends.length) matches.push(firstMatch(ANSWER_PATTERNS.atTheEnd, ends[ends.length - 1]));
    const marks = new Map(matches.flatMap((match) => (match ? [[markedChoice(match[1]), match[1]]] : [])));
    return marks.size === 1 ? [...marks.values()][0] : null;
  }

  /** The cleaned text in lower case, with one mark for every choice that it names. @param {string} written */
  #marked(written) {
    const text = plainer(clean(written));
    const folded = fold(text);
    /** @type {[number, number, number][]} */
    const spots = [];
    for (const match of folded.matchAll(everyMatch(ANSWER_PATTERNS.bracketed))) {
      const i = this.labels.get(match[1]);
      if (i !== undefined) spots.push([match.index, match.index + match[0].length, LABEL_MARK + i]);
    }
    for (const [searched, texts] of /** @type {const} */ ([
      [text, this.texts],
      [folded, this.folded],
    ])) {
      for (const [key, mark] of texts) {
        for (const { index, 1: found } of searched.matchAll(writtenKey(key))) {
          const end = index + found.length;
          if (standsAlone(text, index, end)) spots.push([index, end, mark]);
        }
      }
    }
    const announced = [...folded.matchAll(everyMatch(ANSWER_PATTERNS.stated))].map((match) => [
      match.index,
      match[0].length,
    ]);
    let [marked, at] = ["", 0];
    for (const [start, end, spot] of spots.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
      if (start < at || announced.some(([from, length]) => start >= from && start < from + length)) continue;
      marked += folded.slice(at, start) + String.fromCharCode(spot);
      at = end;
    }
    /** @param {number} base @param {string} word */
    const mark = (base, word) => String.fromCharCode(base + (this.labels.get(word) ?? 0));
    return (marked + folded.slice(at))
      .replace(everyMatch(ANSWER_PATTERNS.withOwnText), (same, word, text) =>
        this.labels.has(word) && text === mark(TEXT_MARK, word) ? mark(LABEL_MARK, word) : same,
      )
      .replace(everyMatch(ANSWER_PATTERNS.labelAlone), (same, word) =>
        this.labels.has(word) ? mark(BARE_MARK, word) : same,
      )
      .replace(everyMatch(ANSWER_PATTERNS.withLabel), "$1")
      .replace(everyMatch(ANSWER_PATTERNS.negated), "$1")
      .replace(everyMatch(ANSWER_PATTERNS.joined), (_, one, other) =>
        markedChoice(one) === markedChoice(other) ? one : String.fromCharCode(NO_CHOICE),
      );
  }
}
