/**
 * Labels of one problem's tokens, step by step; the mirror of `citer_core/labelling` (`labels.py`, `rollouts.py`,
 * `truth.py`).
 *
 * Says which texts are to be tried, and takes what became of them. Knows no other problem.
 *
 * @typedef {import("./pair.js").BrowserPair} BrowserPair
 * @typedef {import("./text_rows.js").TextRow} TextRow
 * @typedef {import("./labelling.js").Beginning} Beginning
 * @typedef {import("./labelling.js").Label} Label
 * @typedef {import("./labelling.js").Rule} Rule
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {{slm: import("./text_rows.js").TextRows, llm: import("./text_rows.js").TextRows}} BothRows
 *
 * @typedef {Object} Features what routers learn from, of each token; see `Labels` in Python
 * @property {Float32Array} hidden the SLM's states, one after another
 * @property {Float32Array} maxProbability
 * @property {Float32Array} margin
 * @property {Float32Array} entropy
 *
 * @typedef {Object} Way what became of the text with one model's token
 * @property {string} text of the token, empty at the end of text
 * @property {string|null} ending what followed it; null where it was not tried, and so below
 * @property {string|null} answer
 * @property {boolean|null} isRight
 * @typedef {{at: number, slm: Way, llm: Way, label: Label}} LabelFork where the models differ, or one was tried
 *
 * @typedef {Object} LabelledText
 * @property {string[]} tokens of the labelled text; the end of text is an empty one
 * @property {Label[]} labels
 * @property {LabelFork[]} forks
 * @property {Features} features
 *
 * @typedef {{writer: "slm"|"llm", beginnings: Beginning[]}} Trial texts to be gone on with by one model alone
 * @typedef {{slmIds: Int32Array, llmIds: Int32Array, features: Features}} Said by both at each token
 * @typedef {{ids: number[], answer: string|null, isRight: boolean}} Ended a whole completion
 */

import { checkAnswer, extractAnswer } from "../tasks/answers.js";
import { RequestProblem } from "./fork.js";
import { TextStream } from "./text_stream.js";
import { inDigits } from "../run/kinds.js";

/** Whose text is labelled: the row's own solution, or what the LLM answers. */
export const TRUTHS = ["gold", "llm"];

/**
 * @template T
 * @typedef {Generator<Trial|undefined, T, number[][]>} Steps undefined after a pass over a model's weights; what is
 *   yielded else is answered with the new tokens of each text
 */

export class ProblemLabels {
  /**
   * @param {BrowserPair} pair @param {BothRows} rows of its models
   * @param {Problem} problem @param {{truth: string, rule: Rule}} how
   */
  constructor(pair, rows, problem, { truth, rule }) {
    this.pair = pair;
    this.rows = rows;
    this.problem = problem;
    this.truth = truth;
    this.rule = rule;
    this.promptIds = pair.tokenizer.encode(problem.prompt);
    /** @type {number[]} */
    this.truthIds = [];
  }

  /** @returns {Steps<LabelledText>} @throws {RequestProblem} */
  *steps() {
    if (this.truth === "gold") this.#takeSolution();
    else yield* this.#takeAnswer();
    const [slm, llm] = [this.rows.slm.open(), this.rows.llm.open()];
    try {
      const said = yield* this.#read(slm, llm);
      const ways = yield* this.rule.writer === "slm" ? this.#goOnAlone(slm, said) : this.#tryBoth(llm, said);
      return this.#described(said, ways);
    } finally {
      this.rows.slm.close(slm);
      this.rows.llm.close(llm);
    }
  }

