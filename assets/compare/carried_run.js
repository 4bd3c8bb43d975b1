/**
 * The run on the screen of Explore, offered to the comparison: its problem, its router and tau, its way of sampling.
 *
 * Must not know where the run comes from or what becomes of it.
 *
 * @typedef {import("./shared_settings.js").AskedComparison} AskedComparison
 * @typedef {import("./columns.js").Column} Column
 */

import { plainButton } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";
import { idOf } from "./columns.js";
import { sharedSettings } from "./shared_settings.js";

const MOST_TOLD = 60; // letters of a question in a few words

/**
 * What a live comparison is asked with, to have this run in it.
 * @param {Trace} run
 * @returns {Partial<AskedComparison>}
 */
export function askedOf({ prompt, router, settings }) {
  const { threshold } = settings;
  const isRouted = threshold > 0 && threshold < 1; // both ends are columns of every comparison
  return {
    question: prompt.question,
    data_type: prompt.data_type,
    routers: isRouted ? [{ router: router.name, threshold }] : [],
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
    const { router, settings } = run;
    this.root.title = `“${shortened(run.prompt.question)}”, ${router.name} at τ = ${formatTau(settings.threshold)}`;
  }
}
