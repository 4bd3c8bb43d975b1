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

/** @typedef {import("./gate.js").NumberKind} NumberKind */

/** @type {import("./gate.js").ChoiceKind} */
export const FILTER = { kind: "choice", names: ["slm", "llm", "decisive"], wanted: '"slm", "llm" or "decisive"' };
/** @type {NumberKind} GB/s or TFLOP/s of a device */
export const DEVICE_RATE = {
  kind: "real",
  low: 0,
  high: 1e9,
  openLow: true,
  wanted: "a number above 0, at most 1,000,000,000",
};

/** @returns {RunLook} */
export const usualLook = () => ({
  filter: null,
  certainty: false,
  price: { pair: null, bandwidth: null, compute: null },
});

/** @param {PriceChoice} price */
export const isUsualPrice = ({ pair, bandwidth, compute }) => pair === null && bandwidth === null && compute === null;
