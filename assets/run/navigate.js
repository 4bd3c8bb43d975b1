/**
 * Where one can jump to in a run: decisive tokens, LLM tokens, hand-offs, low confidence, and places where a text is
 * found.
 *
 * Pure: must not know the DOM. Reads a view's events and decisions, so jumps follow the tau that is looked at.
 */

/** @typedef {"llm"|"decisive"|"handOff"|"low"|"changed"} StopKind */

/** @type {Record<string, [StopKind, 1|-1]>} */
const JUMPS = {
  nextLlm: ["llm", 1],
  previousLlm: ["llm", -1],
  nextDecisive: ["decisive", 1],
  previousDecisive: ["decisive", -1],
  nextHandOff: ["handOff", 1],
  previousHandOff: ["handOff", -1],
  nextLow: ["low", 1],
  previousLow: ["low", -1],
};

/**
 * Which token a key leads to.
 * @param {RunView} view
 * @param {string} action
 * @param {number|null} focused the token that has the keyboard, where none is pinned
 * @returns {number|null} null where there is nowhere to go
 */
export function targetOf(view, action, focused) {
  const last = view.shown - 1;
  const isPinned = view.pinned !== null;
  const here = view.pinned ?? focused;
  if (action in JUMPS) {
    const [kind, step] = JUMPS[action];
    return stopFrom(view, kind, step, here, isPinned);
  }
  /** @type {Record<string, () => number>} */
  const moves = {
    pin: () => here ?? 0,
    next: () => (isPinned ? Math.min(last, (here ?? 0) + 1) : (here ?? 0)),
    previous: () => (isPinned ? Math.max(0, (here ?? 0) - 1) : (here ?? 0)),
    first: () => 0,
    last: () => last,
  };
  return moves[action]?.() ?? null;
}

/**
 * The next stop from where the reader is; a token that merely has the focus may itself be it.
 * @param {RunView} view
 * @param {StopKind} kind
 * @param {1|-1} step
 * @param {number|null} here
 * @param {boolean} isPinned
 */
export function stopFrom(view, kind, step, here, isPinned) {
  if (step > 0) return findStop(view, kind, (here ?? 0) - (isPinned ? 0 : 1), 1, view.shown);
  return findStop(view, kind, here ?? view.shown, -1, view.shown);
}

/** Below this the router holds the SLM to be wrong more likely than right. */
export const LOW_CONFIDENCE = 0.5;

/** @type {Record<StopKind, (view: RunView, i: number) => boolean>} */
const STOPS = {
  llm: (view, i) => Boolean(view.decisions.isLlm[i]),
  decisive: (view, i) => view.decisions.decisive[i] > 0,
  handOff: (view, i) => i > 0 && Boolean(view.decisions.isLlm[i]) !== Boolean(view.decisions.isLlm[i - 1]),
  low: (view, i) => view.events[i].slm_confidence < LOW_CONFIDENCE,
  changed: (view, i) => Boolean(view.changed?.[i]),
};

/** @type {Record<StopKind, string>} kinds of stops with their names, in the order in which they are offered */
export const STOP_NAMES = {
  llm: "LLM tokens",
  decisive: "decisive tokens",
  handOff: "hand-offs",
  low: `confidence under ${LOW_CONFIDENCE}`,
  changed: "differences from the parent",
};

/**
 * The nearest stop after (`step` 1) or before (-1) `from`, or null.
 * @param {RunView} view
 * @param {StopKind} kind
 * @param {number} from
 * @param {1|-1} step
 */
export function findStop(view, kind, from, step, end = view.n) {
  const isStop = STOPS[kind];
  for (let i = from + step; i >= 0 && i < end; i += step) if (isStop(view, i)) return i;
  return null;
}

/** @param {RunView} view @param {StopKind} kind */
export function countStops(view, kind) {
  const isStop = STOPS[kind];
  let count = 0;
  for (let i = 0; i < view.n; i++) if (isStop(view, i)) count++;
  return count;
}

/**
 * Where `query` stands in the text, whatever its case; a match may run over several tokens.
 * @param {{text: string}[]} events
 * @param {string} query
 * @returns {{from: number, to: number}[]} first and last token of each match, not overlapping
 */
export function findMatches(events, query) {
  const wanted = query.toLowerCase();
  if (!wanted) return [];
  // Folded token by token: folding may change a text's length, and offsets must stay those of tokens.
  const folded = events.map((event) => event.text.toLowerCase());
  const whole = folded.join("");
  const found = [];
  let token = 0;
  let end = folded[0]?.length ?? 0;
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
    while (end <= at) end += folded[++token].length;
    const from = token;
    while (end < at + wanted.length) end += folded[++token].length;
    found.push({ from, to: token });
  }
  return found;
}
