/**
 * Look-back as one plane: across, when the LLM looks; upwards, how much it then takes back. The point stands on places
 * that were measured, so that the numbers beside it are true.
 *
 * Must not know runs or the page: it is told where the dials stand, and says where a person wants them.
 *
 * @typedef {[number, number]} Place column and row, from the left below
 * @typedef {{plane: Plane, type: string, router: string, dials: Dials}} PlaneView
 */

import { LOOKING_BACK, dialsOf, isAtSameDials } from "../run/dials.js";
import { percent, quantity } from "../run/format.js";
import { html, plainButton, setAttributes, svg } from "../viewer/dom.js";

const NO_BUDGET = 4097; // the end comes before so much doubt
const ROWS = 140;
const N_BANDS = 8;
const FEWER = 0.02;
/** What is said down to a budget, and up to a ratio. @type {[number, string][]} */
const WHEN = [
  [NO_BUDGET, "only at the end"],
  [2, "after very much doubt"],
  [1, "after much doubt"],
  [0.5, "after some doubt"],
  [0.25, "when doubts add up"],
  [0.1, "after little doubt"],
  [0, "at the slightest doubt"],
];
/** @type {[number, string][]} */
const WHAT = [
  [0, "nothing"],
  [0.05, "only the absurd"],
  [0.15, "gross slips"],
  [0.3, "clear slips"],
  [0.5, "what it likes less"],
  [0.99, "any weaker choice"],
  [1, "any difference"],
];
/** @type {Record<string, Place>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
/** @type {Record<string, string>} */
const FORMATS = { math: "math problems", mc: "multiple-choice questions" };

const HATCH = "cx-plane-hatch";
const hatch = () =>
  svg(
    "pattern",
    { id: HATCH, width: 2, height: 8, patternUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 0h2v8h-2z" }),
    svg("path", { d: "M0 8L2 0" }),
  );

/** @param {number[]} values @param {number} wanted */
const nearest = (values, wanted) =>
  values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);

/** @param {number} i @param {number} n */
const middle = (i, n) => `${(100 * (i + 0.5)) / n}%`;

/** The dials at a place; in the last column the LLM writes every token. @param {Plane} plane @param {Place} place */
export function dialsAt({ budgets, ratios, final_doubt }, [x, y]) {
  const isAlone = x === budgets.length;
  const [threshold, budget] = isAlone ? [1, 0] : [0, budgets[x]];
  return dialsOf({ threshold, take_back: ratios[y], doubt_budget: budget, final_doubt });
}

/**
 * The place nearest to where the dials stand.
 * @param {Plane} plane @param {Pick<Dials, "take_back"|"doubt_budget"> & {threshold?: number}} dials
 * @returns {Place}
 */
export function placeOf({ budgets, ratios }, { threshold = 0, take_back: ratio, doubt_budget: budget }) {
  const order = budgets.map((one) => one || NO_BUDGET);
  return [threshold >= 1 ? budgets.length : nearest(order, budget || NO_BUDGET), nearest(ratios, ratio)];
}

/** Where the point stands at first. @param {Plane} plane */
export const usualDials = (plane) => dialsAt(plane, placeOf(plane, LOOKING_BACK));

/** When the LLM looks, and what it takes back. @param {Plane} plane @param {Place} place @returns {[string, string]} */
export function placeWords({ budgets, ratios }, [x, y]) {
  const when =
    x === budgets.length ? "at every token" : WHEN.find(([least]) => (budgets[x] || NO_BUDGET) >= least)?.[1];
  return [when ?? "", WHAT.find(([most]) => ratios[y] <= most)?.[1] ?? ""];
}

/** What was measured for a format, or for the first one. @param {Plane} plane @param {string} type */
function measuredOf({ points, ratios }, type) {
  const format = Object.hasOwn(points, type) ? type : Object.keys(points)[0];
  const { grid, ...others } = points[format];
  return { format, ...others, columns: [...grid, ratios.map(() => others.alone.llm)] };
}

/**
 * The part of the plane where a number, linear between the places, is above a level; a path of rows.
 * @param {number[][]} columns @param {number} level
 */
