/**
 * What a browser keeps for the page: its theme, the size of the text, and for this tab the run that it asked for.
 *
 * Must not know what is made of it. A store that is full or not allowed is as an empty one.
 */

export const THEME_KEY = "citer-theme";
export const SIZE_KEY = "citer-text-size";
export const RUN_KEY = "citer-run"; // of the tab: a run's id is the permission to see it
export const OWN_ROUTERS_KEY = "citer-own-routers"; // of the tab
export const SIZES = [1, 1.2, 1.45];

/**
 * A store, or null: some browsers refuse it inside a frame, by raising.
 * @param {"localStorage"|"sessionStorage"} name
 */
function storageOf(name) {
  try {
    return globalThis[name] ?? null;
  } catch {
    return null;
  }
}

/** The tab's own store, or null. */
export const tabStorage = () => storageOf("sessionStorage");

/** @param {string} key @param {Storage|null} [store] the browser's own where absent @returns {string|null} */
export function kept(key, store = storageOf("localStorage")) {
  try {
    return store?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** What was kept as JSON; null where it is none. @param {string} key @param {Storage|null} [store] @returns {any} */
export function keptJson(key, store) {
  try {
    return JSON.parse(kept(key, store) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key @param {string|null} value null takes it away @param {Storage|null} [store] */
export function keep(key, value, store = storageOf("localStorage")) {
  try {
    if (value === null) store?.removeItem(key);
    else store?.setItem(key, value);
  } catch {
    // Full, or not allowed here: the next page begins anew.
  }
}

/** Whether a person has chosen the dark theme or, without a choice, the other answer. @param {boolean} otherwise */
export function wantsDark(otherwise) {
  const wanted = kept(THEME_KEY);
  return wanted ? wanted === "dark" : otherwise;
}

/** Which of `SIZES` was chosen. */
export const keptSize = () => Math.max(0, SIZES.indexOf(Number(kept(SIZE_KEY))));

/** Text of this size, everywhere. @param {number} at which of `SIZES` */
export const useSize = (at) => document.body.style.setProperty("--cv-size", String(SIZES[at]));
