/**
 * How a router's confidences part into those where the SLM will do and those where the LLM is needed, pass by pass.
 *
 * Passes take less than a second, so they are played one after the other; a slider goes through them afterwards.
 *
 * @typedef {import("../engine/router_training.js").Pass} Pass
 */

import { html, setText, svg } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";

const WIDTH = 400;
const MIDDLE = 40;
const HEIGHT = 80;
const PLAY_MS = 260;

export class Separation {
  /** @type {Pass[]} */
  passes = [];
  shown = -1;
  best = -1;
  /** @type {number|null} */
  tau = null;
  /** @type {ReturnType<typeof setInterval>|null} */
  #playing = null;
  said = html("span", {});
  picture = svg("svg", {
    class: "cb-parting",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  });
  ends = html("p", { class: "cb-ends" }, [
    html("span", {}, "0"),
    html("span", {}, "▲ the SLM will do · ▼ the LLM is needed"),
    html("span", {}, "1"),
  ]);
  slider = html("input", {
    type: "range",
    class: "cb-range",
    min: 1,
    value: 1,
    "aria-label": "Pass over the labels",
    oninput: () => {
      this.#stop();
      this.#show(Number(this.slider.value) - 1);
    },
  });
  empty = html("p", { class: "cv-caption" }, "Labels first.");

  constructor() {
    this.root = html("div", { class: "cb-separation" }, [
      html("h3", { class: "cb-head" }, "Confidence", this.said),
      this.empty,
      this.picture,
      this.ends,
      this.slider,
    ]);
    this.clear();
  }

  clear() {
    this.#stop();
    this.passes = [];
    this.shown = this.best = -1;
    this.tau = null;
    this.#draw();
  }

  /** @param {Pass[]} passes @param {number|null} best the pass that is kept, from 1 @param {number|null} tau */
  update(passes, best, tau) {
    const isNew = passes.length > this.passes.length;
    this.passes = passes.slice();
    this.best = best === null ? -1 : best - 1;
    if (isNew && this.#playing === null) this.#play();
    if (tau !== this.tau) {
      this.tau = tau;
      this.#draw();
    }
  }

  #play() {
    this.#playing = setInterval(() => {
      const last = this.best >= 0 && this.shown === this.passes.length - 1;
      if (last) {
        this.#stop();
        this.#show(this.best);
      } else if (this.shown < this.passes.length - 1) this.#show(this.shown + 1);
    }, PLAY_MS);
  }

  #stop() {
    if (this.#playing !== null) clearInterval(this.#playing);
    this.#playing = null;
  }

  /** @param {number} pass */
  #show(pass) {
    this.shown = pass;
    this.#draw();
  }

  #draw() {
    const pass = this.passes[this.shown];
    for (const node of [this.picture, this.ends]) node.toggleAttribute("hidden", !pass);
    this.empty.hidden = Boolean(pass);
    this.slider.hidden = !pass || this.#playing !== null;
    if (!pass) return setText(this.said, "");
    this.slider.max = String(this.passes.length);
    this.slider.value = String(this.shown + 1);
    const isBest = this.shown === this.best;
    const auc = pass.auc === null ? "" : ` · AUC ${pass.auc.toFixed(2)}`;
    setText(
      this.said,
      `pass ${this.shown + 1}${isBest ? ", kept" : ""} · loss ${pass.validationLoss.toFixed(3)}${auc}`,
    );
    const [llm, slm] = pass.histogram;
    this.picture.replaceChildren(
      svg("path", { class: "cb-bars-slm", d: bars(slm, -1) }),
      svg("path", { class: "cb-bars-llm", d: bars(llm, 1) }),
      svg("path", { class: "cb-grid", d: `M0 ${MIDDLE}H${WIDTH}` }),
      ...(this.tau !== null && isBest ? [svg("path", { class: "cb-tau", d: `M${WIDTH * this.tau} 0V${HEIGHT}` })] : []),
    );
    const words = this.tau !== null && isBest ? ` τ ${formatTau(this.tau)} is where the chosen share ends.` : "";
    this.picture.setAttribute(
      "aria-label",
      `Confidences after pass ${this.shown + 1}: ${sum(llm)} labels for the LLM, ${low(llm)} of them below one half; ` +
        `${sum(slm)} for the SLM, ${low(slm)} of them below one half.${words}`,
    );
  }
}

const sum = (/** @type {number[]} */ counts) => counts.reduce((a, b) => a + b, 0);
const low = (/** @type {number[]} */ counts) => sum(counts.slice(0, counts.length / 2));

/** Bars by the square root of their share, as few tokens are the ones that matter. @param {number[]} counts */
function bars(counts, direction = 1) {
  const [all, step] = [sum(counts) || 1, WIDTH / counts.length];
  return counts
    .map((count, bin) => {
      const height = Math.min(MIDDLE - 2, Math.sqrt(count / all) * 52) * direction;
      return count ? `M${bin * step + 1} ${MIDDLE + direction}h${step - 2}v${height.toFixed(1)}h${2 - step}z` : "";
    })
    .join("");
}
