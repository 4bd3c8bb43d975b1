/**
 * How a run is shown beside its tau: whose tokens stand out, how they are tinted, what they are priced as.
 *
 * Pure: must not know the DOM, links or files; both keep a look, and what either may hold of it stands here.
 *
 * @typedef {{pair: string|null, bandwidth: number|null, compute: number|null}} PriceChoice label of a pair, GB/s and
 *   TFLOP/s; null each where it is the run's own, or the data sheet's
 * @typedef {Writer|"decisive"} KeptTokens those that stand out
 * @typedef {{filter: KeptTokens|null, certainty: boolean, price: PriceChoice}} RunLook
 */

import { oneNamed, realAbove } from "./kinds.js";

export const FILTER = oneNamed("slm", "llm", "decisive");
/** GB/s or TFLOP/s of a device. */
export const DEVICE_RATE = realAbove(0, 1e9);

/** @returns {RunLook} */
export const usualLook = () => ({
  filter: null,
  certainty: false,
  price: { pair: null, bandwidth: null, compute: null },
});

/** @param {PriceChoice} price */
export const isUsualPrice = ({ pair, bandwidth, compute }) => pair === null && bandwidth === null && compute === null;
