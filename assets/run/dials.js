/**
 * The dials of a run: settings that say which model writes. They may move over a finished run, which is then written
 * again, and belong to one way of a comparison. Which these are is told by the one table of settings. Pure.
 */

import { SETTINGS_TABLE } from "./trace_schema.js";

export const DIALS = /** @type {(keyof Dials)[]} */ (
  Object.entries(SETTINGS_TABLE).flatMap(([name, row]) => (row.lookingBack === null ? [] : [name]))
);
/** Where they usually stand in a run that looks back. */
export const LOOKING_BACK = /** @type {Dials} */ (
  Object.fromEntries(DIALS.map((name) => [name, SETTINGS_TABLE[name].lookingBack]))
);

/** Where they stand. @param {Partial<Settings>} settings @returns {Dials} */
export function dialsOf(settings) {
  const all = DIALS.map((name) => [name, settings[name] ?? SETTINGS_TABLE[name].default]);
  return /** @type {Dials} */ (Object.fromEntries(all));
}

/** @param {Partial<Settings>} a @param {Partial<Settings>} b */
export const isAtSameDials = (a, b) => isSameButForTau(a, b) && dialsOf(a).threshold === dialsOf(b).threshold;

/** @param {Partial<Settings>} a @param {Partial<Settings>} b */
export function isSameButForTau(a, b) {
  const [one, other] = [dialsOf(a), dialsOf(b)];
  return DIALS.every((name) => name === "threshold" || one[name] === other[name]);
}

/** Those beside tau that are not as usual in CITER. @param {Partial<Settings>} settings */
export const otherDials = (settings) =>
  DIALS.filter((name) => name !== "threshold" && dialsOf(settings)[name] !== SETTINGS_TABLE[name].default);

/** These as a person reads them: "take back 0.2, doubt budget 0.35". @param {Partial<Settings>} settings */
export const otherDialsInWords = (settings) =>
  otherDials(settings)
    .map((name) => `${SETTINGS_TABLE[name].label.toLowerCase()} ${settings[name]}`)
    .join(", ");
