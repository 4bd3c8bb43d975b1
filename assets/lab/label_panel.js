/**
 * The labels on the texts: one problem at a time, its forks with both ends, what all of them come to, and a strip of
 * all problems to choose from.
 *
 * Must not know how labels are made.
 *
 * @typedef {import("../engine/labelling.js").Labelled} Labelled
 * @typedef {import("../engine/label_problem.js").LabelFork} Fork
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {keyof typeof KINDS} ForkKind
 */

import { endTabStop, html, makeTabStop, plainButton, setText, svg } from "../viewer/dom.js";
import { plural } from "../run/format.js";
import { inParts, spelled, visibleText } from "../viewer/text.js";
import { writeTokens } from "./token_text.js";

/** What a place where the models differ came to: its look, and its name in the legend. */
const KINDS = { llm: "LLM", both: "either will do", neither: "left out", slm: "only the SLM's" };
const WHY = {
  llm: "only the LLM's way ends right, so: LLM.",
  both: "both ways end right, so: SLM, it is cheaper.",
  neither: "neither way ends right, so the token is left out.",
  slm: "only the SLM's way ends right, so: SLM.",
};
const UNTRIED = {
  llm: "by this rule the label is LLM, and nothing was tried.",
  both: "by this rule the label is SLM.",
  neither: "by this rule the token is left out.",
  slm: "by this rule the label is SLM.",
};
const CONTEXT = 8; // tokens before a fork that are said with it
const BAR = 44;

/** @param {Fork} fork @returns {ForkKind} */
export function kindOf({ label, slm, llm }) {
  if (label === 0) return "llm";
  if (label === null) return "neither";
  return slm.isRight && llm.isRight === false ? "slm" : "both";
}

/** @param {Labelled|undefined} labelled how many forks of each kind */
const countsOf = (labelled) => {
  const counts = { llm: 0, both: 0, neither: 0, slm: 0 };
  for (const fork of labelled?.forks ?? []) counts[kindOf(fork)]++;
  return counts;
};

export class LabelPanel {
  /** @type {Problem[]} */
  problems = [];
  /** @type {(Labelled|undefined)[]} */
  labelled = [];
  at = 0;
  /** @type {number|null} the fork that is explained, by its place in the text */
  pinned = null;
  /** Whether a person chose the problem, so that it stays. */
  isChosen = false;
  #drawn = { at: -1, known: false, n: -1 };

  constructor() {
    this.question = html("p", { class: "cb-question" });
    this.text = html("p", {
      class: "cb-text",
      role: "group",
      "aria-label": "Labelled text: arrows go from one place where the models differ to the next",
      onclick: (event) => this.#picked(event.target),
      onkeydown: (event) => this.#pressed(event),
    });
    this.fork = html("div", { class: "cb-fork" });
    this.sofar = html("p", { class: "cb-sofar" });
    this.strip = svg("svg", {
      class: "cb-strip",
      preserveAspectRatio: "none",
      role: "slider",
      tabindex: 0,
      "aria-label": "Problem",
      onclick: (event) => this.#stripped(event),
      onkeydown: (event) => this.#moved(event),
    });
    this.key = html("p", { class: "cb-key" });
    this.root = html("div", {}, [
      this.question,
      this.text,
      this.fork,
      this.sofar,
      html("div", { class: "cb-strip-row" }, [
        plainButton("◀", "cb-arrow", () => this.choose(this.at - 1), { "aria-label": "The problem before" }),
        this.strip,
        plainButton("▶", "cb-arrow", () => this.choose(this.at + 1), { "aria-label": "The next problem" }),
      ]),
      this.key,
    ]);
  }

