/**
 * A column of a comparison: who writes, its tokens, when each appears on a clock, and what it all cost.
 *
 * Pure: must not know the DOM. A model alone is priced without the other one and without a router, although both ran
 * beside it when the run was made.
 *
 * @typedef {import("./comparison_file.js").Comparison} Comparison
 * @typedef {import("./comparison_file.js").SpeculativeTrace} SpeculativeTrace
 * @typedef {"slm"|"routed"|"llm"|"speculative"} Way
 *
 * @typedef {{bytes: number, flops: number, seconds: number, tokens: number}} Reading of all clocks at once: estimated
 *   bytes and operations, measured seconds, tokens written
 *
 * @typedef {Object} Cell a token, or one that was drafted in vain
 * @property {string} text
 * @property {"slm"|"llm"|"accepted"|"rejected"} kind who wrote it; a draft that the LLM kept, or did not
 * @property {number} place in the text; of a rejected one, where it would have stood
 * @property {Reading} at when it appears
 * @property {Reading|null} settled of a draft, when the LLM has read it
 *
 * @typedef {Object} Column
 * @property {string} id as links name it
 * @property {Way} way
 * @property {string} name
 * @property {Cell[]} cells
 * @property {number[]} ids of the text
 * @property {Reading} total
 * @property {Answer|null} answer
 * @property {FinishReason|null} finish
 * @property {string} about one line on who did what
 * @property {string} hardware what measured its seconds, and when
 */

import { CostModel } from "../run/cost.js";
import { formatTau, percent, plural } from "../run/format.js";

export const CLOCKS = /** @type {const} */ (["bytes", "seconds", "tokens"]);
/** @typedef {typeof CLOCKS[number]} Clock */

export const SPECULATIVE = "speculative";
const AT = "@"; // between a router and its tau, in a column's name
const NOTHING_YET = { bytes: 0, flops: 0, seconds: 0, tokens: 0 };

/** @param {Trace} run */
function wayOf({ settings: { threshold } }) {
  if (threshold === 0) return "slm";
  return threshold === 1 ? "llm" : "routed";
}

/** The name of a run's column in links: `slm`, `llm` or `citer@0.93`. @param {Trace} run */
export function idOf(run) {
  const way = wayOf(run);
  return way === "routed" ? `${run.router.name}${AT}${run.settings.threshold}` : way;
}

/**
 * All columns that a comparison offers: runs in its order, speculative decoding last.
 * @param {Comparison} comparison
 * @param {DeviceSpec} device
 */
export function columnsOf({ runs, speculative }, device) {
  const columns = runs.map((run) => runColumn(run, device));
  if (speculative) columns.push(speculativeColumn(speculative, device));
  return columns;
}

/**
 * @param {Trace} run
 * @param {DeviceSpec} device
 * @returns {Column}
 */
export function runColumn(run, device) {
  const way = wayOf(run);
  const { slm, llm } = run.pair;
  const costs = new CostModel({ slm, llm, device, routerParams: run.router.n_params });
  const reading = { ...NOTHING_YET };
  const cells = run.events.map((event) => {
    const cost = way === "routed" ? costs.step(event) : costs.alone(way === "slm" ? slm : llm, event);
    reading.bytes += cost.bytes;
    reading.flops += cost.flops;
    reading.seconds += way === "routed" ? event.slm_s + event.router_s + event.llm_s : event[`${way}_s`];
    reading.tokens += 1;
    /** @type {Cell} */
    const cell = { text: event.text, kind: event.source, place: event.index, at: { ...reading }, settled: null };
    return cell;
  });
  return {
    id: idOf(run),
    way,
    ...wordsOn(run, way),
    cells,
    ids: run.events.map((event) => event.token_id),
    total: reading,
    answer: run.answer ?? null,
    finish: run.finish_reason,
    hardware: hardwareOf(run.record),
  };
}

/** What a column is called, and who wrote it. @param {Trace} run @param {"slm"|"llm"|"routed"} way */
function wordsOn({ events, router, settings }, way) {
  if (way === "slm") return { name: "SLM alone", about: "Every token by the small model." };
  if (way === "llm") return { name: "LLM alone", about: "Every token by the large model." };
  const share = events.filter(({ source }) => source === "llm").length / Math.max(1, events.length);
  return {
    name: `${router.name} at τ ${formatTau(settings.threshold)}`,
    about: `${percent(share, 0)} of the tokens by the LLM: where confidence is below τ.`,
  };
}

