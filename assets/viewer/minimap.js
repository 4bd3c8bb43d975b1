/**
 * The whole run as a thin strip, one bar per token: full height where the LLM writes, half where the SLM does.
 *
 * Must not know the text. Calls back with the token under the pointer. Eight paths, one per tint, whatever the length.
 */

import { decisiveWords } from "./counters.js";
import { certaintyStep } from "../run/decision.js";
import { html, overTokens, setAttributes, svg } from "./dom.js";
import { percent, plural } from "../run/format.js";

const STRIP_HEIGHT = 20;
const DECISIVE_HEIGHT = 5;

export class Minimap {
  /** @param {{onHover: (index: number|null) => void, onPick: (index: number) => void}} on */
  constructor(on) {
    /** @type {Record<string, SVGPathElement>} */
    this.tints = {};
    this.svg = svg("svg", {
      class: "cv-minimap-svg",
      role: "img",
      preserveAspectRatio: "none",
      "aria-label": "No tokens yet",
    });
    for (const writer of ["slm", "llm"]) {
      for (let step = 0; step < 4; step++) {
        this.svg.append((this.tints[writer + step] = svg("path", { class: `cv-fill-${writer} cv-f${step}` })));
      }
    }
    this.decisive = svg("path", { class: "cv-minimap-decisive" });
    this.svg.append(this.decisive);
    this.veil = svg("rect", { class: "cv-minimap-veil", y: 0, height: STRIP_HEIGHT, width: 0 });
    this.cursor = html("span", { class: "cv-minimap-cursor", hidden: true });
    this.svg.append(this.veil);
    this.n = 0;
    this.span = 1;
    /** @param {MouseEvent} event */
    const indexAt = (event) => {
      const box = this.svg.getBoundingClientRect();
      const index = Math.floor(((event.clientX - box.left) / box.width) * this.span);
      return index >= 0 && index < this.n ? index : null;
    };
    this.root = html("div", { class: "cv-minimap", ...overTokens(indexAt, on) }, this.svg, this.cursor);
  }

  /** @param {RunView} view */
  update(view) {
    this.n = view.n;
    this.span = view.domain;
    this.svg.setAttribute("viewBox", `0 0 ${this.span} ${STRIP_HEIGHT}`);
    /** @type {Record<string, string>} */
    const paths = {};
    for (const tint of Object.keys(this.tints)) paths[tint] = "";
    // Neighbours of one look are one bar: a long run is then a few hundred shapes, not thousands.
    let start = 0;
    /** @type {string|null} */
    let look = null;
    for (let i = 0; i <= view.n; i++) {
      const event = view.events[i];
      const writer = view.decisions.isLlm[i] ? "llm" : "slm";
      const next =
        i < view.n ? `${writer}${certaintyStep(event.slm_confidence, view.whatIf ?? event.threshold)}` : null;
      if (next === look) continue;
      if (look !== null) {
        const height = look.startsWith("llm") ? STRIP_HEIGHT : STRIP_HEIGHT / 2;
        paths[look] += `M${start} ${STRIP_HEIGHT - height}h${i - start}v${height}h${start - i}z`;
      }
      start = i;
      look = next;
    }
    for (const [tint, path] of Object.entries(this.tints)) path.setAttribute("d", paths[tint]);
    let marks = "";
    for (let i = 0; i < view.n; i++) if (view.decisions.decisive[i] > 0) marks += `M${i} 0h1v${DECISIVE_HEIGHT}h-1z`;
    this.decisive.setAttribute("d", marks);
    const totals = view.series.totals();
    this.svg.setAttribute(
      "aria-label",
      `Map of ${plural(totals.nTokens, "token")}, ${percent(totals.llmShare, 0)} by the LLM, ` +
        `${decisiveWords(totals)} decisive`,
    );
    this.moved(view);
  }

  /** The cheap part: what is hidden by playback, and where the chosen token is. @param {RunView} view */
  moved(view) {
    setAttributes(this.veil, { x: view.shown, width: Math.max(0, view.n - view.shown) });
    this.cursor.hidden = view.focus === null;
    if (view.focus !== null) this.cursor.style.left = `${((view.focus + 0.5) / view.domain) * 100}%`;
  }
}