  /**
   * @param {Problem[]} problems @param {(Labelled|undefined)[]} labelled @param {string} rule in words, for as long
   *   as nothing is labelled
   * @param {boolean} isGoing whether labels are being made: then the newest is shown, unless a person chose one
   */
  update(problems, labelled, rule, isGoing) {
    if (problems !== this.problems) {
      [this.at, this.pinned, this.isChosen] = [0, null, false];
      this.#drawn.at = -1;
    }
    [this.problems, this.labelled] = [problems, labelled];
    const n = labelled.filter(Boolean).length;
    if (isGoing && !this.isChosen && n !== this.#drawn.n) {
      this.at = Math.max(0, labelled.findLastIndex(Boolean));
      this.pinned = null;
    }
    const known = Boolean(labelled[this.at]);
    if (this.at !== this.#drawn.at || known !== this.#drawn.known) this.#drawProblem(rule);
    if (n !== this.#drawn.n || this.at !== this.#drawn.at) this.#drawAll(n);
    this.#drawn = { at: this.at, known, n };
  }

  /** @param {number} at */
  choose(at) {
    this.isChosen = true;
    this.at = Math.max(0, Math.min(this.problems.length - 1, at));
    this.pinned = null;
    this.update(this.problems, this.labelled, "", false);
  }

  /** @param {string} rule */
  #drawProblem(rule) {
    const [problem, labelled] = [this.problems[this.at], this.labelled[this.at]];
    if (!problem) return;
    setText(this.question, problem.question);
    const isMath = problem.data_type === "math";
    const forks = new Map(labelled?.forks.map((fork) => [fork.at, fork]));
    const texts = labelled ? labelled.tokens : inParts((problem.solution ?? "").trim());
    this.nodes = writeTokens(this.text, texts, isMath, (i) => {
      const fork = forks.get(i);
      return `cb-slm${fork ? ` cb-at-${kindOf(fork)}` : ""}`;
    });
    this.text.classList.toggle("cb-waits", !labelled);
    const first = labelled?.forks.find((fork) => kindOf(fork) === "llm") ?? labelled?.forks[0];
    this.pinned ??= first?.at ?? null;
    if (labelled) this.#drawFork();
    else this.fork.replaceChildren(html("p", { class: "cb-about" }, rule));
  }

  #drawFork() {
    const labelled = this.labelled[this.at];
    const fork = labelled?.forks.find(({ at }) => at === this.pinned);
    for (const [i, node] of (this.nodes ?? []).entries()) {
      node.classList.toggle("cb-pinned", i === this.pinned);
      endTabStop(node);
    }
    if (!labelled || !fork) {
      this.fork.replaceChildren(
        html("p", { class: "cv-muted" }, "The two models would write every token of it alike."),
      );
      return;
    }
    const node = this.nodes?.[fork.at];
    if (node) makeTabStop(node, true, `${visibleText(fork.slm.text)} or ${visibleText(fork.llm.text)}`);
    const isMath = this.problems[this.at].data_type === "math";
    const before = spelled(labelled.tokens.slice(Math.max(0, fork.at - CONTEXT), fork.at).join(""), isMath).trim();
    const kind = kindOf(fork);
    this.fork.replaceChildren(
      html("p", {}, [
        before ? `After “…${before}” they differ: ` : "At the first token they differ: ",
        html("b", {}, fork.llm.isRight === null ? UNTRIED[kind] : WHY[kind]),
      ]),
      ...this.#way("SLM", fork.slm, isMath),
      ...this.#way("LLM", fork.llm, isMath),
    );
  }

