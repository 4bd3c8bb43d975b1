/**
 * A link that opens the page where a person left it: preset or problem, settings, dials, pinned token, how it is shown.
 *
 * Pure: must not know the DOM or Gradio. A link may be from any sender, so every value is checked when it is read, by
 * the server's own table; one that is out of range is as good as absent, and named. Called by page.js.
 *
 * @typedef {Object} LinkState
 * @property {string|null} preset name of a recorded run
 * @property {Asked|null} problem of a live run
 * @property {Partial<Dials>} dials where they stood, as far as it says
 * @property {number|null} token the pinned one, counted from 0
 * @property {RunLook} [look] as it is at first where absent
 * @property {LinkForks|null} [branches] of the run
 *
 * @typedef {import("../run/run_look.js").RunLook} RunLook
 * @typedef {import("./link_forks.js").LinkForks} LinkForks
 * @typedef {LinkState & {look: RunLook, branches: LinkForks|null, refused: string[]}} ReadLink with what was wrong in
 *   it, a sentence each
 */

import { FORK_SHOWN, forkInLink, readForks } from "./link_forks.js";
import { GateError, numberOf, readOrRefuse } from "../run/gate.js";
import { DIALS } from "../run/dials.js";
import { oneNamed, wholeFrom } from "../run/kinds.js";
import { DEVICE_RATE, FILTER, usualLook } from "../run/run_look.js";
import { SETTINGS_TABLE, TRACE_TABLE } from "../run/trace_schema.js";

/**
 * @typedef {keyof typeof SETTINGS_TABLE} SettingName
 * @typedef {import("../run/kinds.js").NumberKind} NumberKind
 * @typedef {{kind: NumberKind, default: number, link: string, forSampling: boolean}} Setting
 */

const SETTINGS = /** @type {[SettingName, Setting][]} */ (Object.entries(SETTINGS_TABLE));
const DATA_TYPE = TRACE_TABLE.required.prompt.required.data_type;
const MAX_QUESTION = 20_000; // as on the server
const PLACE = wholeFrom(1, 1e6);
/** @type {Record<string, string>} how people know what an address spells in letters */
const NAMES = { tau: "τ" };
const YES = "1";
export const MAX_LINK_LENGTH = 8000;

/**
 * What a link says of the run on the screen.
 * @param {Trace} trace
 * @param {string|null} presetFile
 * @param {Partial<Dials>} dials
 * @param {number|null} token
 * @param {RunLook} [look]
 * @param {LinkForks|null} [branches] of it
 * @returns {LinkState}
 */
export function linkStateOf(trace, presetFile, dials, token, look = usualLook(), branches = null) {
  const { settings, prompt, router } = trace;
  const problem = { question: prompt.question, data_type: prompt.data_type, router: router.name, settings };
  return {
    preset: presetFile ? presetFile.replace(/\.json$/, "") : null,
    problem: presetFile ? null : problem,
    dials,
    token,
    look,
    branches,
  };
}

/**
 * The keys of the dials. A problem's link has the others among its settings.
 * @param {string|null} preset
 */
const dialKeys = (preset) =>
  DIALS.filter((name) => preset || name === "threshold").map(
    (name) => /** @type {const} */ ([name, name === "threshold" ? "tau" : SETTINGS_TABLE[name].link]),
  );

/** @param {string} base address of the page, without a query @param {LinkState} state */
export function buildLink(base, { preset, problem, dials, token, look = usualLook(), branches = null }) {
  const query = new URLSearchParams();
  if (preset) query.set("preset", preset);
  else if (problem) {
    const { settings } = problem;
    query.set("type", problem.data_type);
    query.set("q", problem.question);
    query.set("router", String(problem.router));
    for (const [name, row] of SETTINGS) {
      if (settings.temperature > 0 || !row.forSampling) query.set(row.link, String(settings[name] ?? row.default));
    }
  }
  for (const [name, key] of dialKeys(preset)) if (dials[name] !== undefined) query.set(key, String(dials[name]));
  // People count from one, as the page does.
  if (token !== null) query.set("tok", String(token + 1));
  const { filter, certainty, price } = look;
  if (filter) query.set("show", filter);
  if (certainty) query.set("cert", YES);
  if (price.pair !== null) query.set("as", price.pair);
  if (price.bandwidth !== null) query.set("bw", String(price.bandwidth));
  if (price.compute !== null) query.set("fl", String(price.compute));
  for (const fork of branches?.forks ?? []) query.append("br", forkInLink(fork));
  if (branches && branches.shown !== branches.forks.length) query.set("on", String(branches.shown));
  return `${base}?${query}`;
}

