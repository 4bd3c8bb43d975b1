/**
 * A column of a comparison: who writes, its tokens, when each appears on a clock, and what it all cost.
 *
 * Pure: must not know the DOM. A model alone is priced without the other one and without a router, although both ran
 * beside it when the run was made.
 *
 * @typedef {import("./comparison_file.js").Comparison} Comparison
 * @typedef {import("./comparison_file.js").SpeculativeTrace} SpeculativeTrace
 * @typedef {"slm"|"routed"|"look-back"|"llm"|"speculative"} Way
 *
 * @typedef {{bytes: number, flops: number, seconds: number, tokens: number}} Reading of all clocks at once: estimated
 *   bytes and operations, measured seconds, tokens written
 *
 * @typedef {Object} Cell a token, or one that was drafted in vain or taken back
 * @property {string} text
 * @property {"slm"|"llm"|"accepted"|"rejected"} kind who wrote it; a draft that the LLM kept; or what it did not
 * @property {number} place in the text; of a rejected one, where it would have stood
 * @property {Reading} at when it appears
 * @property {Reading|null} settled of a draft, and of what could be taken back, when the LLM has read it
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
import { writerAlone } from "../run/decision.js";
import { otherDialsInWords } from "../run/dials.js";
import { formatTau, percent, plural } from "../run/format.js";
import { looksWords } from "../run/looks.js";
import { readWay, wayInLink, wayOf } from "./ways.js";

export const CLOCKS = /** @type {const} */ (["bytes", "seconds", "tokens"]);
/** @typedef {typeof CLOCKS[number]} Clock */

export const SPECULATIVE = "speculative";
const LOOK_BACK = "look-back";
const NOTHING_YET = { bytes: 0, flops: 0, seconds: 0, tokens: 0 };

/** Whether a router has a say in it. @param {{way: Way}} column */
export const isRouted = ({ way }) => way === "routed" || way === LOOK_BACK;

/** The name of a run's column in links: `slm`, `llm`, or a way as links name it. @param {Trace} run */
export const idOf = ({ router, settings }) => writerAlone(settings) ?? wayInLink(wayOf(router.name, settings));

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
  const { events, settings } = run;
  const { slm, llm } = run.pair;
  const alone = writerAlone(settings);
  const costs = new CostModel({ slm, llm, device, routerParams: run.router.n_params });
  const reading = { ...NOTHING_YET };
  /** @type {Cell[]} */
  const cells = [];
  let nRead = 0; // cells that the LLM has read
  /** @param {Cost} cost @param {number} seconds @param {number} [share] of both */
  const spend = (cost, seconds, share = 1) => {
    reading.bytes += cost.bytes * share;
    reading.flops += cost.flops * share;
    reading.seconds += seconds * share;
  };
  const settle = () => {
    for (; nRead < cells.length; nRead++) cells[nRead].settled = { ...reading };
  };
  for (const event of events) {
    /** @param {string} text @param {Cell["kind"]} kind @param {number} place */
    const put = (text, kind, place) => cells.push({ text, kind, place, at: { ...reading }, settled: null });
    reading.tokens += 1;
    if (alone) spend(costs.alone(run.pair[alone], event), event[`${alone}_s`]);
    else {
      const { slm: passes, router, llm: look } = costs.parts(event);
      const gone = event.discarded ?? [];
      const share = 1 / Math.max(1, gone.length); // each token that was taken back had a pass
      for (let k = 0; k === 0 || k < gone.length; k++) {
        spend(passes, event.slm_s, share);
        spend(router, event.router_s, share);
        if (gone.length) put(gone[k][1], "rejected", event.index + k);
      }
      spend(look, event.llm_s);
    }
    put(event.text, event.source, event.index);
    if (settings.take_back && event.llm_tokens_fed) settle();
  }
  if (settings.take_back) settle(); // the LLM does not read the end where there is no doubt
  return {
    id: idOf(run),
    way: alone ?? (settings.take_back ? LOOK_BACK : "routed"),
    name: nameOf(run),
    about: aboutRun(run, costs),
    cells,
    ids: events.map((event) => event.token_id),
    total: reading,
    answer: run.answer ?? null,
    finish: run.finish_reason,
    hardware: hardwareOf(run.record),
  };
}

/** What a run's column is called. @param {Pick<Trace, "router"|"settings">} run */
export function nameOf({ router, settings }) {
  const alone = writerAlone(settings);
  if (alone) return `${alone.toUpperCase()} alone`;
  const { threshold, take_back: ratio } = settings;
  const tau = threshold || !ratio ? ` at τ ${formatTau(threshold)}` : "";
  return `${ratio ? "Look-back by " : ""}${router.name}${tau}`;
}

/** Who wrote it. @param {Trace} run @param {CostModel} costs */
function aboutRun({ events, settings }, costs) {
  const alone = writerAlone(settings);
  if (alone) return `Every token by the ${alone === "slm" ? "small" : "large"} model.`;
  const share = events.filter(({ source }) => source === "llm").length / Math.max(1, events.length);
  const byLlm = `${percent(share, 0)} of the tokens by the LLM`;
  const others = otherDialsInWords(settings);
  return others ? `${looksWords(costs, events)} ${byLlm}, with ${others}.` : `${byLlm}: where confidence is below τ.`;
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
 * The columns that a page opens with: the SLM alone, the first routers, the first that look back and the LLM alone, or
 * those that are asked for. Where a router's way is asked for that another problem has, one that is offered here takes
 * its place: one that looks back that of one that does.
 * @param {Column[]} offered
 * @param {string[]} asked ids; other ones that are not offered are left out
 * @param {number} [nRouters] of them, of each kind, where nothing is asked for
 */
export function chosenColumns(offered, asked, nRouters = 1) {
  const free = offered.filter((column) => isRouted(column) && !asked.includes(column.id));
  /** @param {string} id */
  const instead = (id) => {
    const way = readWay(id);
    const alike = free.findIndex((column) => (column.way === LOOK_BACK) === Boolean(way?.take_back));
    return way ? free.splice(Math.max(0, alike), 1) : [];
  };
  const found = asked.flatMap((id) => offered.find((column) => column.id === id) ?? instead(id)).map(({ id }) => id);
  if (found.length) return found;
  const first = [LOOK_BACK, "routed"].flatMap((way) => offered.filter((one) => one.way === way).slice(0, nRouters));
  return offered.filter((one) => one.way === "slm" || one.way === "llm" || first.includes(one)).map(({ id }) => id);
}
