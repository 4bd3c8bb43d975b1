/**
 * What the pair picker says about a pair, a choice and a change, in words.
 *
 * Pure: must not know the DOM or the server; its input is what `list_pairs` and `engine_status` give.
 */

import { percent, plural } from "../run/format.js";

/** "491 MB", "15.2 GB". @param {number} n */
export function bytesInWords(n) {
  if (n >= 1e9) return `${(n / 1e9).toFixed(n >= 1e11 ? 0 : 1)} GB`;
  return `${Math.max(1, Math.round(n / 1e6))} MB`;
}

/** "0.44 M", "0.63 B", "72.7 B". @param {number} n */
export function countInWords(n) {
  const [scale, unit] = n >= 1e8 ? [1e9, "B"] : [1e6, "M"];
  return `${(n / scale).toFixed(n / scale >= 10 ? 1 : 2)} ${unit}`;
}

/**
 * The number format that is meant where a pair does not come in the chosen one.
 * @param {PairRow} row
 * @param {string} wanted
 */
export const dtypeOf = (row, wanted) => (wanted in row.variants ? wanted : Object.keys(row.variants)[0]);

/**
 * The facts about a pair, each a short phrase.
 * @param {PairRow} row
 * @param {string} dtype
 */
export function factsOf(row, dtype) {
  const variant = row.variants[dtypeOf(row, dtype)];
  const memory =
    variant.memory_bytes === null
      ? "memory not known"
      : `${bytesInWords(variant.memory_bytes)} memory in ${dtypeOf(row, dtype)}`;
  return [
    `SLM ${countInWords(row.n_params[0])}, LLM ${countInWords(row.n_params[1])} parameters`,
    placeInWords(row),
    memory,
    row.licences.join(", "),
    row.routers.length ? `trained routers: ${row.routers.join(", ")}` : "routers without training only",
  ];
}

/** @param {PairRow} row */
function placeInWords(row) {
  if (row.is_bundled) return "comes with this project";
  if (!row.n_missing) return "files are here";
  const size = row.fetch_bytes === null ? "a download of unknown size" : `${bytesInWords(row.fetch_bytes)} to download`;
  return row.n_missing === 1 ? `${size}, the other model is here` : size;
}

/**
 * Why a pair cannot be chosen; "" where it can.
 * @param {PairRow} row
 * @param {string} dtype
 * @param {PairList} listed
 */
export function whyNot(row, dtype, listed) {
  const variant = row.variants[dtypeOf(row, dtype)];
  if (variant.is_loaded) return "Loaded now.";
  if (!row.is_allowed) return "Its files are not on this server.";
  if (variant.room !== "none") return "";
  const free = (listed.free_bytes ?? 0) + listed.loaded_bytes;
  return (
    `Too large for this machine: loading it takes ${bytesInWords(variant.peak_bytes)}, and ` +
    `${bytesInWords(free)} can be free.`
  );
}

/**
 * What will happen if this pair is loaded, in sentences.
 * @param {PairRow} row
 * @param {string} dtype
 */
export function planOf(row, dtype) {
  const variant = row.variants[dtypeOf(row, dtype)];
  const steps = [];
  if (row.n_missing)
    steps.push(
      row.fetch_bytes === null ? "It is downloaded first." : `${bytesInWords(row.fetch_bytes)} are downloaded first.`,
    );
  if (row.is_gated) steps.push("It is gated: the server needs a login that has accepted its licence.");
  if (variant.converts) steps.push("Its weights are unpacked once, which takes minutes.");
  steps.push(roomInWords(variant.room));
  return steps.join(" ");
}

/** What becomes of the pair that is loaded now. @param {PairVariant["room"]} room */
export function roomInWords(room) {
  return room === "after"
    ? "There is no room for both pairs: runs that go on end first, new ones wait until this pair is ready."
    : "The present pair goes on until this one is ready; runs that have begun end on the pair that they began with.";
}

/** @type {Record<string, string>} */
const STAGE_WORDS = {
  convert: "Unpacking the weights, which takes minutes the first time",
  load: "Reading the weights",
  restore: "Loading the old pair again",
};

/**
 * How far a change is.
 * @param {PairChange} change
 * @returns {{words: string, share: number|null}} `share` of the download, null where it is unknown
 */
export function progressOf(change) {
  if (change.is_over) return { words: change.message, share: 1 };
  if (change.is_cancelling && change.stage !== "restore") {
    return {
      words:
        change.stage === "load" || change.stage === "convert"
          ? "Cancelling: this step cannot be interrupted, its result is dropped."
          : "Cancelling.",
      share: null,
    };
  }
  if (change.stage === "wait")
    return {
      words: `Waiting for ${plural(change.n_runs, "run")} of the present pair to end; new ones wait`,
      share: null,
    };
  if (change.stage !== "fetch") return { words: STAGE_WORDS[change.stage], share: null };
  if (!change.done) return { words: "Looking for the files", share: null };
  if (!change.total) return { words: `Downloading: ${bytesInWords(change.done)}`, share: null };
  const share = Math.min(1, change.done / change.total);
  return {
    words: `Downloading: ${bytesInWords(Math.min(change.done, change.total))} of ${bytesInWords(change.total)}`,
    share,
  };
}

/** The header's button. @param {EngineStatus} status */
export function buttonWords(status) {
  const { change } = status;
  if (change && !change.is_over) {
    const { share } = progressOf(change);
    return share === null ? "Changing the pair…" : `Changing the pair… ${percent(share, 0)}`;
  }
  return status.pair ?? "Choose a pair";
}
