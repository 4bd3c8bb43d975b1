/**
 * Right answers on unseen problems against the share of LLM tokens: the visitor's router with its band, the others as
 * stored, a guess. Drawn as SVG at the width that it has.
 *
 * Must not know how it was measured.
 *
 * @typedef {import("./baselines.js").Baselines} Baselines
 * @typedef {{share: number, accuracy: number, low: number, high: number, isChosen: boolean}} OwnPoint
 * @typedef {{share: number, accuracy: number}} At
 */

import { html, svg } from "../viewer/dom.js";
import { percent } from "../run/format.js";
import { tableOf } from "../viewer/table.js";
import { inDigits } from "../run/kinds.js";

const MOST_SHARE = 0.31;
const ROOM = { left: 44, right: 10, top: 12, bottom: 42 };
const HEIGHT = 250;
const STEP = 0.1;
const GRID_SHARES = [0, 0.05, 0.1, 0.2, 0.3];
const LOWEST = 0.8; // as high as the lower end may be
const ARIA = "Right answers on unseen problems against the share of tokens by the LLM";

export class CurveChart {
  picture = svg("svg", { class: "cb-curve", role: "img", "aria-label": ARIA });
  n = html("span", {});
  legend = html("p", { class: "cb-legend" });
  table = html("div", { class: "cv-sr" });

  constructor() {
    this.root = html("div", {}, [
      html("h3", { class: "cb-head" }, "Right on unseen problems", this.n),
      this.picture,
      this.legend,
      this.table,
    ]);
  }

  /**
   * @param {Baselines} others @param {OwnPoint[]} own by share @param {number} n problems
   * @param {At|null} guess @param {At[]} usual the router before something was broken
   */
  draw(others, own, n, guess, usual) {
    const width = Math.max(280, this.picture.clientWidth || 400);
    const least = Math.min(others.slm, ...own.map(({ low }) => low), guess?.accuracy ?? 1, LOWEST);
    const bottom = Math.max(0, Math.floor((least - 0.01) / STEP) * STEP);
    const x = (/** @type {number} */ share) => ROOM.left + (share / MOST_SHARE) * (width - ROOM.left - ROOM.right);
    const y = (/** @type {number} */ accuracy) =>
      HEIGHT - ROOM.bottom - ((accuracy - bottom) / (1 - bottom)) * (HEIGHT - ROOM.top - ROOM.bottom);
    const path = (/** @type {At[]} */ points) =>
      points
        .map(({ share, accuracy }, i) => `${i ? "L" : "M"}${x(share).toFixed(1)} ${y(accuracy).toFixed(1)}`)
        .join("");
    const line = (/** @type {string} */ look, /** @type {At[]} */ points) =>
      points.length > 1
        ? svg("path", { class: look, d: path(points.filter(({ share }) => share <= MOST_SHARE)) })
        : null;
    const whole = own.length ? [{ share: 0, accuracy: others.slm, low: others.slm, high: others.slm }, ...own] : [];
    const band = [
      ...whole.map(({ share, high }) => ({ share, accuracy: high })),
      ...[...whole].reverse().map(({ share, low }) => ({ share, accuracy: low })),
    ];
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.picture.replaceChildren(
      ...frame(width, bottom, x, y),
      ...[
        svg("path", { class: "cb-llm-line", d: `M${x(0)} ${y(others.llm)}H${x(MOST_SHARE)}` }),
        svg("text", { class: "cb-llm-name", x: x(0) + 6, y: y(others.llm) - 5 }, `LLM alone ${percent(others.llm, 0)}`),
        line("cb-free", others.free),
        line("cb-shipped", others.shipped),
        line("cb-usual", usual),
        band.length ? svg("path", { class: "cb-band", d: `${path(band)}z` }) : null,
        line("cb-own", whole),
        ...own.map(({ share, accuracy, isChosen }) =>
          svg("circle", { class: "cb-point", cx: x(share), cy: y(accuracy), r: isChosen ? 6 : 4 }),
        ),
        guess
          ? svg("path", { class: "cb-guess", d: `M${x(guess.share)} ${y(guess.accuracy) - 8}l8 8l-8 8l-8 -8z` })
          : null,
      ].filter((node) => node !== null),
    );
    this.n.textContent = n ? `n = ${inDigits(n)}, band 95%` : "";
    this.legend.replaceChildren(
      ...[
        own.length ? key("cb-own", "yours") : null,
        key("cb-shipped", "shipped"),
        key("cb-free", "max-probability"),
        usual.length ? key("cb-usual", "before it was broken") : null,
        guess ? html("span", {}, "◇ your guess") : null,
      ].filter((node) => node !== null),
    );
    const rows = own.map(({ share, accuracy, low, high }) => [
      percent(share),
      `${percent(accuracy)} (${percent(low)} to ${percent(high)})`,
    ]);
    this.table.replaceChildren(tableOf({ head: ["LLM tokens", "Right"], rows }));
  }
}

/** @param {string} look @param {string} words */
const key = (look, words) =>
  html("span", {}, [
    svg(
      "svg",
      { width: 22, height: 8, viewBox: "0 0 22 8", "aria-hidden": "true" },
      svg("path", { class: look, d: "M0 4H22" }),
    ),
    words,
  ]);

/**
 * Grid and axes.
 * @param {number} width @param {number} bottom
 * @param {(share: number) => number} x @param {(accuracy: number) => number} y
 */
function frame(width, bottom, x, y) {
  const nLines = Math.round((1 - bottom) / STEP);
  const levels = Array.from({ length: nLines + 1 }, (_, i) => bottom + i * STEP);
  return [
    ...levels.flatMap((level) => [
      svg("path", { class: "cb-grid", d: `M${ROOM.left} ${y(level)}H${width - ROOM.right}` }),
      svg(
        "text",
        { x: ROOM.left - 8, y: y(level) + 4.5, "text-anchor": "end" },
        `${Math.round(100 * level)}${level > 0.999 ? "%" : ""}`,
      ),
    ]),
    ...GRID_SHARES.map((share) =>
      svg(
        "text",
        { x: x(share), y: HEIGHT - ROOM.bottom + 18, "text-anchor": "middle" },
        `${Math.round(100 * share)}${share === 0.3 ? "%" : ""}`,
      ),
    ),
    svg(
      "text",
      { x: (ROOM.left + width - ROOM.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" },
      "share of tokens by the LLM",
    ),
  ];
}
