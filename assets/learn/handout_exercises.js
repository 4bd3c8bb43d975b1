/**
 * The five exercises of a handout, each with what is asked and its solution.
 *
 * Must not know the page; every number comes from `handout_numbers.js` or from stored evidence.
 *
 * @typedef {import("../viewer/dom.js").Part} Part
 * @typedef {{title: string, ask: Part[], solve: Part[]}} Exercise
 *
 * @typedef {Object} PaperFacts
 * @property {RunView} view the run as it was recorded
 * @property {import("./lesson_truths.js").LessonFacts} lesson
 * @property {import("./handout_numbers.js").PaperEvidence} evidence
 * @property {import("./handout_numbers.js").LabelledToken[]} labelled
 * @property {Pricing & {label: string}} other a pair whose ratio is held against the run's
 */

import { kvBytesPerToken, weightBytes } from "../run/cost.js";
import { formatTau, percent, quantity, significant } from "../run/format.js";
import { visibleText } from "../viewer/text.js";
import { html, svg } from "../viewer/dom.js";
import { countsAtTaus, longestCatchUp, paperCurves, ratioOf, shareFor, textStaysAbove } from "./handout_numbers.js";
import { truthOf, truthWords } from "./lesson_truths.js";
import { inDigits } from "../run/kinds.js";

/** A gap to write in, so many millimetres wide. */
const gap = (millimetres = 18) => html("span", { class: "ho-gap", style: { "min-width": `${millimetres}mm` } });
const line = () => html("span", { class: "ho-line" });

/** @param {(string|null)[][]} rows the first is the head; a cell that is null is to be filled @param {string} [look] */
const cells = (rows, look = "") =>
  html("table", { class: `ho-cells ${look}` }, [
    html(
      "tbody",
      {},
      rows.map(([name, ...rest], place) =>
        html("tr", {}, [
          html("th", { scope: "row" }, name),
          ...rest.map((cell) => html(place ? "td" : "th", {}, cell ?? "")),
        ]),
      ),
    ),
  ]);

/** @param {PaperFacts} facts @returns {Exercise} */
function whoWrites({ view }) {
  const counts = countsAtTaus(view);
  const n = view.events.length;
  const stays = textStaysAbove(view);
  /** @param {boolean} isSolved */
  const table = (isSolved) => {
    /** @param {(one: {n: number}) => string} words */
    const row = (words) => counts.map((one) => (isSolved || one.isOwn ? words(one) : null));
    return cells([
      ["τ", ...counts.map(({ tau }) => formatTau(tau))],
      [`tokens of ${n}`, ...row((one) => String(one.n))],
      ["share", ...row((one) => percent(one.n / n, 0))],
    ]);
  };
  const said =
    stays === null
      ? "No token of the LLM is another one than the SLM wanted, so the text stays at every lower τ."
      : `Only tokens with something in italics change the text. The highest confidence among them is ` +
        `${stays.toFixed(3)}: down to a τ just above it the text stays, and at a lower one it may differ.`;
  return {
    title: "Who writes",
    ask: [
      "For each τ count the tokens of page 1 that are below it.",
      table(false),
      "Down to which τ does the text surely stay the same? ",
      gap(),
      " Why can nothing be said of a higher τ? ",
      gap(50),
    ],
    solve: [
      table(true),
      `${said} At a higher τ the LLM would be asked at more places, and what it would write there is not on page 1.`,
    ],
  };
}

/** @param {PaperFacts} facts @returns {Exercise} */
function oneCall({ view }) {
  const call = longestCatchUp(view);
  const { llm } = view.costModel;
  if (!call) {
    const words = "The LLM was called once or never, so it had nothing to catch up on. Why is that cheap?";
    return { title: "One call", ask: [words, line()], solve: ["Its weights were read at most once."] };
  }
  const { event, fed, cached, bytes, each } = call;
  const [weights, cache] = [weightBytes(llm), kvBytesPerToken(llm)].map((one) => quantity("bytes", one));
  return {
    title: "One call",
    ask: [
      `At token ${event.index + 1}, “${visibleText(event.text.trim())}”, the LLM had ${cached} tokens in its cache ` +
        `and read ${fed}. Bytes of this call: `,
      gap(26),
      `. Had it been called at each of the ${fed}: `,
      gap(26),
      ". What does catching up save? ",
      gap(40),
    ],
    solve: [
      `${weights} + ${cache} × (${cached} + ${fed}) = ${quantity("bytes", bytes)}. ${fed} calls: ` +
        `${quantity("bytes", each)}. Catching up reads many tokens in one pass, so the weights are moved once and ` +
        `not ${fed} times.`,
    ],
  };
}

