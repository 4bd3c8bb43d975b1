/**
 * The bundled problems that a person can pick from, and the way from a text to a problem whose answer may be known; the
 * mirror of `citer_core/ui/problems.py`. Must not know where the rows come from.
 *
 * @typedef {import("./problems.js").Problem & {solution?: string}} Problem
 */

import { stripped } from "./plain_text.js";
import { problemFromRow, problemFromText } from "./problems.js";

export class ProblemBook {
  /** @type {{byKey: Map<string, Problem>, byText: Map<string, Problem>}|null} */
  #read = null;

  /** @param {Map<string, any[]>} rows of each type, in their order @param {any[]} recorded of the recorded runs */
  constructor(rows, recorded) {
    this.rows = rows;
    this.recorded = recorded;
  }

  /** By "math 12" and so on. */
  get byKey() {
    return this.#problems().byKey;
  }

  get byText() {
    return this.#problems().byText;
  }

  /** Every row as a problem, from the first question on: hundreds of them are a long task of a page that opens. */
  #problems() {
    if (this.#read) return this.#read;
    /** @type {[string, Problem][]} */
    const bundled = [...this.rows].flatMap(([type, some]) =>
      some.map((row, i) => /** @type {[string, Problem]} */ ([`${type} ${i + 1}`, problemFromRow(row)])),
    );
    const recorded = this.recorded.map((row) => problemFromText(row.question, row.data_type, row.answer ?? null));
    const known = [...recorded, ...bundled.map(([, problem]) => problem)];
    this.#read = {
      byKey: new Map(bundled),
      byText: new Map(known.map((problem) => [`${problem.data_type}\n${problem.question}`, problem])),
    };
    return this.#read;
  }

  /** The known problem of exactly this text. @param {string} text @param {string} dataType @returns {Problem|null} */
  known(text, dataType) {
    return this.byText.get(`${dataType}\n${stripped(text)}`) ?? null;
  }

  /**
   * The known problem of exactly this text, or else a new one. Where a person says what the answer is, that counts.
   * @param {string} text @param {string} dataType @param {string} [answer]
   * @returns {Problem}
   * @throws {import("./problems.js").ProblemError}
   */
  problem(text, dataType, answer = "") {
    if (stripped(answer)) return problemFromText(text, dataType, answer);
    return this.known(text, dataType) ?? problemFromText(text, dataType);
  }
}

/** The rows of a file in JSON Lines. @param {string} text @returns {any[]} */
export const rowsOf = (text) =>
  text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => JSON.parse(line));

const MOST_SHOWN = 90;

/** A problem in a list: its key and the beginning of its question. @param {{key: string, question: string}} problem */
export function problemTitle({ key, question }) {
  const line = question.replace(/\s+/g, " ");
  return `${key} · ${line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN - 1).trimEnd()}…` : line}`;
}
