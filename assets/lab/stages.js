/**
 * What each stage of a router in the making says and offers: the headline, the next action, a note.
 *
 * Must not know how panels draw.
 *
 * @typedef {import("./lab.js").Lab} Lab
 * @typedef {import("./lab_run.js").Point} Point
 * @typedef {import("./baselines.js").Baselines} Baselines
 * @typedef {import("./curve_chart.js").OwnPoint} OwnPoint
 * @typedef {import("./recipe_form.js").Action} Action
 */

import { html, plainButton } from "../viewer/dom.js";
import { percent, plural } from "../run/format.js";
import { interval } from "../run/interval.js";
import { accuracyAt } from "./baselines.js";
import { BREAKS, CHOICES, USUAL } from "./recipe.js";
import { inDigits } from "../run/kinds.js";

const PARTS = { load: 0, label: 0.05, train: 0.55, measure: 0.6 };

/** @param {Point[]} points @param {number} chosen share @returns {OwnPoint[]} */
export const ownPoints = (points, chosen) =>
  points
    .filter(({ n }) => n > 0)
    .map(({ wanted, n, right, nTokens, nLlm }) => ({
      share: nLlm / nTokens,
      accuracy: right / n,
      ...interval(right, n),
      isChosen: wanted === chosen,
    }));

/** @param {Lab} lab @returns {{first: Action, second: Action|null, said: string, done: number|null, use: Action[]}} */
export function actionsOf(lab) {
  const { run, broken, guess } = lab;
  const nothing = { second: null, said: "", done: null, use: [] };
  switch (run.stage) {
    case "idle":
      if (!broken)
        return {
          ...nothing,
          first: { label: "Train", act: () => lab.train() },
          said: "In this browser. Nothing is sent.",
        };
      return {
        ...nothing,
        first: { label: "Train and see", act: () => lab.train(), isOff: guess.value === null },
        second: { label: "Leave", act: () => lab.set(USUAL, null) },
        said: guess.value === null ? "Guess first: move the slider." : "",
      };
    case "done":
      return { ...nothing, ...afterwards(lab) };
    case "stopped":
      if (run.trained) return { ...nothing, ...afterwards(lab) };
      return {
        ...nothing,
        first: { label: "Go on", act: () => lab.train() },
        second: { label: "Change the recipe", act: () => lab.set(lab.recipe, broken) },
        said: `Stopped: ${run.nLabelled} of ${plural(run.problems.length, "problem")} labelled.`,
      };
    case "failed":
      return { ...nothing, ...afterFailure(lab) };
    default:
      return { ...nothing, first: { label: "Cancel", act: () => run.cancel() }, ...progressOf(lab) };
  }
}

/** @param {Lab} lab */
function afterwards(lab) {
  const { run, broken, page } = lab;
  const { all, router } = run.seconds;
  const size = Math.round((run.trained?.file.length ?? 0) / 1000);
  const nTried = run.points[0]?.n ?? 0;
  const said =
    `Trained in ${Math.round(router)} s, a file of ${size} kB. Tried on ${inDigits(nTried)} of ` +
    `${inDigits(run.nUnseen)} unseen problems in ${Math.round(all - router)} s.`;
  /** @type {Action[]} */
  const use = [
    { label: "Compare", act: () => lab.handOver((routers, name) => routers.compare(name, lab.tau ?? undefined)) },
    { label: "Labels", act: () => lab.handOver((routers, name) => routers.labels(name)) },
    { label: "Save file", act: () => lab.handOver((routers, name) => routers.save(name)) },
    { label: "Copy link to the recipe", act: () => page.link.copy() },
    ...(nTried ? [{ label: "Hand in to a class", act: () => lab.handIn() }] : []),
  ];
  const explore = {
    label: "Use in Explore",
    act: () => lab.handOver((routers, name) => routers.use(name, lab.tau ?? undefined)),
  };
  if (broken) {
    const back = { label: "Put it back", act: () => lab.set(USUAL, null) };
    return { first: back, second: { label: "Next one", act: () => lab.nextBreak() }, said, use: [explore, ...use] };
  }
  return { first: explore, second: { label: "Train again", act: () => lab.set(lab.recipe, null) }, said, use };
}

/** @param {Lab} lab */
function afterFailure(lab) {
  const { run, recipe } = lab;
  const [more] = CHOICES.n.map(([n]) => Number(n)).filter((n) => n > recipe.n);
  const change = { label: "Change the recipe", act: () => lab.set(recipe, null) };
  if (run.why || !more) return { first: { label: "Try again", act: () => lab.train() }, second: change, said: run.why };
  const act = () => lab.set({ ...recipe, n: more }, null).then(() => lab.train());
  return {
    first: { label: `Take ${more} problems`, act },
    second: change,
    said: "Nothing to learn from these labels.",
  };
}