/** @param {PaperFacts} facts @returns {Exercise} */
function lessThanItSeems({ view, lesson, other }) {
  const totals = view.series.totals();
  const { slm, llm } = view.costModel;
  const r = ratioOf(slm, llm);
  const [small, large] = [slm, llm].map((model) => quantity("bytes", weightBytes(model)));
  const r2 = ratioOf(/** @type {ModelSpec} */ (other.slm), /** @type {ModelSpec} */ (other.llm));
  const share = percent(totals.llmShare, 0);
  const limit = truthWords("run.breakEven", truthOf("run.breakEven", { ...lesson, view }));
  return {
    title: "Less than it seems",
    ask: [
      `${share} of the tokens, and ${percent(totals.bytesShare, 0)} of the bytes. Show that for a share s of calls ` +
        "the bytes are about s + r of those of the LLM alone, with r = W of the SLM / W of the LLM.",
      line(),
      line(),
      "Here r = ",
      gap(),
      `. For ${other.label} r = ${significant(r2)}, so ${share} of calls cost `,
      gap(),
      ". From which s on is routing dearer than the LLM alone, here? ",
      gap(),
    ],
    solve: [
      "The SLM is read for each of n tokens: n × W of the SLM. The LLM is read for s × n of them. Caches and router " +
        "are small beside the weights. Divided by n × W of the LLM: s + r. " +
        `Here r = ${small} / ${large} = ${significant(r)}, ` +
        `so ${share} + ${percent(r, 0)} = ${percent(totals.llmShare + r, 0)}. For ${other.label} ` +
        `${percent(totals.llmShare + r2, 0)}. Dearer from about 1 − r = ${percent(1 - r, 0)}; counted with caches ` +
        `and router, above ${limit}.`,
    ],
  };
}

const [WIDTH, HEIGHT, LEFT, FOOT] = [330, 150, 30, 24];
const DASHES = ["2 3", "8 3", ""];

/**
 * A grid to draw in; with curves, as solved.
 * @param {import("./handout_numbers.js").PaperCurve[]} curves
 */
