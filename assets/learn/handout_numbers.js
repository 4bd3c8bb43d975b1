/**
 * What the exercises of a handout ask for, computed from a lesson's run and from stored evidence.
 *
 * Pure: must not know the DOM or paper.
 *
 * @typedef {{name: string, label: string, points: [number, number][]}} PaperCurve share of LLM tokens and right
 *   answers, both in parts of one
 * @typedef {{before: string, truth: string, slm: string, llm: string, kind: 1|2|3}} LabelledToken `kind`: its case
 *
 * @typedef {Object} PaperEvidence what a handout takes of the view Evidence
 * @property {import("../evidence/figures.js").EvidencePoint[]} points
 * @property {string} title of the pair
 */

import { forwardBytes, llmContext, weightBytes } from "../run/cost.js";
import { prefersLlm } from "../run/decision.js";

/** Routers whose curves are drawn by hand. */
const DRAWN = ["max-probability", "citer", "citer-outcome"];
const OF_SLM_ALONE = "always-slm";
const OF_LLM_ALONE = "always-llm";

/** Four thresholds around the run's own. @param {number} tau */
const tausAround = (tau) =>
  tau > 0 && tau < 1
    ? [tau / 4, tau / 2, tau, (1 + tau) / 2].map((one) => Math.round(100 * one) / 100)
    : [0.1, 0.3, 0.5, 0.8];

/** A confidence as the sheet prints it: rounded down, so that counting what is below a printed tau is exact. */
export const printedConfidence = (/** @type {number} */ confidence) => Math.floor(100 * confidence + 1e-9) / 100;

/** How many tokens the LLM writes at some thresholds. @param {RunView} view */
export function countsAtTaus({ events, runTau }) {
  return tausAround(runTau).map((tau) => ({
    tau,
    n: events.filter((event) => prefersLlm(event.slm_confidence, tau)).length,
    isOwn: tau === runTau,
  }));
}

/**
 * The lowest tau above which the text stays: the highest confidence of a decisive token; null where there is none.
 * @param {RunView} view
 */
export function textStaysAbove({ events, own }) {
  const decisive = events.filter((_, i) => own.decisive[i] > 0).map(({ slm_confidence: confidence }) => confidence);
  return decisive.length ? Math.max(...decisive) : null;
}

/**
 * The longest catch-up after the first call, and what as many calls would have cost.
 * @param {RunView} view
 */
export function longestCatchUp({ events, costModel: { llm } }) {
  const [, ...later] = events.filter(({ llm_tokens_fed: fed }) => fed > 0);
  const event = later.reduce((best, one) => (one.llm_tokens_fed > best.llm_tokens_fed ? one : best), later[0]);
  if (!event) return null;
  const fed = event.llm_tokens_fed;
  const cached = llmContext(event) - fed;
  let each = 0;
  for (let k = 0; k < fed; k++) each += forwardBytes(llm, 1, cached + k);
  return { event, fed, cached, bytes: forwardBytes(llm, fed, cached), each };
}

/** W of the SLM over W of the LLM. @param {ModelSpec} slm @param {ModelSpec} llm */
export const ratioOf = (slm, llm) => weightBytes(slm) / weightBytes(llm);

/** @param {PaperEvidence} evidence @returns {{curves: PaperCurve[], slm: number, llm: number, n: number}} */
export function paperCurves({ points }) {
  /** @param {string} router */
  const of = (router) => points.filter((point) => point.router === router && point.share_wanted !== null);
  const alone = (/** @type {string} */ router) => points.find((point) => point.router === router)?.accuracy ?? NaN;
  const slm = alone(OF_SLM_ALONE);
  const curves = DRAWN.map((name) => ({
    name,
    label: of(name)[0]?.label ?? name,
    points: /** @type {[number, number][]} */ ([
      [0, slm],
      ...of(name).map(({ share, accuracy }) => [share ?? 0, accuracy]),
    ]),
  })).filter((curve) => curve.points.length > 1);
  return { curves, slm, llm: alone(OF_LLM_ALONE), n: of(DRAWN[0])[0]?.n ?? 0 };
}

/**
 * The share of LLM tokens at which a curve first reaches an accuracy, along straight lines; null where it does not.
 * @param {PaperCurve} curve @param {number} accuracy
 */
export function shareFor({ points }, accuracy) {
  const at = points.findIndex(([, right]) => right >= accuracy);
  if (at < 1) return null;
  const [[x0, y0], [x1, y1]] = points.slice(at - 1, at + 1);
  return x0 + ((accuracy - y0) / (y1 - y0)) * (x1 - x0);
}

/**
 * Four tokens of recorded labels, one of each kind that there is to tell apart.
 * @param {import("../labels/analysis.js").AnalysisMessage} labels
 * @returns {LabelledToken[]}
 */
export function labelledTokens({ words, text, slm, llm, case: cases, problems }) {
  /** @param {number} index */
  const word = (index) => (index < 0 ? "end of text" : words[index].trim());
  /** Behind a few tokens of its own problem, and seen on paper. @param {number} i */
  const isPlain = (i) => {
    let start = 0;
    for (const { n } of problems) {
      if (i < start + n) return i >= start + 5 && [text, slm, llm].every((column) => /^[\w.,]+$/.test(word(column[i])));
      start += n;
    }
    return false;
  };
  const kinds = /** @type {((i: number) => boolean)[]} */ ([
    (i) => cases[i] === "1" && slm[i] !== llm[i],
    (i) => cases[i] === "2" && /\d/.test(word(text[i])),
    (i) => cases[i] === "2" && /[a-z]/i.test(word(text[i])),
    (i) => cases[i] === "3",
  ]);
  return kinds.flatMap((isOne) => {
    const i = text.findIndex((_, at) => isOne(at) && isPlain(at));
    if (i < 0) return [];
    const before = text
      .slice(i - 5, i)
      .map((index) => words[index])
      .join("")
      .trim();
    const kind = /** @type {1|2|3} */ (Number(cases[i]));
    return [{ before, truth: word(text[i]), slm: word(slm[i]), llm: word(llm[i]), kind }];
  });
}
