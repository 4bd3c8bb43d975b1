/** Routers that a person has made or opened on this page: what they are called, as no other is, and their tau. Pure. */

const PREFIX = "own-";
const N_DIGITS = 8; // of the revision, so that one file has one name wherever it is opened

export const OWN_NOT_HERE =
  "The router of this run is not here: one person made it, and links and traces hold no weights. Get its file and " +
  "load it under “Router, decoding and price”.";

/** @param {string} revision of its weights */
export const ownName = (revision) => `${PREFIX}${revision.slice(0, N_DIGITS)}`;

/**
 * The tau below which this share of validation tokens lies, as `StoredRouter.threshold_at` says it.
 * @param {number[]} quantiles of the router's confidences
 * @param {number} share from 0 to 1
 * @returns {number|null} null where its card does not say
 */
export function tauAtShare(quantiles, share) {
  if (quantiles.length < 2) return null;
  const place = share * (quantiles.length - 1);
  const low = Math.min(Math.floor(place), quantiles.length - 2);
  return quantiles[low] + (place - low) * (quantiles[low + 1] - quantiles[low]);
}

/** @param {string|null} name of a router */
export const isOwn = (name) => Boolean(name?.startsWith(PREFIX));
