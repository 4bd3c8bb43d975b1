/**
 * The problems of the Lab: those that may be labelled, with their solutions, and those that a router is tried on. They
 * are fetched when they are first asked for.
 *
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {import("../transport/engine_client.js").PairFacts} PairFacts
 */

import { rowsOf } from "../tasks/book.js";
import { problemFromRow } from "../tasks/problems.js";
import { textOf } from "../transport/pair_files.js";
import { FORMATS } from "./recipe.js";

/** The kind of a row, without its variant; choice questions have none. @param {{kind?: string}} row */
const kindOfRow = ({ kind = "" }) => kind.split("/")[0];

export class LabProblems {
  /** @type {Map<string, Promise<any[]>>} */
  #rows = new Map();

  /** @param {PairFacts} facts with a whole address as `root` */
  constructor(facts) {
    this.facts = facts;
  }

  /**
   * @param {string} name of a file; one that could not be had is asked for again
   * @returns {Promise<any[]>}
   * @throws {Error} in words for a person
   */
  async #file(name) {
    const found = this.#rows.get(name) ?? textOf(this.facts, `datasets/${name}.jsonl`).then(rowsOf);
    this.#rows.set(name, found);
    const rows = await found.catch(() => []);
    if (rows.length) return rows;
    this.#rows.delete(name);
    throw new Error("The problems could not be fetched. Check the connection and try again.");
  }

  /** What kinds there are, by format. @returns {Promise<Record<string, string[]>>} */
  async kinds() {
    const formats = Object.keys(FORMATS);
    const files = await Promise.all(formats.map((format) => this.#file(`lab-train-${format}`)));
    return Object.fromEntries(
      formats.map((format, i) => [format, [...new Set(files[i].map(kindOfRow))].filter(Boolean).sort()]),
    );
  }

  /** Problems to label, as many as there are. @param {string} of @param {number} n @returns {Promise<Problem[]>} */
  async toLabel(of, n) {
    const [format, kind] = of.split("/");
    const rows = await this.#file(`lab-train-${format}`);
    return rows
      .filter((row) => !kind || kindOfRow(row) === kind)
      .slice(0, n)
      .map(problemFromRow);
  }

  /** @param {string} format @returns {Promise<Problem[]>} */
  async unseen(format) {
    return (await this.#file(`lab-test-${format}`)).map(problemFromRow);
  }
}
