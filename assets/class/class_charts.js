/**
 * The pictures of a class: marks on the text, guesses beside the truth, how many found the number, curves of the Lab.
 *
 * Must not know where answers came from or how they are added up.
 */

import { html, svg } from "../viewer/dom.js";
import { percent } from "../run/format.js";
import { fillTokenText, spellTex, visibleText } from "../viewer/text.js";
import { dotsOf, median } from "./class_totals.js";

const [WIDTH, HEIGHT, LEFT, FOOT] = [400, 190, 40, 34];
const DOT = 5;
const COLUMNS = 34;
const EDGE = 20; // beside the scale of the guesses
const FEW = 3; // marks of which the number is not printed

/**
 * The text, each token as dark as many have marked it.
 * @param {{text: string}[]} tokens @param {number[]} heat @param {boolean[]|null} truth where the LLM wrote, once it is
 *   shown
 * @param {boolean} isMath
 */
export function heatText(tokens, heat, truth, isMath) {
  const most = Math.max(1, ...heat);
  /** @type {HTMLElement[]} */
  const nodes = [];
  tokens.forEach(({ text }, i) => {
    if (text === "") return;
    const look = `cc-token${truth?.[i] ? " cc-llm" : ""}`;
    const node = html("span", { class: look, style: { "--heat": percent(heat[i] / most, 0) } });
    if (!isMath || !spellTex(node, text, nodes.at(-1))) fillTokenText(node, text);
    if (heat[i] >= FEW) node.dataset.n = String(heat[i]);
    nodes.push(node);
  });
  return html("div", { class: "cc-heat" }, ...nodes);
}

/** The same in words, for those who do not see it. @param {{text: string}[]} tokens @param {number[]} heat */
export function heatWords(tokens, heat) {
  const marked = heat.map((n, i) => ({ n, i })).filter(({ n }) => n > 0);
  marked.sort((a, b) => b.n - a.n);
  return marked
    .slice(0, 20)
    .map(({ n, i }) => `token ${i + 1} “${visibleText(tokens[i].text)}” ${n}`)
    .join(", ");
}

/**
 * Guesses as dots above a scale.
 * @param {number[]} guesses @param {{low: number, high: number, unit: string, truth: number|null}} scale `truth`: null
 *   until it is shown
 */
export function guessChart(guesses, { low, high, unit, truth }) {
  const x = (/** @type {number} */ value) => EDGE + ((WIDTH - 2 * EDGE) * (value - low)) / (high - low);
  const step = (WIDTH - 2 * EDGE) / COLUMNS;
  const dots = dotsOf(guesses, low, high, COLUMNS);
  const tallest = Math.max(1, ...dots.map(({ height }) => height + 1));
  const rise = Math.min(2.2 * DOT, (HEIGHT - FOOT - 24) / tallest);
  const ticks = Array.from({ length: 5 }, (_, i) => low + ((high - low) * i) / 4);
  const parts = [
    svg("line", { class: "cc-axis", x1: EDGE - 10, x2: WIDTH - EDGE + 10, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT }),
    ...ticks.map((tick) =>
      svg("text", { x: x(tick), y: HEIGHT - FOOT + 20, "text-anchor": "middle" }, `${Math.round(tick)}${unit}`),
    ),
    ...dots.map(({ column, height }) =>
      svg("circle", { class: "cc-dot", cx: EDGE + column * step, cy: HEIGHT - FOOT - DOT - 1 - height * rise, r: DOT }),
    ),
  ];
  if (truth !== null) {
    const at = x(truth);
    const isRight = at > WIDTH / 2;
    parts.push(
      svg("line", { class: "cc-truth", x1: at, x2: at, y1: 6, y2: HEIGHT - FOOT + 4 }),
      svg(
        "text",
        { class: "cc-truth-word", x: at + (isRight ? -8 : 8), y: 16, "text-anchor": isRight ? "end" : "start" },
        [`${Math.round(truth)}${unit} it is`],
      ),
    );
  }
  const label = `${guesses.length} guesses, half of them ${Math.round(median(guesses))}${unit} or less`;
  return svg(
    "svg",
    { class: "cc-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ...parts,
  );
}

/** A cell for each answer, those that found the number first. @param {number} n @param {number} nFound */
export const foundBar = (n, nFound) =>
  html("div", { class: "cc-found", role: "img", "aria-label": `${nFound} of ${n} found it` }, [
    ...Array.from({ length: n }, (_, i) => html("i", { "data-on": i < nFound })),
  ]);

/**
 * All curves in one chart.
 * @param {[number, number][][]} curves of the class: share of LLM tokens, and right answers in parts of one
 * @param {{label: string, points: [number, number][], look: string}[]} known to hold them against
 * @param {number} llm right answers of the LLM alone
 */
export function curvesChart(curves, known, llm) {
  const y = (/** @type {number} */ right) => 10 + (HEIGHT - 10 - FOOT) * (1 - (right - 0.5) / 0.5);
  const x = (/** @type {number} */ share) => LEFT + ((WIDTH - LEFT - 14) * share) / 0.31;
  /** @param {[number, number][]} points @param {string} look */
  const line = (points, look) => {
    const d = points
      .filter(([share]) => share <= 0.31)
      .map(([share, right]) => `${x(share)} ${y(Math.max(0.5, right))}`);
    return svg("path", { class: look, d: `M${d.join("L")}` });
  };
  const rights = [0.5, 0.6, 0.7, 0.8, 0.9, 1];
  const parts = [
    ...rights.map((right) => svg("line", { class: "cc-grid", x1: LEFT, x2: WIDTH - 14, y1: y(right), y2: y(right) })),
    ...rights.map((right) => svg("text", { x: LEFT - 6, y: y(right) + 4, "text-anchor": "end" }, percent(right, 0))),
    ...[0, 0.05, 0.1, 0.2, 0.3].map((share) =>
      svg("text", { x: x(share), y: HEIGHT - FOOT + 16, "text-anchor": "middle" }, percent(share, 0)),
    ),
    svg("text", { x: (WIDTH + LEFT) / 2, y: HEIGHT - 2, "text-anchor": "middle" }, "share of tokens by the LLM"),
    line(
      [
        [0, llm],
        [0.31, llm],
      ],
      "cc-llm-alone",
    ),
    ...curves.map((points) => line(points, "cc-curve")),
    ...known.map(({ points, look }) => line(points, look)),
  ];
  const label = `${curves.length} curves of right answers over the share of LLM tokens`;
  return svg(
    "svg",
    { class: "cc-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ...parts,
  );
}
