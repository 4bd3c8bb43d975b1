/**
 * What stored evidence says of others on the same unseen problems: max-probability, the best shipped router, either
 * model alone. Pure.
 *
 * @typedef {import("../evidence/figures.js").EvidencePoint} EvidencePoint
 * @typedef {{share: number, accuracy: number, tau: number|null}} Stand
 * @typedef {Object} Baselines of one format
 * @property {Stand[]} free max-probability, by share
 * @property {Stand[]} shipped
 * @property {number} slm right alone
 * @property {number} llm
 */

const FREE = "max-probability";
const SHIPPED = "citer-outcome";

/** @param {EvidencePoint[]} points of one format @returns {Baselines} */
export function baselinesOf(points) {
  const alone = (/** @type {string} */ name) => points.find(({ router }) => router === name)?.accuracy ?? NaN;
  const slm = alone("always-slm");
  /** @param {string} name @returns {Stand[]} */
  const curve = (name) => [
    { share: 0, accuracy: slm, tau: 0 },
    ...points
      .filter(({ router, share, settings }) => router === name && share !== null && !settings.take_back)
      .map(({ share, accuracy, tau }) => ({ share: Number(share), accuracy, tau }))
      .sort((a, b) => a.share - b.share),
  ];
  return { free: curve(FREE), shipped: curve(SHIPPED), slm, llm: alone("always-llm") };
}

/** Right answers at a share, on the line between what was measured. @param {Stand[]} curve @param {number} share */
export function accuracyAt(curve, share) {
  const above = curve.findIndex((stand) => stand.share >= share);
  if (above < 0) return NaN;
  if (above === 0) return curve[0].accuracy;
  const [a, b] = [curve[above - 1], curve[above]];
  return a.accuracy + ((b.accuracy - a.accuracy) * (share - a.share)) / (b.share - a.share);
}

/** The tau that was measured for about this share. @param {Stand[]} curve @param {number} share */
export const tauAt = (curve, share) =>
  curve.reduce((near, stand) => (Math.abs(stand.share - share) < Math.abs(near.share - share) ? stand : near)).tau ?? 0;
