/**
 * A link that opens Labels where a person left it: which set, problem and token, by which router and tau.
 *
 * Pure: must not know the DOM. A link may come from anyone: what is none of these is as good as absent.
 *
 * @typedef {Object} LabelsState
 * @property {string|null} source name of a recorded set
 * @property {import("./analysis.js").Rule} rule whose labels, where there are such
 * @property {string|null} router
 * @property {number|null} tau
 * @property {number|null} problem counted from 0, as is the token of it
 * @property {number|null} token
 */

const MAX_CHARS = 80;
/** What is shown to those who choose none. @type {import("./analysis.js").Rule} */
const FIRST = "outcome";

/** @param {LabelsState} state */
export function labelsInAddress({ source, rule, router, tau, problem, token }) {
  const told = {
    labels: source,
    rule: rule === FIRST ? null : rule,
    router,
    tau,
    problem: fromOne(problem),
    tok: fromOne(token),
  };
  return new URLSearchParams(
    Object.entries(told).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]])),
  );
}

/** @param {string} search `location.search` @returns {LabelsState} */
export function readLabelsLink(search) {
  const query = new URLSearchParams(search);
  /** @param {string} name */
  const text = (name) => query.get(name)?.slice(0, MAX_CHARS) || null;
  const tau = Number(text("tau") ?? NaN);
  return {
    source: text("labels"),
    rule: text("rule") === "published" ? "published" : FIRST,
    router: text("router"),
    tau: tau >= 0 && tau <= 1 ? tau : null,
    problem: place(text("problem")),
    token: place(text("tok")),
  };
}

/** People count from one. @param {number|null} at */
const fromOne = (at) => (at === null ? null : at + 1);

/** @param {string|null} text */
const place = (text) => (text !== null && /^[1-9]\d{0,5}$/.test(text) ? Number(text) - 1 : null);