  /** @param {string} who @param {Fork["slm"]} way @param {boolean} isMath */
  #way(who, { text, ending, answer, isRight }, isMath) {
    const rest = ending === null ? "" : `…${spelled(ending, isMath)}`;
    const verdict = isRight === null ? "" : `${isRight ? "✓" : "✗"} ${answer ?? "no answer"}`;
    return [
      html("span", { class: "cv-muted" }, who),
      html("span", { class: `cb-tried cb-by-${who.toLowerCase()}` }, visibleText(text)),
      html("span", { class: "cb-ending" }, rest),
      html("span", { class: isRight ? "cb-right" : "cb-wrong" }, verdict),
    ];
  }

  /** @param {number} n labelled problems */
  #drawAll(n) {
    const counts = this.labelled.map(countsOf);
    const all = { llm: 0, both: 0, neither: 0, slm: 0 };
    for (const one of counts) for (const kind of /** @type {ForkKind[]} */ (Object.keys(all))) all[kind] += one[kind];
    const nForks = all.llm + all.both + all.neither + all.slm;
    const digits = this.labelled.reduce(
      (sum, one) => sum + (one?.forks.filter((fork) => kindOf(fork) === "llm" && /\d/.test(fork.llm.text)).length ?? 0),
      0,
    );
    this.sofar.replaceChildren(
      ...(n
        ? [
            "Of ",
            html("b", {}, plural(nForks, "place")),
            " where the models differ, ",
            html("b", { class: "cb-llm-ink" }, `${all.llm} ${all.llm === 1 ? "needs" : "need"} the LLM`),
            all.llm ? `; ${digits} of them ${digits === 1 ? "is a digit" : "are digits"}.` : ".",
          ]
        : []),
    );
    const size = this.problems.length;
    const most = Math.max(1, ...counts.map((one) => one.llm + one.both + one.neither + one.slm));
    const bar = (/** @type {number} */ from, /** @type {number} */ to) =>
      `V${BAR - (to / most) * BAR}h.76V${BAR - (from / most) * BAR}`;
    const column = (/** @type {number} */ i, /** @type {number} */ from, /** @type {number} */ to) =>
      to > from ? `M${i + 0.12} ${BAR - (from / most) * BAR}${bar(from, to)}z` : "";
    const rest = counts.map((one) => one.both + one.neither + one.slm);
    this.strip.setAttribute("viewBox", `0 0 ${Math.max(1, size)} ${BAR + 4}`);
    this.strip.replaceChildren(
      svg("rect", { class: "cb-here", x: this.at, y: 0, width: 1, height: BAR + 4 }),
      svg("path", {
        class: "cb-todo",
        d: this.labelled.map((one, i) => (one ? "" : `M${i + 0.12} ${BAR}h.76v2h-.76z`)).join(""),
      }),
      svg("path", { class: "cb-rest", d: rest.map((count, i) => column(i, 0, count)).join("") }),
      svg("path", { class: "cb-needs", d: counts.map((one, i) => column(i, rest[i], rest[i] + one.llm)).join("") }),
    );
    const words = `problem ${this.at + 1} of ${size}, ${plural(counts[this.at]?.llm ?? 0, "label")} for the LLM`;
    for (const [name, value] of Object.entries({
      valuemin: 1,
      valuemax: size,
      valuenow: this.at + 1,
      valuetext: words,
    }))
      this.strip.setAttribute(`aria-${name}`, String(value));
    this.key.replaceChildren(
      ...(n
        ? Object.entries(KINDS).map(([kind, name]) =>
            html("span", {}, [
              html("i", { class: `cb-t cb-slm cb-at-${kind}`, "aria-hidden": "true" }),
              html("b", {}, String(all[/** @type {ForkKind} */ (kind)])),
              ` ${name}`,
            ]),
          )
        : [`${plural(size, "problem")}, none labelled yet`]),
    );
  }

  /** @param {EventTarget|null} target */
  #picked(target) {
    const node = target instanceof Element ? target.closest("[data-i]") : null;
    const at = node instanceof HTMLElement ? Number(node.dataset.i) : -1;
    if (!this.labelled[this.at]?.forks.some((fork) => fork.at === at)) return;
    [this.pinned, this.isChosen] = [at, true];
    this.#drawFork();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const places = (this.labelled[this.at]?.forks ?? []).map(({ at }) => at);
    const now = places.indexOf(this.pinned ?? -1);
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: places.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const at = places[Math.max(0, Math.min(places.length - 1, to))];
    if (at === undefined) return;
    [this.pinned, this.isChosen] = [at, true];
    this.#drawFork();
    this.nodes?.[at]?.focus();
  }

  /** @param {MouseEvent} event */
  #stripped(event) {
    const { left, width } = this.strip.getBoundingClientRect();
    this.choose(Math.floor(((event.clientX - left) / width) * this.problems.length));
  }

  /** @param {KeyboardEvent} event */
  #moved(event) {
    const page = Math.max(1, Math.round(this.problems.length / 10));
    /** @type {Record<string, number>} */
    const moves = {
      ArrowRight: this.at + 1,
      ArrowUp: this.at + 1,
      ArrowLeft: this.at - 1,
      ArrowDown: this.at - 1,
      PageUp: this.at + page,
      PageDown: this.at - page,
      Home: 0,
      End: this.problems.length - 1,
    };
    if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.choose(moves[event.key]);
  }
}