function grid(curves) {
  const x = (/** @type {number} */ share) => LEFT + ((WIDTH - LEFT - 14) * share) / 0.3;
  const y = (/** @type {number} */ right) => 8 + (HEIGHT - 8 - FOOT) * (1 - (right - 0.5) / 0.5);
  const steps = (/** @type {number} */ n, /** @type {number} */ by) => Array.from({ length: n }, (_, i) => i * by);
  const text = { "font-size": 9, "text-anchor": "middle" };
  const parts = [
    ...steps(13, 0.025).map((share, i) =>
      svg("line", { x1: x(share), x2: x(share), y1: 8, y2: HEIGHT - FOOT, "stroke-width": i % 4 ? 0.25 : 0.6 }),
    ),
    ...steps(11, 0.05).map((step, i) => {
      const at = y(0.5 + step);
      return svg("line", { x1: LEFT, x2: WIDTH - 14, y1: at, y2: at, "stroke-width": i % 2 ? 0.25 : 0.6 });
    }),
    ...[0, 0.1, 0.2, 0.3].map((share) => svg("text", { ...text, x: x(share), y: HEIGHT - 12 }, percent(share, 0))),
    ...[0.5, 0.6, 0.7, 0.8, 0.9, 1].map((right) =>
      svg("text", { ...text, x: LEFT - 5, y: y(right) + 3, "text-anchor": "end" }, percent(right, 0)),
    ),
    svg("text", { ...text, x: (WIDTH + LEFT) / 2, y: HEIGHT - 1 }, "share of tokens by the LLM"),
    ...curves.map(({ points }, i) => {
      const d = `M${points.map(([share, right]) => `${x(share).toFixed(1)} ${y(right).toFixed(1)}`).join("L")}`;
      return svg("path", { d, fill: "none", "stroke-width": 2, "stroke-dasharray": DASHES[i] });
    }),
  ];
  const label = curves.length ? "The curves, drawn" : "A grid to draw in";
  return svg(
    "svg",
    { class: "ho-grid", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ...parts,
  );
}

const WANTED = 0.85;

/** @param {PaperFacts} facts @returns {Exercise} */
function itsCurve({ evidence }) {
  const { curves, slm, llm, n } = paperCurves(evidence);
  const columns = curves[0]?.points.slice(1) ?? [];
  const table = cells(
    [
      ["right, at LLM tokens", ...columns.map(([share]) => percent(share, 0))],
      ...curves.map(({ label, points }) => [label, ...points.slice(1).map(([, right]) => percent(right))]),
    ],
    "ho-small",
  );
  const solved = curves.map((curve) => {
    const share = shareFor(curve, WANTED);
    return `${curve.label}: ${share === null ? "more than is drawn" : percent(share, 0)}`;
  });
  const named = ["dotted", "dashed", "whole line"].map((look, i) => `${curves[i]?.label}: ${look}`);
  return {
    title: "A router is worth its curve",
    ask: [
      `Right answers to ${inDigits(n)} unseen problems. SLM alone ${percent(slm)}, LLM alone ${percent(llm)}. ` +
        "Draw the curves.",
      table,
      html(
        "div",
        { class: "ho-two" },
        grid([]),
        html("p", {}, [
          `How many LLM tokens for ${percent(WANTED, 0)} right? `,
          ...curves.flatMap(({ label }) => [html("br", {}), `${label} `, gap(14)]),
        ]),
      ),
    ],
    solve: [
      html(
        "div",
        { class: "ho-two" },
        grid(curves),
        html("p", {}, [
          `${named.join(", ")}. For ${percent(WANTED, 0)} right: ${solved.join("; ")}. With ${inDigits(n)} ` +
            "problems a difference of one or two points says nothing.",
        ]),
      ),
    ],
  };
}

/** @param {PaperFacts} facts @returns {Exercise} */
function labels({ labelled, lesson }) {
  const tried = truthOf("labels.rolledOut", lesson);
  const share = truthOf("labels.borneOut", lesson);
  const said = { 1: "SLM", 2: "LLM", 3: "by a roll-out" };
  /** @param {string} text */
  const plain = (text) => text.replaceAll("\\times", "×").replaceAll("$", "");
  /** @param {boolean} isSolved */
  const table = (isSolved) =>
    cells(
      [
        ["after", "true token", "SLM’s token", "LLM’s token", "case", "label"],
        ...labelled.map(({ before, truth, slm, llm, kind }) => [
          `… ${plain(before)}`,
          truth,
          slm,
          llm,
          isSolved ? String(kind) : null,
          isSolved ? said[kind] : null,
        ]),
      ],
      "ho-small",
    );
  return {
    title: "Labels",
    ask: [
      "Case 1: the SLM has the token of the known solution. Case 2: only the LLM has it. Case 3: neither has. The " +
        "shortcut labels case 1 SLM and case 2 LLM; case 3 needs a roll-out.",
      table(false),
      `${tried} labels of case 2 were tried out, both ways, to the end; ${truthWords("labels.borneOut", share)} ` +
        "proved right. How many were wrong? ",
      gap(),
      " What does a router learn from them? ",
      gap(50),
    ],
    solve: [
      table(true),
      `${tried} × ${truthWords("labels.borneOut", 100 - share)}, about ${Math.round(tried * (1 - share / 100))}. ` +
        "At these the SLM’s own token led to the right answer too: the router learns wording in place of what matters.",
    ],
  };
}

/** @param {PaperFacts} facts */
export const exercises = (facts) => [whoWrites, oneCall, lessThanItSeems, itsCurve, labels].map((one) => one(facts));
