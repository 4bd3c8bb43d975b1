/**
 * The pair and device that a person prices decisions for, from the controls.
 *
 * Pure: must not know the DOM. What is no rate of a device changes nothing, and is said.
 *
 * @typedef {PageProps["pricing"]} PriceList from `citer_core/ui/form.py`
 * @typedef {import("../run/run_look.js").PriceChoice} PriceChoice
 */

import { fitWords } from "../run/cost.js";
import { DEVICE_RATE } from "../run/run_look.js";

const [GIGA, TERA] = [1e9, 1e12];

/** @param {number} rate */
const isDeviceRate = (rate) => rate > 0 && rate <= DEVICE_RATE.high;

/**
 * @param {PriceList} list
 * @param {string} name of a pair; any other is the run's own
 * @param {number} gigabytesPerSecond
 * @param {number} teraflops
 * @returns {{pricing?: Pricing|null, said: string}} no `pricing`: what was typed is none; null: the run's own price
 */
export function priceOf(list, name, gigabytesPerSecond, teraflops) {
  if (!isDeviceRate(gigabytesPerSecond) || !isDeviceRate(teraflops)) {
    return { said: "Bandwidth and peak compute are numbers above 0, at most 1,000,000,000." };
  }
  const sheet = list.device;
  const own = { name: "your device", bandwidth: gigabytesPerSecond * GIGA, peak_flops: teraflops * TERA };
  const isSheet = own.bandwidth === sheet.bandwidth && own.peak_flops === sheet.peak_flops;
  const pair = list.pairs.find((candidate) => candidate.label === name);
  if (!pair && isSheet) return { pricing: null, said: "" };
  const device = isSheet ? sheet : own;
  return {
    pricing: { ...pair, device },
    said: pair?.slm && pair.llm ? fitWords(pair.slm, pair.llm, device) : "",
  };
}

/**
 * What of the three controls is not as it is at first.
 * @param {PriceList} list
 * @param {string} name
 * @param {number} gigabytesPerSecond
 * @param {number} teraflops
 * @returns {PriceChoice}
 */
export function choiceOf({ device, pairs }, name, gigabytesPerSecond, teraflops) {
  return {
    pair: pairs.some(({ label }) => label === name) ? name : null,
    bandwidth: gigabytesPerSecond * GIGA === device.bandwidth ? null : gigabytesPerSecond,
    compute: teraflops * TERA === device.peak_flops ? null : teraflops,
  };
}

/**
 * What the three controls show for a choice.
 * @param {PriceList} list
 * @param {PriceChoice} choice
 * @returns {[string, number, number]}
 */
export const controlsOf = ({ device, own }, { pair, bandwidth, compute }) => [
  pair ?? own,
  bandwidth ?? device.bandwidth / GIGA,
  compute ?? device.peak_flops / TERA,
];
