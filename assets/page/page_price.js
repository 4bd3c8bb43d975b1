/**
 * The pair and device that a person prices decisions for, from the controls.
 *
 * Pure: must not know the DOM. What is not a number above 0 changes nothing, and is said.
 *
 * @typedef {{device: DeviceSpec, pairs: (Pricing & {label: string})[]}} PriceList from `citer_core/ui/pricing.py`
 */

import { fitWords } from "../run/cost.js";

/**
 * @param {PriceList} list
 * @param {string} name of a pair; any other is the run's own
 * @param {number} gigabytesPerSecond
 * @param {number} teraflops
 * @returns {{pricing?: Pricing|null, said: string}} no `pricing`: what was typed is none; null: the run's own price
 */
export function priceOf(list, name, gigabytesPerSecond, teraflops) {
  if (!(gigabytesPerSecond > 0 && teraflops > 0)) return { said: "Bandwidth and peak compute are numbers above 0." };
  const sheet = list.device;
  const own = { name: "your device", bandwidth: gigabytesPerSecond * 1e9, peak_flops: teraflops * 1e12 };
  const isSheet = own.bandwidth === sheet.bandwidth && own.peak_flops === sheet.peak_flops;
  const pair = list.pairs.find((candidate) => candidate.label === name);
  if (!pair && isSheet) return { pricing: null, said: "" };
  const device = isSheet ? sheet : own;
  return {
    pricing: { ...pair, device },
    said: pair?.slm && pair.llm ? fitWords(pair.slm, pair.llm, device) : "",
  };
}
