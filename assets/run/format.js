/**
 * Numbers and token text in words that a person reads.
 *
 * Pure: must not know the DOM or a run. One place for units, so that the counters, the chart and the inspector agree.
 */

import { inDigits } from "./kinds.js";

/** @type {[number, string][]} */
const BYTE_UNITS = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "KB"],
  [1, "B"],
];
/** @type {[number, string][]} */
const FLOP_UNITS = [
  [1e15, "PFLOP"],
  [1e12, "TFLOP"],
  [1e9, "GFLOP"],
  [1e6, "MFLOP"],
  [1e3, "KFLOP"],
  [1, "FLOP"],
];
/** @type {[number, string][]} */
const SECOND_UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
const UNITS = { bytes: BYTE_UNITS, flops: FLOP_UNITS, seconds: SECOND_UNITS };

/** Three significant digits without an exponent. @param {number} value */
export function significant(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return inDigits(Math.round(value));
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/**
 * The unit in which `value` has one to three digits before the point.
 * @param {Metric} metric
 * @param {number} value
 */
export function unitFor(metric, value) {
  const units = UNITS[metric];
  const [scale, name] = units.find(([size]) => value >= size) ?? units[units.length - 1];
  return { scale, name };
}

/**
 * "3.09 GB", "12.4 TFLOP", "18.0 ms".
 * @param {Metric} metric
 * @param {number} value
 */
export function quantity(metric, value) {
  const unit = unitFor(metric, value);
  return `${significant(value / unit.scale)} ${unit.name}`;
}

/** 0.1213 -> "12.1%". @param {number} share */
export function percent(share, digits = 1) {
  return `${(share * 100).toFixed(digits)}%`;
}

/**
 * Probabilities and confidences: two decimals; never rounded up to a 1 or down to a 0 that they are not.
 * @param {number} value
 */
export function probability(value) {
  if (value > 0 && value < 0.005) return "<0.01";
  if (value < 1 && value >= 0.995) return ">0.99";
  return value.toFixed(2);
}

/**
 * A tau as people read it: four decimals, or as many as keep it from being a 0 or a 1 that it is not.
 * @param {number} value
 */
export function shortTau(value) {
  const short = Number(value.toFixed(4));
  return short % 1 === 0 ? Number(value.toFixed(12)) : short;
}

/** The same with two decimals at least. @param {number} value */
export function formatTau(value) {
  const short = shortTau(value);
  return short.toFixed(Math.max(2, String(short).split(".")[1]?.length ?? 0));
}

/**
 * "1 token", "37 tokens".
 * @param {number} n
 * @param {string} noun
 * @param {string} [nouns] of more than one
 */
export function plural(n, noun, nouns = `${noun}s`) {
  return `${inDigits(n)} ${n === 1 ? noun : nouns}`;
}

export const WRITER_NAMES = { slm: "SLM", llm: "LLM" };

/** @type {Record<string, string>} why a run ended */
export const FINISH_WORDS = {
  eos: "ended by itself",
  length: "reached the token limit",
  cancelled: "stopped before its end",
  error: "stopped by an error",
};

/** What went wrong, in the error's own words. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