/** @param {URLSearchParams} query @param {string} key @param {NumberKind} kind @param {string[]} refused is added to */
const numberIn = (query, key, kind, refused) => numberOf(query, key, kind, refused, NAMES[key]);

/**
 * @param {URLSearchParams} query
 * @param {string} key
 * @param {string[]} names
 * @param {string[]} refused is added to
 * @returns {string|null} null where there is none, or none of these
 */
function choiceIn(query, key, names, refused) {
  const text = query.get(key);
  const kind = names.length ? oneNamed(...names) : { ...oneNamed(), wanted: "left out" };
  return text ? /** @type {string|null} */ (readOrRefuse(kind, text, NAMES[key] ?? key, refused)) : null;
}

/**
 * @param {URLSearchParams} query
 * @param {string[]} pairs that a run can be priced as
 * @param {string[]} refused is added to
 * @returns {RunLook}
 */
const lookIn = (query, pairs, refused) => ({
  filter: /** @type {import("../run/run_look.js").KeptTokens|null} */ (choiceIn(query, "show", FILTER.names, refused)),
  certainty: choiceIn(query, "cert", [YES], refused) !== null,
  price: {
    pair: choiceIn(query, "as", pairs, refused),
    bandwidth: numberIn(query, "bw", DEVICE_RATE, refused),
    compute: numberIn(query, "fl", DEVICE_RATE, refused),
  },
});

/**
 * @param {URLSearchParams} query
 * @param {string[]} refused is added to
 * @returns {LinkForks|null}
 */
function branchesIn(query, refused) {
  const texts = query.getAll("br");
  if (!texts.length) return null;
  try {
    const forks = readForks(texts);
    const on = numberIn(query, "on", { ...FORK_SHOWN, high: forks.length }, refused);
    return { forks, shown: on ?? forks.length };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    refused.push(error.message);
    return null;
  }
}

/**
 * @param {string} search `location.search`
 * @param {string[]} [pairs] that a run can be priced as, by their labels
 * @returns {ReadLink|null} null where the address holds nothing of ours
 */
export function readLink(search, pairs = []) {
  const query = new URLSearchParams(search);
  const preset = query.get("preset");
  const asked = query.get("q");
  const question = asked !== null && asked.length <= MAX_QUESTION ? asked : null;
  if (!preset && !question?.trim()) return null;
  /** @type {string[]} */
  const refused = [];
  const token = numberIn(query, "tok", PLACE, refused);
  /** @type {ReadLink} */
  const state = {
    preset: preset || null,
    problem: null,
    dials: {},
    token: token === null ? null : token - 1,
    look: lookIn(query, pairs, refused),
    branches: branchesIn(query, refused),
    refused,
  };
  for (const [name, key] of dialKeys(preset)) {
    const value = numberIn(query, key, SETTINGS_TABLE[name].kind, refused);
    if (value !== null) state.dials[name] = value;
  }
  if (state.preset || question === null) return state;
  const dataType = readOrRefuse(DATA_TYPE, query.get("type") ?? "math", NAMES.type ?? "type", refused);
  const given = SETTINGS.map(([name, { kind, link, default: usual }]) => [
    name,
    numberIn(query, link, kind, refused) ?? (name === "threshold" ? state.dials.threshold : null) ?? usual,
  ]);
  state.problem = {
    question,
    data_type: String(dataType ?? "math"),
    router: query.get("router"),
    settings: Object.fromEntries(given),
  };
  return state;
}

/**
 * Is this trace the run that the link's problem asks for? Line ends do not count: a text field changes them.
 * @param {Trace} trace
 * @param {Asked} problem
 */
export function isRunOfLink(trace, problem) {
  /** @param {string} text */
  const plain = (text) => text.replaceAll("\r\n", "\n").trim();
  return plain(trace.prompt.question) === plain(problem.question) && trace.prompt.data_type === problem.data_type;
}