  #takeSolution() {
    const { solution } = this.problem;
    if (!solution) throw new RequestProblem("This problem has no known solution: label the LLM's answers instead.");
    this.truthIds = [...this.pair.tokenizer.encode(solution), Math.min(...this.pair.endIds)];
    const n = this.promptIds.length + this.truthIds.length;
    if (n < this.pair.maxContext) return;
    const [has, most] = [n, this.pair.maxContext].map(inDigits);
    throw new RequestProblem(
      `A problem has ${has} tokens with its solution; this pair reads fewer than ${most}. Leave it out.`,
    );
  }

  /** The LLM's answer is the text, and what it comes to is right. @returns {Steps<void>} */
  *#takeAnswer() {
    const { tokenizer, maxContext } = this.pair;
    const room = maxContext - 1 - this.promptIds.length; // for one token more, as known solutions leave it
    if (room < 1) throw new RequestProblem("A problem's question is too long for this pair. Leave it out.");
    const [ids] = yield { writer: "llm", beginnings: [{ row: null, n: 0, ids: this.promptIds }] };
    this.truthIds = ids.slice(0, room);
    const answer = extractAnswer(tokenizer.decode(this.truthIds), this.problem);
    this.problem = { ...this.problem, true_answer: answer };
  }

  /** Both models read prompt and text. @param {TextRow} slm @param {TextRow} llm @returns {Steps<Said>} */
  *#read(slm, llm) {
    const { kernel, hiddenSize } = this.pair;
    const n = this.truthIds.length;
    const ids = [...this.promptIds, ...this.truthIds.slice(0, -1)];
    const [slmIds, llmIds] = [new Int32Array(n), new Int32Array(n)];
    const [maxProbability, margin, entropy] = [0, 1, 2].map(() => new Float32Array(n));
    const features = { hidden: new Float32Array(n * hiddenSize), maxProbability, margin, entropy };
    const first = this.promptIds.length - 1;
    const bySlm = this.rows.slm.read([
      {
        row: slm,
        ids,
        nWanted: n,
        take: ({ place, hidden, greedyId, distribution }) => {
          const at = place - first;
          slmIds[at] = greedyId;
          distribution.update();
          maxProbability[at] = distribution.maxProbability;
          margin[at] = distribution.margin;
          entropy[at] = distribution.entropy;
          features.hidden.set(kernel.view(hidden, hiddenSize), at * hiddenSize);
        },
      },
    ]);
    const byLlm = this.rows.llm.read([
      { row: llm, ids, nWanted: n, take: ({ place, greedyId }) => (llmIds[place - first] = greedyId) },
    ]);
    yield* bySlm;
    yield* byLlm;
    return { slmIds, llmIds, features };
  }

  /** Where the rule does not say the label by itself. @param {Said} said @returns {number[]} */
  #open({ slmIds, llmIds }) {
    return [...this.truthIds.keys()].filter(
      (at) => this.rule.known(slmIds[at], llmIds[at], this.truthIds[at]) === undefined,
    );
  }

  /**
   * The SLM goes on alone from the text before each open token.
   * @param {TextRow} slm @param {Said} said
   * @returns {Steps<Map<number, Ended[]>>}
   */
  *#goOnAlone(slm, said) {
    const open = this.#open(said);
    const before = (/** @type {number} */ at) =>
      at ? this.truthIds[at - 1] : this.promptIds[this.promptIds.length - 1];
    const beginnings = open.map((at) => ({ row: slm, n: this.promptIds.length + at - 1, ids: [before(at)] }));
    const found = beginnings.length ? yield { writer: "slm", beginnings } : [];
    return new Map(open.map((at, i) => [at, [this.#ended([...this.truthIds.slice(0, at), ...found[i]])]]));
  }

  /**
   * The LLM goes on behind both tokens of each open place; equal texts once.
   * @param {TextRow} llm @param {Said} said
   * @returns {Steps<Map<number, Ended[]>>}
   */
  *#tryBoth(llm, said) {
    const open = this.#open(said);
    const starts = open.map((at) => [said.slmIds, said.llmIds].map((ids) => this.#leaving(at, ids[at], said)));
    /** @type {Map<string, {at: number, id: number, ids: number[]}>} */
    const texts = new Map(starts.flat().map((start) => [startKey(start), { ...start, ids: [] }]));
    const running = [...texts.values()].filter(({ id }) => !this.pair.endIds.has(id));
    const beginnings = running.map(({ at, id }) => ({ row: llm, n: this.promptIds.length + at, ids: [id] }));
    const found = beginnings.length ? yield { writer: "llm", beginnings } : [];
    for (const [i, text] of running.entries()) text.ids = found[i];
    const ends = new Map(
      [...texts].map(([key, { at, id, ids }]) => [key, this.#ended([...this.truthIds.slice(0, at), id, ...ids])]),
    );
    return new Map(
      open.map((at, i) => [at, starts[i].map((start) => /** @type {Ended} */ (ends.get(startKey(start))))]),
    );
  }

  /**
   * Where a text that the LLM goes on with leaves the labelled one; the end of that where it never does.
   * @param {number} at @param {number} id of the token there @param {Said} said
   */
  #leaving(at, id, { llmIds }) {
    const { truthIds } = this;
    while (id === truthIds[at] && at + 1 < truthIds.length) id = llmIds[++at];
    return { at, id };
  }

  /** @param {number[]} ids @returns {Ended} */
  #ended(ids) {
    const { predicted_answer: answer, is_correct: isRight } = checkAnswer(
      this.pair.tokenizer.decode(ids),
      this.problem,
    );
    return { ids, answer, isRight: isRight === true };
  }

  /** @param {Said} said @param {Map<number, Ended[]>} ends of the texts that were tried @returns {LabelledText} */
  #described({ slmIds, llmIds, features }, ends) {
    const { truthIds, rule } = this;
    const labels = truthIds.map((truth, at) => {
      const [slm, llm] = (ends.get(at) ?? []).map(({ isRight }) => isRight);
      return rule.known(slmIds[at], llmIds[at], truth) ?? rule.settle(slm, llm);
    });
    const places = [...truthIds.keys()].filter((at) => slmIds[at] !== llmIds[at] || ends.has(at));
    const forks = places.map((at) => {
      const [slm, llm] = [slmIds[at], llmIds[at]].map((id, i) => this.#way(at, id, ends.get(at)?.[i]));
      return { at, slm, llm, label: labels[at] };
    });
    const stream = new TextStream(this.pair.tokenizer);
    const tokens = truthIds.map((id, at) => stream.push(id) + (at + 1 === truthIds.length ? stream.flush() : ""));
    return { tokens, labels, forks, features };
  }

  /** @param {number} at @param {number} id @param {Ended|undefined} ended @returns {Way} */
  #way(at, id, ended) {
    const { tokenizer } = this.pair;
    const text = tokenizer.decode([id]);
    if (!ended) return { text, ending: null, answer: null, isRight: null };
    const begun = tokenizer.decode(ended.ids.slice(0, at + 1));
    return {
      text,
      ending: tokenizer.decode(ended.ids).slice(begun.length),
      answer: ended.answer,
      isRight: ended.isRight,
    };
  }
}

/** @param {{at: number, id: number}} start */
const startKey = ({ at, id }) => `${at} ${id}`;