export function areaAbove(columns, level) {
  const n = columns[0].length;
  let path = "";
  for (let row = 0; row < ROWS; row++) {
    const y = Math.min(n - 1, Math.max(0, n - 0.5 - ((row + 0.5) * n) / ROWS));
    const below = Math.min(n - 2, Math.floor(y));
    const at = columns.map((column) => column[below] + (column[below + 1] - column[below]) * (y - below) - level);
    const edges = at[0] > 0 ? [0] : [];
    for (let x = 0; x + 1 < at.length; x++) {
      if (at[x] > 0 !== at[x + 1] > 0) edges.push((100 * (x + 0.5 + at[x] / (at[x] - at[x + 1]))) / at.length);
    }
    if (edges.length % 2) edges.push(100);
    for (let i = 0; i < edges.length; i += 2)
      path += `M${edges[i].toFixed(2)} ${row}H${edges[i + 1].toFixed(2)}v1.1H${edges[i].toFixed(2)}z`;
  }
  return path;
}

export class PlaneDial {
  /** @type {PlaneView|null} */
  view = null;
  /** @type {Place} */
  place = [0, 0];
  told = "";
  drawn = "";

  /** @param {{onDials: (dials: Dials) => void, onRouter: (name: string) => void}} on */
  constructor(on) {
    this.on = on;
    const slider = (/** @type {string} */ name) =>
      html("input", {
        type: "range",
        class: "cx-hidden",
        min: 0,
        step: 1,
        "aria-label": name,
        oninput: () => this.#slid(),
      });
    this.sliders = [slider("When the LLM looks"), slider("What it takes back")];
    this.said = html("summary", {});
    this.ground = svg("svg", { viewBox: `0 0 100 ${ROWS}`, preserveAspectRatio: "none" });
    this.dots = svg("g", {});
    this.ring = svg("circle", { r: 9, class: "cx-plane-ring" });
    this.area = html(
      "div",
      { class: "cx-plane-area" },
      svg("svg", { "aria-hidden": "true" }, this.ground, this.ring, this.dots),
    );
    this.got = html("dl", {});
    this.note = html("p", {});
    const line = (/** @type {import("../viewer/dom.js").Child[]} */ ...words) =>
      html("p", { class: "cx-plane-edge" }, ...words);
    const bold = (/** @type {string} */ words) => html("b", {}, words);
    this.root = html("details", { class: "cx-plane", open: matchMedia("(min-width: 768px)").matches }, [
      this.said,
      ...this.sliders,
      line(bold("Speculative decoding"), html("span", {}, "↑ takes back any difference")),
      this.area,
      line(html("span", {}, bold("CITER"), ": nothing"), html("span", {}, "looks sooner →"), bold("LLM alone")),
      this.got,
      this.note,
    ]);
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.area.addEventListener("pointerdown", (event) => {
      this.area.setPointerCapture(event.pointerId);
      this.#pointed(event);
    });
    this.area.addEventListener("pointermove", (event) => event.buttons && this.#pointed(event));
  }

  /** @param {PlaneView} view */
  update(view) {
    const told = JSON.stringify(view);
    if (told === this.told) return; // what has the keyboard keeps it
    this.told = told;
    const { plane, dials, type, router } = (this.view = view);
    const [x, y] = (this.place = placeOf(plane, dials));
    const sizes = [plane.budgets.length + 1, plane.ratios.length];
    const isMeasured = router === plane.router;
    const isHere = isAtSameDials(dialsAt(plane, this.place), dials);
    const measured = measuredOf(plane, type);
    const key = JSON.stringify([plane, measured.format, isMeasured]);
    if (key !== this.drawn) this.#draw(measured, isMeasured);
    this.drawn = key;
    setAttributes(this.ring, { cx: middle(x, sizes[0]), cy: middle(sizes[1] - 1 - y, sizes[1]) });
    this.ring.classList.toggle("cx-plane-near", !isHere);

    const [when, what] = placeWords(plane, this.place);
    const { take_back: ratio, doubt_budget: budget } = dials;
    const numbers = `${dials.threshold > 0 ? `τ ${dials.threshold}` : `doubt ${budget || "–"}`} · ratio ${ratio}`;
    const words = ["Look ", html("b", {}, when), ", take back ", html("b", {}, what), ". ", html("small", {}, numbers)];
    this.said.replaceChildren(...words);
    const { n, alone, format } = measured;
    const share = (/** @type {Measured} */ [right]) => percent(right / n);
    const here = measured.columns[x][y];
    /** @type {[string, Measured][]} */
    const rows = [
      ["here", here],
      ["speculative decoding", alone.speculative],
      ["LLM alone", alone.llm],
    ];
    this.got.replaceChildren(
      ...rows.map(([name, one]) => {
        const said =
          name !== "here" || isHere
            ? [`${share(one)} right`, `${quantity("bytes", one[1])}/token`]
            : ["not measured here"];
        return html(
          "div",
          {},
          html("dt", {}, name),
          said.map((text) => html("dd", {}, text)),
        );
      }),
    );
    this.got.hidden = !isMeasured;
    const p = here[0] / n;
    const margin = Math.max(1, Math.round(196 * Math.sqrt((p * (1 - p)) / n)));
    this.note.replaceChildren(
      ...(isMeasured
        ? [
            `${n} ${FORMATS[format] ?? format}, ±${margin} points, ${plane.router}. ` +
              "More purple: more memory; hatched: fewer right.",
          ]
        : [
            `Measured with ${plane.router} only. `,
            plainButton(`Write with ${plane.router}`, "cx-quiet", () => this.on.onRouter(plane.router)),
          ]),
    );
    const spoken = isMeasured && isHere ? `; ${share(here)} right, ${quantity("bytes", here[1])} a token` : "";
    [`looks ${when}`, `takes back ${what}`].forEach((text, i) => {
      const slider = this.sliders[i];
      slider.max = String(sizes[i] - 1);
      slider.value = String(this.place[i]);
      slider.setAttribute("aria-valuetext", text + spoken);
    });
  }

  /** @param {ReturnType<typeof measuredOf>} measured @param {boolean} isMeasured */
  #draw({ n, alone, columns }, isMeasured) {
    const bytes = columns.map((column) => column.map(([, moved]) => Math.log(moved)));
    const [least, most] = [Math.min(...bytes.flat()), Math.max(...bytes.flat())];
    // Small differences show where little is moved.
    const bands = Array.from({ length: N_BANDS }, (_, i) => {
      const d = areaAbove(bytes, i ? least + (most - least) * (i / N_BANDS) ** 2 : -Infinity);
      return svg("path", { d, style: { "--band": `${3 + 7 * i + 0.75 * i * i}%` } });
    });
    const lost = columns.map((column) => column.map(([right]) => alone.llm[0] - right));
    const fewer = svg("path", { d: areaAbove(lost, FEWER * n + 1e-9), class: "cx-plane-fewer" });
    this.ground.replaceChildren(hatch(), ...(isMeasured ? [...bands, fewer] : []));
    const [nx, ny] = [columns.length, columns[0].length];
    const dots = Array.from({ length: nx * ny }, (_, i) =>
      svg("circle", { r: 1.2, cx: middle(i % nx, nx), cy: middle(Math.floor(i / nx), ny) }),
    );
    this.dots.replaceChildren(...dots);
  }

  /** @param {Place} place */
  #move(place) {
    if (!this.view) return;
    const { plane } = this.view;
    const most = [plane.budgets.length, plane.ratios.length - 1];
    const [x, y] = place.map((wanted, i) => Math.min(most[i], Math.max(0, wanted)));
    const dials = dialsAt(plane, [x, y]);
    if (!isAtSameDials(dials, this.view.dials)) this.on.onDials(dials);
  }

  #slid() {
    this.#move([Number(this.sliders[0].value), Number(this.sliders[1].value)]);
  }

  /** All four arrows work on both sliders. @param {KeyboardEvent} event */
  #key(event) {
    const step = ARROWS[event.key];
    if (!step || !this.sliders.some((slider) => slider === event.target)) return;
    event.preventDefault();
    this.#move([this.place[0] + step[0], this.place[1] + step[1]]);
  }

  /** @param {PointerEvent} event */
  #pointed({ clientX, clientY }) {
    if (!this.view) return;
    const { left, bottom, width, height } = this.area.getBoundingClientRect();
    const { budgets, ratios } = this.view.plane;
    const x = Math.floor(((clientX - left) / width) * (budgets.length + 1));
    this.#move([x, Math.floor(((bottom - clientY) / height) * ratios.length)]);
  }
}
