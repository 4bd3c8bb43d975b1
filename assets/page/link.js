/**
 * A link that opens the page where a person left it: preset or problem, settings, tau, pinned token.
 *
 * Pure: must not know the DOM or Gradio. A link comes from anybody, so every value is checked as it is read, and one
 * that is out of range is as good as absent. Called by page.js.
 *
 * @typedef {Object} LinkProblem
 * @property {string} dataType
 * @property {string} question
 * @property {string|null} router
 * @property {number} threshold
 * @property {number|null} maxNewTokens
 * @property {number} temperature
 * @property {number} topP
 * @property {number} seed
 *
 * @typedef {Object} LinkState
 * @property {string|null} preset name of a recorded run
 * @property {LinkProblem|null} problem of a live run
 * @property {number|null} tau where the slider stood
 * @property {number|null} token the pinned one, counted from 0
 */

import { TRACE_TABLE } from "../run/trace_schema.js";

const LINK_DATA_TYPES = ["math", "mc", "open"];
const MAX_QUESTION = 20_000; // as on the server
const MAX_SEED = TRACE_TABLE.required.settings.required.seed.high;
export const MAX_LINK_LENGTH = 8000;

/**
 * What a link says of the run on the screen.
 * @param {Trace} trace
 * @param {string|null} presetFile
 * @param {number|null} tau
 * @param {number|null} token
 */
export function linkStateOf(trace, presetFile, tau, token) {
  const { settings, prompt, router } = trace;
  const problem = {
    dataType: prompt.data_type,
    question: prompt.question,
    router: router.name,
    threshold: settings.threshold,
    maxNewTokens: settings.max_new_tokens,
    temperature: settings.temperature,
    topP: settings.top_p,
    seed: settings.seed,
  };
  return {
    preset: presetFile ? presetFile.replace(/\.json$/, "") : null,
    problem: presetFile ? null : problem,
    tau,
    token,
  };
}

/** @param {string} base address of the page, without a query @param {LinkState} state */
export function buildLink(base, { preset, problem, tau, token }) {
  const query = new URLSearchParams();
  if (preset) query.set("preset", preset);
  else if (problem) {
    query.set("type", problem.dataType);
    query.set("q", problem.question);
    query.set("router", String(problem.router));
    query.set("at", String(problem.threshold));
    query.set("n", String(problem.maxNewTokens));
    if (problem.temperature > 0) {
      query.set("temp", String(problem.temperature));
      query.set("top_p", String(problem.topP));
      query.set("seed", String(problem.seed));
    }
  }
  if (tau !== null) query.set("tau", String(tau));
  // People count from one, as the page does.
  if (token !== null) query.set("tok", String(token + 1));
  return `${base}?${query}`;
}

/** @param {URLSearchParams} query @param {string} name @param {number} low @param {number} high */
function numberIn(query, name, low, high, isWhole = false) {
  const text = query.get(name);
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return value >= low && value <= high && (!isWhole || Number.isInteger(value)) ? value : null;
}

/**
 * @param {string} search `location.search`
 * @returns {LinkState|null} null where the address holds nothing of ours
 */
export function readLink(search) {
  const query = new URLSearchParams(search);
  const preset = query.get("preset");
  const asked = query.get("q");
  const question = asked !== null && asked.length <= MAX_QUESTION ? asked : null;
  if (!preset && !question?.trim()) return null;
  const token = numberIn(query, "tok", 1, 1e6, true);
  /** @type {LinkState} */
  const state = {
    preset: preset || null,
    problem: null,
    tau: numberIn(query, "tau", 0, 1),
    token: token === null ? null : token - 1,
  };
  if (state.preset || question === null) return state;
  const dataType = query.get("type") ?? "";
  state.problem = {
    dataType: LINK_DATA_TYPES.includes(dataType) ? dataType : "math",
    question,
    router: query.get("router"),
    threshold: numberIn(query, "at", 0, 1) ?? state.tau ?? 0.7,
    maxNewTokens: numberIn(query, "n", 1, 4096, true),
    temperature: numberIn(query, "temp", 0, 2) ?? 0,
    topP: numberIn(query, "top_p", 0.05, 1) ?? 1,
    seed: numberIn(query, "seed", -MAX_SEED, MAX_SEED, true) ?? 0,
  };
  return state;
}

/**
 * Is this trace the run that the link's problem asks for? Line ends do not count: a text field changes them.
 * @param {Trace} trace
 * @param {LinkProblem} problem
 */
export function isRunOfLink(trace, problem) {
  /** @param {string} text */
  const plain = (text) => text.replaceAll("\r\n", "\n").trim();
  return plain(trace.prompt.question) === plain(problem.question) && trace.prompt.data_type === problem.dataType;
}
