/**
 * The settings of decoding that all ways of a comparison share: every one but tau, from the one table of them.
 *
 * Pure: must not know the DOM.
 *
 * @typedef {keyof typeof SETTINGS_TABLE} SettingName
 * @typedef {Record<string, number>} SharedSettings by name, without tau
 * @typedef {{question: string, data_type: string, together: boolean, settings: SharedSettings,
 *   routers: {router: string, threshold: number}[]}} AskedComparison
 */

import { SETTINGS_TABLE } from "../run/trace_schema.js";

const NAMES = /** @type {SettingName[]} */ (Object.keys(SETTINGS_TABLE));
export const SHARED = NAMES.filter((name) => name !== "threshold");
/** Those that say something only where tokens are drawn, the temperature that has them drawn first. */
export const OF_SAMPLING = SHARED.filter((name) => SETTINGS_TABLE[name].forSampling);

/** All of them, as usual where nothing is given. @param {(name: SettingName) => number|null|undefined} of */
export const sharedSettings = (of) =>
  /** @type {SharedSettings} */ (
    Object.fromEntries(SHARED.map((name) => [name, of(name) ?? SETTINGS_TABLE[name].default]))
  );
