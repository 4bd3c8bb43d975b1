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
 */

import { TRAINING_FREE } from "../engine/routers.js";
import { ProblemBook, rowsOf } from "../tasks/book.js";
import { canCompute } from "./engine_client.js";
import { textOf } from "./pair_files.js";

const SETS = ["math", "mc"];

/** @implements {Transport} */
export class FileTransport {
  /** @param {FileProps} props @param {string} base address of the page */
  constructor({ browser_pair: facts, stored = {}, about }, base) {
    this.base = base;
    this.facts = facts;
    this.stored = stored;
    this.about = about;
    this.offers = new Set(["engine_status", "foreign_problem", "offered", ...Object.keys(stored)]);
  }

  /** @param {string} what @returns {AsyncGenerator<any>} */
  async *ask(what) {
    if (what === "engine_status") yield this.#status();
    else if (what === "foreign_problem") yield { warning: null };
    else if (what === "offered") yield { about: this.about, problems: await this.#problems() };
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
    const book = new ProblemBook(new Map(SETS.map((kind, i) => [kind, rowsOf(texts[i])])), []);
    return [...book.byKey].map(([key, { question, data_type }]) => ({ key, question, data_type }));
  }
}
