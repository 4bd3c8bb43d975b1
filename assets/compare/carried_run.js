/**
 * The run on the screen of Explore, offered to the comparison: its problem, its router, how it decoded.
 *
 * Must not know where the run comes from or what becomes of it.
 *
 * @typedef {import("./ways.js").AskedComparison} AskedComparison
 * @typedef {import("./columns.js").Column} Column
 */

import { plainButton } from "../viewer/dom.js";
import { writerAlone } from "../run/decision.js";
import { idOf, nameOf } from "./columns.js";
import { sharedSettings, wayOf } from "./ways.js";

const MOST_TOLD = 60; // letters of a question in a few words

/**
 * What a live comparison is asked with, to have this run in it.
 * @param {Trace} run
 * @returns {Partial<AskedComparison>}
 */
export function askedOf({ prompt, router, settings }) {
  return {
    question: prompt.question,
    data_type: prompt.data_type,
    routers: writerAlone(settings) ? [] : [wayOf(router.name, settings)], // the models alone are there anyway
    settings: sharedSettings((name) => settings[name]),
  };
}

/**
 * Whether a comparison of this prompt has the run already.
 * @param {Trace} run
 * @param {Prompt|undefined} prompt
 * @param {Column[]} offered
 */
export const isThere = (run, prompt, offered) =>
  prompt?.question === run.prompt.question &&
  prompt.data_type === run.prompt.data_type &&
  offered.some(({ id }) => id === idOf(run));

/** @param {string} question */
export function shortened(question) {
  const line = question.split("\n")[0];
  return line.length > MOST_TOLD ? `${line.slice(0, MOST_TOLD).trimEnd()}…` : line;
}

export class CarriedRun {
  /** @type {Trace|null} */
  run = null;

  /** @param {(asked: Partial<AskedComparison>) => void} onTake */
  constructor(onTake) {
    const act = () => this.run && onTake(askedOf(this.run));
    this.root = plainButton("Take the run from Explore", "cq-button", act, { hidden: true });
  }

  /** @param {Trace|null} run @param {Prompt|undefined} prompt of the comparison @param {Column[]} offered */
  offer(run, prompt, offered) {
    this.run = run;
    this.root.hidden = run === null || isThere(run, prompt, offered);
    if (!run) return;
    this.root.title = `“${shortened(run.prompt.question)}”, ${nameOf(run)}`;
  }
}
