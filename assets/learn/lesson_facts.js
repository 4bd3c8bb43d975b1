/**
 * What a lesson's numbers are computed from: the run on the screen or its file, and stored evidence.
 *
 * Fetches; must not draw.
 *
 * @typedef {import("./lesson_file.js").Lesson} Lesson
 * @typedef {import("./lesson_truths.js").LessonFacts} LessonFacts
 */

import { RunView } from "../run/run_view.js";

const RUNS = new URL("../traces/", import.meta.url);
const LOOK_EVERY_MS = 60;
const WAIT_MS = 20_000;

/**
 * A run by itself, at a tau: what is moved on the page later changes nothing in it.
 * @param {Trace} trace @param {number|null} tau @param {ConstructorParameters<typeof RunView>[2]} prices
 */
function runAt(trace, tau, prices) {
  const run = new RunView(0, trace, prices);
  run.append(trace.events);
  run.finish(trace.finish_reason ?? null, trace.answer ?? null);
  run.setWhatIf(tau);
  return run;
}

/** The run on the screen, once it is there. @param {Page} page */
export async function runOnScreen({ viewer, firstDrawn }) {
  await firstDrawn;
  for (const end = performance.now() + WAIT_MS; performance.now() < end;) {
    const { view } = viewer;
    const trace = view.trace();
    if (trace?.events.length && !view.live && !view.isPending) {
      const run = runAt(trace, view.whatIf, view.prices);
      run.setProbe(view.probe, null);
      return run;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error("Its run did not come.");
}

/** The recorded run of a name, or null where there is none. @param {string|null} name @param {number|null} tau */
export async function recordedRun(name, tau = null) {
  if (!name) return null;
  const response = await fetch(new URL(`${encodeURIComponent(name)}.json`, RUNS));
  return response.ok ? runAt(await response.json(), tau, {}) : null;
}

/**
 * What was measured, where a lesson asks for it.
 * @param {Page} page @param {boolean} isOnLabels
 * @returns {Promise<{labels: string|null, claims: LessonFacts["claims"], evidence: any, analysis: any}>}
 */
export async function measuredFacts(page, isOnLabels) {
  if (!isOnLabels) return { labels: null, claims: [], evidence: null, analysis: null };
  const [stored] = page.props.labels;
  if (!stored) throw new Error("This page has no recorded labels, which it is about.");
  const analysis = await (await fetch(new URL(stored.url, document.baseURI))).json();
  const { evidence } = await page.ask("evidence");
  return { labels: analysis.label, claims: evidence.claims, evidence, analysis };
}

/** Whether a lesson has a number of the recorded labels. @param {Lesson} lesson */
export const isOnLabels = (lesson) => JSON.stringify(lesson).includes("labels.");

/** A lesson's facts without its page. @param {Page} page @param {Lesson} lesson @returns {Promise<LessonFacts>} */
export async function recordedFacts(page, lesson) {
  const query = new URLSearchParams(lesson.open);
  const tau = query.get("tau");
  const view = await recordedRun(query.get("preset"), tau === null ? null : Number(tau));
  return { view, ...(await measuredFacts(page, isOnLabels(lesson))) };
}
