/**
 * Labels of problems, several at once: all texts that are being tried, of all of them, are written together.
 *
 * Problems come and go at any time. Knows no worker.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./label_problem.js").BothRows} BothRows
 * @typedef {import("./label_problem.js").LabelledText} LabelledText
 * @typedef {import("./label_problem.js").Trial} Trial
 * @typedef {import("../tasks/book.js").Problem} Problem
 *
 * @typedef {LabelledText & {index: number, how: {data_type: string, truth: string, rule: string}}} Labelled
 * @typedef {{index: number, how: Labelled["how"], steps: import("./label_problem.js").Steps<LabelledText>,
 *   found: number[][], nOpen: number}} Begun a problem: what became of its texts, how many are still being written
 */

import { Continuations } from "./continuations.js";
import { RequestProblem } from "./fork.js";
import { ProblemLabels, TRUTHS } from "./label_problem.js";
import { RULES } from "./label_rules.js";

/** Tokens of a text that is tried: no right answer of the bundled problems is longer. */
export const MOST_TRIED = 192;
/** Texts that are written at once, from which on no other problem is begun. */
export const ENOUGH = 24;

export class Labelling {
  /** @type {Set<Begun>} */
  #begun = new Set();

  /**
   * @param {BrowserPair} pair @param {BothRows} rows of its models
   * @param {{truth: string, rule: string}} how of `TRUTHS` and of `RULES`
   * @throws {RequestProblem}
   */
  constructor(pair, rows, { truth, rule }) {
    if (!Object.hasOwn(RULES, rule) || !TRUTHS.includes(truth)) {
      throw new RequestProblem("There is no such way to label: choose one of the list.");
    }
    this.pair = pair;
    this.rows = rows;
    this.how = { truth, rule };
    this.running = {
      slm: new Continuations(rows.slm, pair, MOST_TRIED),
      llm: new Continuations(rows.llm, pair, MOST_TRIED),
    };
  }

  /** Whether another problem may be begun. */
  get hasRoom() {
    return this.running.slm.size + this.running.llm.size < ENOUGH;
  }

  get isIdle() {
    return this.#begun.size === 0;
  }

  /** @param {{index: number, problem: Problem}} item */
  take({ index, problem }) {
    const { truth, rule } = this.how;
    const steps = new ProblemLabels(this.pair, this.rows, problem, { truth, rule: RULES[rule] }).steps();
    this.#begun.add({ index, how: { data_type: problem.data_type, ...this.how }, steps, found: [], nOpen: 0 });
  }

  /**
   * Goes on with every problem that waits for nothing, then writes one token of every text.
   * @returns {Generator<Labelled|undefined, void, void>} problems that are done; undefined after a pass over weights
   * @throws {RequestProblem|import("./decode.js").NotANumberProblem}
   */
  *step() {
    for (const one of this.#begun) {
      while (one.nOpen === 0) {
        const { done, value } = one.steps.next(one.found);
        if (done) {
          this.#begun.delete(one);
          yield { index: one.index, how: one.how, ...value };
          break;
        }
        if (value) this.#write(one, value);
        else yield;
      }
    }
    for (const running of Object.values(this.running)) if (running.size) yield* running.step();
  }

  /** @param {Begun} one @param {Trial} trial */
  #write(one, { writer, beginnings }) {
    one.found = [];
    one.nOpen = beginnings.length;
    for (const [i, beginning] of beginnings.entries()) {
      this.running[writer].add(beginning, (ids) => {
        one.found[i] = ids;
        one.nOpen--;
      });
    }
  }

  /** Gives back what unfinished problems have. */
  end() {
    for (const running of Object.values(this.running)) running.end();
    for (const { steps } of this.#begun) steps.return(/** @type {any} */ (undefined));
    this.#begun.clear();
  }
}
