/**
 * What files and this browser answer where there is no server: a page that was made of files, or the page in one file.
 *
 * Must not know the document.
 *
 * @typedef {import("./engine_client.js").PairFacts} PairFacts
 * @typedef {Object} FileProps
 * @property {PairFacts|null} browser_pair
 * @property {Record<string, string>} [stored] addresses of messages, by the name that is asked for
 * @property {string} about what the bundled pair may be asked, in words
 * @property {Record<string, string>} chances how well it answers problems of a kind, in words
 * @property {{question: string, kind: string}[]} recorded the kinds of what the recorded runs were asked
 */

import { TRAINING_FREE } from "../engine/routers.js";
import { ProblemBook, rowsOf } from "../tasks/book.js";
import { canCompute } from "./engine_client.js";
import { textOf } from "./pair_files.js";

const SETS = ["math", "mc"];

/** @implements {Transport} */
export class FileTransport {
  /** @param {FileProps} props @param {string} base address of the page */
  constructor({ browser_pair: facts, stored = {}, ...told }, base) {
    this.base = base;
    this.facts = facts;
    this.stored = stored;
    this.told = { about: told.about, chances: told.chances, recorded: told.recorded };
    this.offers = new Set(["engine_status", "foreign_problem", "offered", ...Object.keys(stored)]);
  }

  /** @param {string} what @returns {AsyncGenerator<any>} */
  async *ask(what) {
    if (what === "engine_status") yield this.#status();
    else if (what === "foreign_problem") yield { warning: null };
    else if (what === "offered") yield { ...this.told, problems: await this.#problems() };
    else if (what in this.stored) {
      const answer = await fetch(new URL(this.stored[what], this.base));
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      yield await answer.json();
    } else throw new Error("There is no server behind this page.");
  }

  /** @returns {EngineStatus} */
  #status() {
    const { facts } = this;
    if (!facts || !canCompute())
      return {
        state: "failed",
        message: "This browser cannot run the models: it has no WebAssembly vectors. The recorded runs work.",
        generation: 1,
        picker: { on: false },
      };
    const free = [...TRAINING_FREE.values()].map(({ name, defaultThreshold }) => [name, defaultThreshold]);
    const thresholds = { ...facts.thresholds, ...Object.fromEntries(free) };
    return {
      state: "ready",
      message: "This browser, float32",
      pair: facts.name,
      revision: facts.revision,
      generation: 1,
      thresholds,
      default_router: Object.keys(thresholds)[0],
      llm_is_here: true,
      picker: { on: false, why: "Only the bundled pair is small enough for a browser." },
    };
  }

  async #problems() {
    const { facts } = this;
    if (!facts) return [];
    const whole = { ...facts, root: new URL(facts.root, this.base).href };
    const texts = await Promise.all(SETS.map((kind) => textOf(whole, `datasets/${kind}.jsonl`)));
    const rows = new Map(SETS.map((name, i) => [name, rowsOf(texts[i])]));
    const kinds = [...rows.values()].flat().map((row) => row.kind); // in the order of the book
    const book = new ProblemBook(rows, []);
    return [...book.byKey].map(([key, { question, data_type }], i) => ({ key, question, data_type, kind: kinds[i] }));
  }
}
