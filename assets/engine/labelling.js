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

import { RequestProblem } from "./fork.js";
import { ProblemLabels, TRUTHS } from "./label_problem.js";

/**
 * By which rule a token of a right text is labelled: 1 the SLM may write it, 0 the LLM must, null it is left out.
 *
 * @typedef {1|0|null} Label
 * @typedef {Object} Rule
 * @property {(slm: number, llm: number, truth: number) => Label|undefined} known by both greedy tokens and
 *   the true one; undefined where it takes trying
 * @property {"slm"|"llm"|null} writer who goes on when it is tried: the SLM from the right text before the token, the
 *   LLM behind each of the two tokens
 * @property {(isSlmRight: boolean, isLlmRight: boolean) => Label} settle by how these texts end
 */

/**
 * Texts that one model goes on with by itself, greedily, one token of each in a pass; the mirror of
 * `greedy_completions` in `citer_core/models/batch.py`.
 *
 * @typedef {import("./text_rows.js").TextRow} TextRow
 * @typedef {import("./text_rows.js").TextRows} TextRows
 *
 * @typedef {Object} Beginning
 * @property {TextRow|null} row that holds the first `n` positions of the text
 * @property {number} n
 * @property {number[]} ids of the rest of it, at least one
 *
 * @typedef {{row: TextRow, news: number[], written: number[], most: number, end: (ids: number[]) => void}} Running
 */

export class Continuations {
  /** @type {Set<Running>} */
  #running = new Set();

  /**
   * @param {TextRows} rows
   * @param {{endIds: Set<number>, maxContext: number}} pair
   * @param {number} most tokens of a continuation
   */
  constructor(rows, { endIds, maxContext }, most) {
    this.rows = rows;
    this.endIds = endIds;
    this.maxContext = maxContext;
    this.most = most;
  }

  get size() {
    return this.#running.size;
  }

  /**
   * @param {Beginning} beginning with room for one token more
   * @param {(ids: number[]) => void} end takes the new tokens, the end of text included where it came
   */
  add({ row, n, ids }, end) {
    const most = Math.min(this.most, this.maxContext - n - ids.length);
    this.#running.add({ row: this.rows.open(row, n), news: ids, written: [], most, end });
  }

  /** One token of every text. @returns {Generator<undefined, void, any>} */
  *step() {
    const running = [...this.#running];
    yield* this.rows.read(
      running.map((one) => ({
        row: one.row,
        ids: one.news,
        nWanted: 1,
        take: ({ greedyId: id }) => (one.news = [id]),
      })),
    );
    for (const one of running) {
      one.written.push(...one.news);
      if (!this.endIds.has(one.news[0]) && one.written.length < one.most) continue;
      this.#running.delete(one);
      this.rows.close(one.row);
      one.end(one.written);
    }
  }

  /** Gives the rows back. */
  end() {
    for (const { row } of this.#running) this.rows.close(row);
    this.#running.clear();
  }
}

/** @param {number} slm @param {number} llm @param {number} truth */
const byCase = (slm, llm, truth) => (slm === truth ? 1 : llm === truth ? 0 : undefined);

/** @param {number} slm @param {number} llm */
const whereTheyAgree = (slm, llm) => (slm === llm ? 1 : undefined);

/** @type {Record<string, Rule>} */
export const RULES = {
  // The published labels without case 3, in which both tokens are wrong.
  shortcut: { known: (slm, llm, truth) => byCase(slm, llm, truth) ?? null, writer: null, settle: () => null },
  // The published labels.
  rollouts: { known: byCase, writer: "slm", settle: (isRight) => (isRight ? 1 : 0) },
  // The SLM wherever its token ends right, because it is cheaper.
  outcome: { known: whereTheyAgree, writer: "llm", settle: (slm, llm) => (slm ? 1 : llm ? 0 : null) },
  // The LLM wherever its token ends right.
  "outcome-llm": { known: whereTheyAgree, writer: "llm", settle: (slm, llm) => (llm ? 0 : slm ? 1 : null) },
  // The LLM wherever they differ, whatever comes of it.
  agreement: { known: (slm, llm) => whereTheyAgree(slm, llm) ?? 0, writer: null, settle: () => null },
};

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
