/**
 * The blind test: two columns without names, which of the two is better, and the running score.
 *
 * Pure: must not know the DOM; who draws the lots is given. Kept as numbers only, never as texts.
 *
 * @typedef {import("./columns.js").Column} Column
 * @typedef {"first"|"second"|"tie"} Choice
 * @typedef {Record<string, {wins: number, losses: number, ties: number}>} BlindScore by the way of writing
 * @typedef {{pair: [string, string], choice: Choice|null}} BlindRound ids of the columns, from left to right
 */

const MOST_ROUNDS = 1e6;
const WAYS = {
  slm: "SLM alone",
  routed: "routed",
  "look-back": "routed with look-back",
  llm: "LLM alone",
  speculative: "speculative decoding",
};

/**
 * Two columns whose texts differ, in random order: none where all are the same text.
 * @param {Column[]} columns
 * @param {() => number} random from 0 to below 1
 * @returns {BlindRound|null}
 */
export function drawRound(columns, random) {
  const pairs = columns.flatMap((one, i) =>
    columns.slice(i + 1).flatMap((other) => (sameText(one, other) || one.way === other.way ? [] : [[one, other]])),
  );
  if (!pairs.length) return null;
  const [one, other] = pairs[Math.floor(random() * pairs.length)];
  return { pair: random() < 0.5 ? [one.id, other.id] : [other.id, one.id], choice: null };
}

/** @param {Column} one @param {Column} other */
const sameText = (one, other) => one.ids.length === other.ids.length && one.ids.every((id, i) => id === other.ids[i]);

/**
 * The score after one more round; the old one stays as it is.
 * @param {BlindScore} score
 * @param {Column} left
 * @param {Column} right
 * @param {Choice} choice
 * @returns {BlindScore}
 */
export function scored(score, left, right, choice) {
  const next = { ...score };
  /** @param {Column} column @param {"wins"|"losses"|"ties"} what */
  const count = ({ way }, what) => {
    const before = next[way] ?? { wins: 0, losses: 0, ties: 0 };
    next[way] = { ...before, [what]: before[what] + 1 };
  };
  count(left, choice === "tie" ? "ties" : choice === "first" ? "wins" : "losses");
  count(right, choice === "tie" ? "ties" : choice === "second" ? "wins" : "losses");
  return next;
}

/**
 * A score as it was kept, or none: what is stored in a browser may be anything.
 * @param {string|null} text
 * @returns {BlindScore}
 */
export function readScore(text) {
  try {
    const given = Object(JSON.parse(text ?? "{}"));
    const rows = Object.keys(WAYS).flatMap((way) => {
      const row = Object(given[way]);
      const counts = ["wins", "losses", "ties"].map((name) => row[name]);
      return counts.every((n) => Number.isInteger(n) && n >= 0 && n <= MOST_ROUNDS)
        ? [[way, { wins: counts[0], losses: counts[1], ties: counts[2] }]]
        : [];
    });
    return Object.fromEntries(rows);
  } catch {
    return {};
  }
}

/** How many rounds there were. @param {BlindScore} score */
export const nRounds = (score) =>
  Object.values(score).reduce((sum, { wins, losses, ties }) => sum + wins + losses + ties, 0) / 2;

/** "You preferred the LLM alone in 3 of 4, ...". @param {BlindScore} score */
export function scoreWords(score) {
  const rows = Object.entries(WAYS).flatMap(([way, name]) => {
    const row = score[way];
    if (!row) return [];
    const n = row.wins + row.losses + row.ties;
    const ties = row.ties ? ` (${row.ties} even)` : "";
    return [`${name} in ${row.wins} of ${n}${ties}`];
  });
  return rows.length ? `So far you preferred ${rows.join(", ")}.` : "";
}