/** @param {{date: string, hardware: string}|undefined} record */
const hardwareOf = (record) => (record ? `${record.date}, ${record.hardware}` : "");

/**
 * @param {SpeculativeTrace} trace
 * @param {DeviceSpec} device
 * @returns {Column}
 */
export function speculativeColumn(trace, device) {
  const { slm, llm } = trace.pair;
  const costs = new CostModel({ slm, llm, device });
  const reading = { ...NOTHING_YET };
  /** @type {Cell[]} */
  const cells = [];
  /** @type {number[]} */
  const ids = [];
  let [nDrafted, nKept] = [0, 0];
  /** @param {Cost} cost @param {number} seconds */
  const spend = (cost, seconds) => {
    reading.bytes += cost.bytes;
    reading.flops += cost.flops;
    reading.seconds += seconds;
  };
  for (const pass of trace.passes) {
    const first = reading.tokens;
    const drafts = pass.drafted.map(([id, text], k) => {
      const fed = pass.slm_tokens_fed[k];
      spend(costs.modelForward(slm, fed, pass.context_len + k - fed), pass.slm_s / pass.drafted.length);
      const isKept = k < pass.n_accepted;
      if (isKept) ids.push(id);
      /** @type {Cell} */
      const cell = {
        text: isKept ? pass.texts[k] : text,
        kind: isKept ? "accepted" : "rejected",
        place: first + k,
        at: { ...reading, tokens: first + Math.min(k + 1, pass.texts.length) },
        settled: null,
      };
      return cell;
    });
    const nRead = pass.context_len + pass.drafted.length;
    spend(costs.modelForward(llm, pass.llm_tokens_fed, nRead - pass.llm_tokens_fed), pass.llm_s);
    reading.tokens += pass.texts.length;
    for (const draft of drafts) draft.settled = { ...reading };
    cells.push(...drafts);
    nDrafted += pass.drafted.length;
    nKept += pass.n_accepted;
    if (pass.own_id !== null) {
      ids.push(pass.own_id);
      const place = first + pass.n_accepted;
      cells.push({ text: pass.texts[pass.n_accepted], kind: "llm", place, at: { ...reading }, settled: null });
    }
  }
  return {
    id: SPECULATIVE,
    way: SPECULATIVE,
    name: "Speculative decoding",
    cells,
    ids,
    total: reading,
    answer: trace.answer ?? null,
    finish: trace.finish_reason,
    about: `The LLM read ${plural(trace.passes.length, "draft")} and kept ${nKept} of ${nDrafted} drafted tokens.`,
    hardware: hardwareOf(trace.record),
  };
}

/**
 * Where a column stands when a clock shows `time`: cells that are there, and of those the drafts that are settled.
 * @param {Column} column
 * @param {Clock} clock
 * @param {number} time
 */
export function standAt({ cells }, clock, time) {
  /** @param {(cell: Cell) => boolean} isLater */
  const countBefore = (isLater) => {
    let [low, high] = [0, cells.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isLater(cells[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  // Both grow along the cells: the tokens of a pass are settled before the next one's are drafted.
  return {
    shown: countBefore((cell) => cell.at[clock] > time),
    settled: countBefore((cell) => (cell.settled ?? cell.at)[clock] > time),
  };
}

/**
 * The first token of `ids` that is another one than in `reference`; where one text goes on behind the other's end, its
 * length; -1 where both are the same.
 * @param {number[]} ids
 * @param {number[]} reference
 */
export function firstDifference(ids, reference) {
  const n = Math.min(ids.length, reference.length);
  for (let i = 0; i < n; i++) if (ids[i] !== reference[i]) return i;
  return ids.length === reference.length ? -1 : n;
}

/**
 * The columns that a page opens with: the SLM alone, the first routers and the LLM alone, or those that are asked for.
 * Where a router at a tau is asked for that another problem has, one that is offered here takes its place.
 * @param {Column[]} offered
 * @param {string[]} asked ids; other ones that are not offered are left out
 * @param {number} [nRouters] of them where nothing is asked for
 */
export function chosenColumns(offered, asked, nRouters = 1) {
  const isOffered = (/** @type {string} */ id) => offered.some((column) => column.id === id);
  const routed = offered.filter(({ way }) => way === "routed").map(({ id }) => id);
  const free = routed.filter((id) => !asked.includes(id));
  const found = asked.map((id) => (isOffered(id) || !id.includes(AT) ? id : (free.shift() ?? ""))).filter(isOffered);
  return found.length ? found : ["slm", ...routed.slice(0, nRouters), "llm"].filter(isOffered);
}
