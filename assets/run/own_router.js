/** What routers are called that a person has made or opened on this page: no other router's name begins so. Pure. */

const OWN = "own-";
const DIGITS = 8; // of the revision, so that one file has one name wherever it is opened

export const OWN_NOT_HERE =
  "The router of this run is not here: one person made it, and links and traces hold no weights. Get its file and " +
  "load it under “Router, decoding and price”.";

/** @param {string} revision of its weights */
export const ownName = (revision) => `${OWN}${revision.slice(0, DIGITS)}`;

/** @param {string|null} name of a router */
export const isOwn = (name) => Boolean(name?.startsWith(OWN));
