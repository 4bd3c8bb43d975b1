/**
 * A router's two layers as a picture: numbers in, units, the sum; a ribbon is one number on its way through one unit.
 *
 * Must not know runs. Left to right where there is room, else from top to bottom; `place` turns one into the other.
 *
 * @typedef {NonNullable<Inside["layers"]>} Layers
 */

import { svg } from "../viewer/dom.js";
import { inDigits } from "../run/kinds.js";

const NARROW = 560;
const LEAST_CELL = 2.2; // px; more numbers than fit are drawn several to a cell, by the strongest of them
const BEHIND = 0.78; // of the strongest, at which a cell is full
const NAMED = 6;
const UNCERTAINTIES = ["log-odds", "log entropy", "margin"];

/** "+0.12", "−2.86". @param {number} value */
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** What the sum is made of. @param {Layers} layers */
export function sumsOf({ pushes, logit }) {
  const forSlm = pushes.reduce((sum, push) => sum + Math.max(0, push), 0);
  const forLlm = pushes.reduce((sum, push) => sum + Math.min(0, push), 0);
  return { direct: logit - forSlm - forLlm, forSlm, forLlm, nOn: pushes.filter((push) => push !== 0).length };
}

/** @param {number} value */
const side = (value) => (value > 0 ? "ci-for-slm" : "ci-for-llm");

/** Numbers as at most `room` cells, each by the strongest in it. @param {number[]} values @param {number} room */
function cellsOf(values, room) {
  const n = Math.min(values.length, Math.max(1, Math.floor(room / LEAST_CELL)));
  return Array.from({ length: n }, (_, cell) => {
    const [from, to] = [cell, cell + 1].map((at) => Math.round((at * values.length) / n));
    const within = values.slice(from, to);
    const place = within.reduce((best, value, i) => (Math.abs(value) > Math.abs(within[best]) ? i : best), 0);
    return { index: from + place, value: within[place] };
  });
}

/**
 * @param {Layers} layers
 * @param {number} width of the picture in px
 * @param {string} state what the first numbers are, in words
 */
