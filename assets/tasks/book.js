/**
 * The bundled problems that a person can pick from, and the way from a text to a problem whose answer may be known; the
 * mirror of `citer_core/ui/problems.py`. Must not know where the rows come from.
 *
 * @typedef {import("./problems.js").Problem & {solution?: string}} Problem
 */

import { stripped } from "./plain_text.js";
import { problemFromRow, problemFromText } from "./problems.js";

export class ProblemBook {
  /** @param {Map<string, any[]>} rows of each type, in their order @param {any[]} recorded of the recorded runs */
  constructor(rows, recorded) {
    /** @type {Map<string, Problem>} "math 12" and so on */
    this.byKey = new Map();
    /** @type {Map<string, Problem>} */
    this.byText = new Map();
    for (const { question, data_type: dataType, answer } of recorded) {
      this.#add(problemFromText(question, dataType, answer ?? null));
    }
    for (const [dataType, some] of rows) {
      for (const [i, row] of some.entries()) {
        const problem = problemFromRow(row);
        this.byKey.set(`${dataType} ${i + 1}`, problem);
        this.#add(problem);
      }
    }
  }

  /** @param {Problem} problem */
  #add(problem) {
    this.byText.set(`${problem.data_type}\n${problem.question}`, problem);
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
