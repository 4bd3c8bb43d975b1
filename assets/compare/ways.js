/**
 * What a live comparison is asked with: ways, each a router with settings of its own, and the settings that all share.
 *
 * Pure: must not know the DOM.
 *
 * @typedef {keyof typeof SETTINGS_TABLE} SettingName
 * @typedef {Record<string, number>} SharedSettings by name, without those that are a way's own
 * @typedef {{router: string, threshold: number} & Partial<Settings>} AskedWay with what it has of its own beside tau
 * @typedef {{question: string, data_type: string, together: boolean, settings: SharedSettings,
 *   routers: AskedWay[]}} AskedComparison
 */

import { writerAlone } from "../run/decision.js";
import { DIALS, otherDials } from "../run/dials.js";
import { numberOf } from "../run/gate.js";
import { SETTINGS_TABLE } from "../run/trace_schema.js";

const AT = "@"; // between a router and its tau
const AND = ";"; // before each further setting
const NAMES = /** @type {SettingName[]} */ (Object.keys(SETTINGS_TABLE));
export const SHARED = NAMES.filter((name) => !DIALS.some((dial) => dial === name));
/** Those that say something only where tokens are drawn, the temperature that has them drawn first. */
export const OF_SAMPLING = SHARED.filter((name) => SETTINGS_TABLE[name].forSampling);

/** All of them, as usual where nothing is given. @param {(name: SettingName) => number|null|undefined} of */
export const sharedSettings = (of) =>
  /** @type {SharedSettings} */ (
    Object.fromEntries(SHARED.map((name) => [name, of(name) ?? SETTINGS_TABLE[name].default]))
  );

/** The way of a run. @param {string} router @param {Partial<Settings>} settings @returns {AskedWay} */
export function wayOf(router, settings) {
  const own = Object.fromEntries(otherDials(settings).map((name) => [name, settings[name]]));
  return { router, threshold: settings.threshold ?? 0, ...own };
}

/** As links name it: `citer@0.9`, or `citer@0;back=0.2;doubt=0.35`. @param {AskedWay} way */
export const wayInLink = (way) =>
  [
    `${way.router}${AT}${way.threshold}`,
    ...otherDials(way).map((name) => `${SETTINGS_TABLE[name].link}=${way[name]}`),
  ].join(AND);

/** What was named so; null where it is none, or a model alone. @param {string} text @returns {AskedWay|null} */
export function readWay(text) {
  const [first, ...more] = text.split(AND);
  const [router, tau = ""] = first.split(AT);
  const given = new URLSearchParams(`${SETTINGS_TABLE.threshold.link}=${tau}&${more.join("&")}`);
  const settings = /** @type {Partial<Settings>} */ ({});
  for (const name of DIALS) {
    const { link, kind } = SETTINGS_TABLE[name];
    const value = numberOf(given, link, kind, []);
    if (value !== null) settings[name] = value;
  }
  const { threshold } = settings;
  if (!router || threshold === undefined || writerAlone({ ...settings, threshold })) return null;
  return wayOf(router, settings);
}