export function networkPicture(layers, width, state) {
  const { inputs, n_state: nState, gains, pushes, paths } = layers;
  const isNarrow = width < NARROW;
  const sums = sumsOf(layers);
  const [head, length, thick] = isNarrow ? [0, width, 20] : [46, 376, 22];
  const height = isNarrow ? 500 : head + length + 22;
  /** Along the way: the numbers, the units, the sum. */
  const [atIn, atUnits, atSum] = isNarrow ? [46, 212, 356] : [78, width * 0.49, width * 0.76];
  /** @param {number} along @param {number} across */
  const place = (along, across) => (isNarrow ? [across, along] : [along, head + across]);
  /** @param {number} along @param {number} across @param {number} deep @param {number} wide @param {string} look */
  const box = (along, across, deep, wide, look, more = {}) => {
    const [x, y] = place(along, across);
    const [w, h] = isNarrow ? [wide, deep] : [deep, wide];
    return svg("rect", { class: look, x, y, width: Math.max(0.5, w), height: Math.max(0.5, h), ...more });
  };
  /** @param {number} a @param {number} b @param {number} c @param {number} d */
  const curve = (a, b, c, d) => {
    const half = (c - a) / 2;
    const points = [place(a, b), place(a + half, b), place(c - half, d), place(c, d)].map((p) =>
      p.map((v) => v.toFixed(1)),
    );
    return `M${points[0]}C${points[1]} ${points[2]} ${points[3]}`;
  };
  const root = svg("svg", { class: "ci-network", viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  root.setAttribute(
    "aria-label",
    `${inputs.length} numbers, ${pushes.length} units, ${sums.nOn} on. Without a unit ${signed(sums.direct)}, ` +
      `units for the SLM ${signed(sums.forSlm)}, for the LLM ${signed(sums.forLlm)}: together ${signed(layers.logit)}.`,
  );

  // Where each number and each unit stands.
  const nOwn = inputs.length - nState;
  const ownRoom = nOwn * 9;
  const stateRoom = length - (nOwn ? ownRoom + 6 : 0);
  /** @param {number} k */
  const inputAt = (k) => (k < nState ? ((k + 0.5) * stateRoom) / nState : length - ownRoom + (k - nState + 0.5) * 9);
  /** @param {number} j */
  const unitAt = (j) => ((j + 0.5) * length) / pushes.length;

  // The sum: what needs no unit, what units give, what is left.
  const { direct, forSlm } = sums;
  /** @type {[string, number, number][]} */
  const bars = [
    ["direct", 0, direct],
    ["SLM", direct, direct + forSlm],
    ["LLM", direct + forSlm, layers.logit],
    ["sum", 0, layers.logit],
  ];
  const ends = bars.flatMap(([, from, to]) => [from, to]);
  const [least, most] = [Math.min(...ends, 0), Math.max(...ends, 0.5)];
  const room = isNarrow ? width - 136 : length - 36;
  /** @param {number} value */
  const level = (value) => {
    const share = (value - least) / (most - least);
    return isNarrow ? 2 + room * share : 16 + room * (1 - share);
  };
  const [deep, gap] = isNarrow ? [22, 13] : [Math.min(34, (width - atSum) / 5.4), Math.min(14, (width - atSum) / 13)];
  /** @param {number} i */
  const barAt = (i) => atSum + i * (deep + gap);

  const strongest = Math.abs(paths[0]?.[2] ?? 1);
  const ribbons = paths.map(([k, j, adds]) => {
    const share = Math.abs(adds) / strongest;
    return svg("path", {
      class: `ci-ribbon ${side(adds)}`,
      d: curve(atIn + thick + 1, inputAt(k), atUnits - 1, unitAt(j)),
      "stroke-width": (0.4 + 3.2 * share).toFixed(2),
      opacity: (0.18 + 0.62 * share).toFixed(2),
      "data-input": k,
      "data-unit": j,
    });
  });
  const strongestPush = Math.max(...pushes.map(Math.abs), 1e-9);
  const arms = pushes
    .map((push, j) => ({ push, j, share: Math.abs(push) / strongestPush }))
    .sort((a, b) => b.share - a.share)
    .slice(0, 40)
    .filter(({ push }) => push !== 0)
    .map(({ push, j, share }) => {
      const bar = push > 0 ? 1 : 2;
      const [from, to] = [level(bars[bar][1]), level(bars[bar][2])];
      return svg("path", {
        class: `ci-ribbon ${side(push)}`,
        d: curve(atUnits + thick + 1, unitAt(j), barAt(bar) - 1, from + ((to - from) * (j + 0.5)) / pushes.length),
        "stroke-width": (0.5 + 3 * share).toFixed(2),
        opacity: (0.15 + 0.5 * share).toFixed(2),
        "data-unit": j,
      });
    });

  const strongestInput = BEHIND * Math.max(...inputs.slice(0, nState).map(Math.abs));
  /** @param {number} k @param {string} name */
  const inputTitle = (k, name) => svg("title", {}, `${name}: ${inputs[k].toFixed(2)}; adds ${signed(gains[k])}`);
  const stateCells = cellsOf(inputs.slice(0, nState), stateRoom);
  const inputCells = [
    ...stateCells.map(({ index, value }, cell) => {
      const wide = stateRoom / stateCells.length;
      const shade = Math.min(1, Math.abs(value) / strongestInput).toFixed(3);
      const rect = box(atIn, cell * wide, thick, wide - 0.35, "ci-number", {
        "fill-opacity": shade,
        "data-input": index,
      });
      rect.append(inputTitle(index, `number ${index + 1}`));
      return rect;
    }),
    ...inputs.slice(nState).map((value, i) => {
      const shade = Math.min(1, Math.abs(value) / 3).toFixed(3);
      const more = { "fill-opacity": shade, "data-input": nState + i };
      const rect = box(atIn, length - ownRoom + i * 9, thick, 8, "ci-number", more);
      rect.append(inputTitle(nState + i, `${UNCERTAINTIES[i] ?? "number"}, scaled`));
      return rect;
    }),
  ];
  const unitCells = cellsOf(pushes, length).map(({ index, value }, cell, { length: n }) => {
    const shade = (0.45 + (0.55 * Math.abs(value)) / strongestPush).toFixed(3);
    const more = { "fill-opacity": shade, "data-unit": index };
    const rect = box(atUnits, (cell * length) / n, thick, length / n - 0.35, value ? side(value) : "ci-off", more);
    rect.append(svg("title", {}, value ? `unit ${index + 1}: on, adds ${signed(value)}` : `unit ${index + 1}: off`));
    return rect;
  });
  /** @param {number} x @param {number} y @param {string|Node[]} words */
  const text = (x, y, words, look = "", anchor = "start") =>
    svg("text", { x, y, class: look, "text-anchor": anchor }, ...[words].flat());

  const zero = level(0);
  const [[x1, y1], [x2, y2]] = [place(atSum - 8, zero), place(barAt(3) + deep + 6, zero)];
  const sumParts = bars.flatMap(([name, from, to], i) => {
    const [low, high] = [level(from), level(to)].sort((a, b) => a - b);
    const value = to - from;
    const look = i === 3 ? `ci-sum ${side(value)}` : side(value);
    const bar = box(barAt(i), low, deep, Math.max(2, high - low), look, { rx: 2 });
    const strong = i === 3 ? "ci-strong" : "";
    if (isNarrow) {
      const y = barAt(i) + deep / 2 + 5;
      return [bar, text(width - 118, y, name, strong), text(width, y, signed(value), "ci-strong", "end")];
    }
    const x = barAt(i) + deep / 2;
    const y = head + (value < 0 ? high + 16 : low - 6);
    return [bar, text(x, y, signed(value), strong, "middle"), text(x, height - 4, name, strong, "middle")];
  });

  const more = nOwn ? ` + ${nOwn} of sureness` : "";
  const nWeights = inDigits(inputs.length * pushes.length);
  const units = `${nWeights} weights; ${sums.nOn} of ${pushes.length} on`;
  const sides = isNarrow ? ["right of 0: SLM", "left: LLM"] : ["up: SLM", "down: LLM"];
  const sumWords = sides.map((words, i) => svg("tspan", { class: `ci-name ${side(0.5 - i)}`, dx: i * 8 }, words));
  /** @type {[number, number, string, string|Node[], "start"|"middle"][]} */
  const heads = isNarrow
    ? [
        [0, 14, state, `${nState} numbers${more}`, "start"],
        [0, atUnits - 26, "Router", units, "start"],
        [0, atSum - 32, "Sum", sumWords, "start"],
      ]
    : [
        [atIn, 13, state, `${nState} numbers${more}`, "start"],
        [atUnits + thick / 2, 13, "Router", units, "middle"],
        [barAt(0), 13, "Sum", sumWords, "start"],
      ];
  /** @type {{y: number, k: number}[]} */
  const named = [];
  const byGain = [...gains.keys()].slice(0, nState).sort((a, b) => Math.abs(gains[b]) - Math.abs(gains[a]));
  for (const k of isNarrow ? [] : byGain) {
    const y = head + inputAt(k);
    if (named.length < NAMED && named.every((other) => Math.abs(other.y - y) > 15)) named.push({ y, k });
  }
  root.append(
    svg("g", { class: "ci-late" }, ...arms),
    svg("g", { class: "ci-soon" }, ...ribbons.reverse()),
    svg("g", {}, [
      ...(nState ? [box(atIn, 0, thick, stateRoom, "ci-off")] : []),
      ...(nOwn ? [box(atIn, length - ownRoom, thick, ownRoom, "ci-off")] : []),
      ...inputCells,
      ...unitCells,
    ]),
    svg("line", { class: "ci-zero", x1, y1, x2, y2 }),
    svg("g", { class: "ci-late" }, ...sumParts),
    ...named.map(({ y, k }) =>
      text(atIn - 6, y + 4, `№${k + 1}  ${inputs[k].toFixed(2).replace("-", "−")}`, `${side(gains[k])} ci-name`, "end"),
    ),
    ...heads.flatMap(([x, y, title, words, anchor]) => [
      text(x, y, title, "ci-head", anchor),
      text(x, y + 17, words, "ci-halo", anchor),
    ]),
  );
  light(root);
  return root;
}

/** Only the ribbons of the number or unit under the pointer. @param {SVGElement} root */
function light(root) {
  /** @param {Event} event */
  const over = ({ type, target }) => {
    const { input, unit } = type === "pointerover" && target instanceof SVGElement ? target.dataset : {};
    for (const one of root.querySelectorAll(".ci-ribbon")) {
      const { input: from, unit: through } = /** @type {SVGElement} */ (one).dataset;
      one.classList.toggle("ci-faint", unit ? through !== unit : input ? from !== undefined && from !== input : false);
    }
  };
  root.addEventListener("pointerover", over);
  root.addEventListener("pointerleave", over);
}
