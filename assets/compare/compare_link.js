/**
 * A link that opens a comparison: a recorded problem or what a live one was asked with, which columns, which clock.
 *
 * Pure: must not know the DOM. A link may come from anyone: what is not known here is as good as absent. What was asked
 * live has names of its own, for Explore reads the same address.
 *
 * @typedef {import("./ways.js").AskedComparison} AskedComparison
 * @typedef {import("./ways.js").SettingName} SettingName
 * @typedef {{problem: string|null, columns: string[], clock: import("./columns.js").Clock|null,
 *   live: AskedComparison|null}} CompareState
 */

import { CLOCKS } from "./columns.js";
import { numberOf } from "../run/gate.js";
import { SETTINGS_TABLE, TRACE_TABLE } from "../run/trace_schema.js";
import { SHARED, readWay, sharedSettings, wayInLink } from "./ways.js";

export const MOST_COLUMNS = 6;
export const MOST_ROUTERS = 3;
const MOST_QUESTION = 4000; // an address has to carry it
const MAX_CHARS = 500;

/** @param {CompareState} state */
export function comparisonInAddress({ problem, columns, clock, live }) {
  const query = new URLSearchParams();
  if (problem) query.set("problem", problem);
  if (columns.length) query.set("columns", columns.join(","));
  if (clock) query.set("clock", clock);
  if (live) {
    query.set("live_question", live.question);
    query.set("live_type", live.data_type);
    query.set("live_routers", live.routers.map(wayInLink).join(","));
    if (live.together) query.set("together", "1");
    for (const name of SHARED) query.set(keyOf(name), String(live.settings[name] ?? SETTINGS_TABLE[name].default));
  }
  return query;
}

/** @param {string} search `location.search` @returns {CompareState} */
export function readCompareLink(search) {
  const query = new URLSearchParams(search);
  /** @param {string} name */
  const short = (name) => (query.get(name) ?? "").slice(0, MAX_CHARS);
  const columns = short("columns").split(",").filter(Boolean).slice(0, MOST_COLUMNS);
  return {
    problem: short("problem") || null,
    columns: [...new Set(columns)],
    clock: CLOCKS.find((clock) => clock === query.get("clock")) ?? null,
    live: liveIn(query),
  };
}

/** @param {SettingName} name */
const keyOf = (name) => `live_${SETTINGS_TABLE[name].link}`;

/** @param {URLSearchParams} query @returns {AskedComparison|null} */
function liveIn(query) {
  const question = query.get("live_question") ?? "";
  if (!question.trim() || question.length > MOST_QUESTION) return null;
  const types = TRACE_TABLE.required.prompt.required.data_type.names;
  const routers = (query.get("live_routers") ?? "")
    .slice(0, MAX_CHARS)
    .split(",")
    .flatMap((text) => readWay(text) ?? []);
  return {
    question,
    data_type: types.find((name) => name === query.get("live_type")) ?? types[0],
    routers: routers.slice(0, MOST_ROUTERS),
    together: query.get("together") === "1",
    settings: sharedSettings((name) => numberOf(query, keyOf(name), SETTINGS_TABLE[name].kind, [])),
  };
}