/** @param {Lab} lab */
function progressOf({ run }) {
  const [nLabelled, nProblems] = [run.nLabelled, run.problems.length];
  const [nTried, nUnseen] = [run.points[0]?.n ?? 0, run.nUnseen];
  switch (run.stage) {
    case "label": {
      const share = nProblems ? nLabelled / nProblems : 0;
      return { said: `Labelling ${inDigits(nLabelled)} of ${inDigits(nProblems)}`, done: PARTS.label + 0.5 * share };
    }
    case "train":
      return { said: `Training, pass ${run.passes.length + 1}`, done: PARTS.train };
    case "measure": {
      const share = nUnseen ? nTried / nUnseen : 0;
      const said = nTried
        ? `Trying it on ${inDigits(nTried)} of ${inDigits(nUnseen)} unseen problems`
        : "Finding τ for each share";
      return { said, done: PARTS.measure + 0.4 * share };
    }
    default:
      return { said: "Loading both models", done: 0 };
  }
}

/**
 * The large figure and what it is.
 * @param {Lab} lab @param {Baselines} others @param {OwnPoint[]} points
 * @returns {{number: string, words: HTMLElement[]}}
 */
export function headlineOf({ run, recipe, guess, broken }, others, points) {
  const share = `${Math.round(100 * recipe.share)}%`;
  const free = percent(accuracyAt(others.free, recipe.share), 0);
  const lines = (/** @type {string} */ first, /** @type {string} */ second) => [
    html("p", {}, first),
    html("p", { class: "cv-muted" }, second),
  ];
  const chosen = points.find(({ isChosen }) => isChosen);
  if (run.stage === "idle") {
    const isGuess = guess.value !== null || broken !== null;
    if (!isGuess) {
      return {
        number: free,
        words: lines(
          `right at ${share} with max-probability`,
          "the SLM's own certainty, which needs no training. Beat it.",
        ),
      };
    }
    const number = guess.value === null ? "?" : percent(guess.value, 0);
    return { number, words: lines(`your guess, at ${share}`, `max-probability has ${free}`) };
  }
  if (chosen) {
    const beside = accuracyAt(others.free, chosen.share);
    const shipped = accuracyAt(others.shipped, chosen.share);
    return {
      number: percent(chosen.accuracy, 0),
      words: lines(
        `right with ${percent(chosen.share)} of tokens by the LLM, ${percent(chosen.low)} to ${percent(chosen.high)}`,
        `there max-probability has ${percent(beside)}, the shipped router ${percent(shipped)}`,
      ),
    };
  }
  const nLlm = run.nLabels(0);
  return {
    number: inDigits(nLlm),
    words: lines(
      `${nLlm === 1 ? "label" : "labels"} for the LLM`,
      `and ${inDigits(run.nLabels(1))} for the SLM, of ${plural(run.nLabelled, "problem")}`,
    ),
  };
}

/** What a stopped or failed one leaves. @param {Lab} lab @returns {HTMLElement|null} */
export function noteOf(lab) {
  const { run } = lab;
  if (run.stage === "stopped" && run.nLabels(0) && !run.trained) {
    return html("div", { class: "cb-note" }, [
      html(
        "h3",
        {},
        `Stopped. ${plural(run.nLabels(0), "label")} for the LLM ${run.nLabels(0) === 1 ? "is" : "are"} there.`,
      ),
      html("p", {}, "Go on where it stopped, or train on what there is. Labels are kept while this page is open."),
      plainButton(`Train on these ${run.nLabelled}`, "cb-second", () => lab.train(true)),
    ]);
  }
  if (run.stage !== "failed" || run.why) return null;
  const nForks = run.labelled.reduce((sum, one) => sum + (one?.forks.length ?? 0), 0);
  return html("div", { class: "cb-note cb-bad" }, [
    html("h3", {}, "Nothing to learn from"),
    html(
      "p",
      {},
      `The two models differ at ${plural(nForks, "place")} of these ${plural(run.nLabelled, "problem")}, and by this ` +
        "rule all labels are the same. A router has nothing to tell apart.",
    ),
    html("p", {}, "Take more problems, or another kind. The labels are kept, and more are added to them."),
  ]);
}

/**
 * What an experiment has shown, beside the guess.
 * @param {Lab} lab @param {Baselines} others @param {OwnPoint[]} points
 */
export function findingOf({ broken, guess, before: usual }, others, points) {
  const chosen = points.find(({ isChosen }) => isChosen);
  if (!broken || !chosen) return null;
  const beside = accuracyAt(others.free, chosen.share);
  const against = chosen.low > beside ? "ahead of" : chosen.high < beside ? "behind" : "not told apart from";
  const before = usual.find(({ isChosen }) => isChosen);
  return html("div", { class: "cb-note" }, [
    html("h3", {}, `${percent(chosen.accuracy)} right, and you said ${percent(guess.value ?? 0, 0)}.`),
    html(
      "p",
      {},
      `At the same share max-probability has ${percent(beside)}: this router is ${against} it.` +
        (before ? ` With labels by outcome of 100 problems it was ${percent(before.accuracy)}.` : ""),
    ),
    html("p", { class: "cv-muted" }, BREAKS[broken].why),
  ]);
}

/** What a screen reader is told when the stage changes. @type {Record<import("./lab_run.js").Stage, string>} */
export const SPOKEN = {
  idle: "",
  load: "Loading both models.",
  label: "Labelling.",
  train: "Training.",
  measure: "Trying it on unseen problems.",
  done: "The router is trained and tried.",
  stopped: "Stopped.",
  failed: "No router could be trained.",
};
