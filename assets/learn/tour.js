/**
 * The tour: a card that names one thing to do on the page, waits until it has been done, and then for "Next": what was
 * done is to be seen first.
 *
 * It never covers the page with a veil and never takes the focus once it runs: the page stays what it is. Each step can
 * be skipped, Escape on the card ends it, F6 goes between the card and the thing that it is about. Nothing is
 * remembered.
 */

import { html, plainButton, setText, stylesheet } from "../viewer/dom.js";

/**
 * The steps of the tour: what to do, where, and how to see that it has been done.
 *
 * @typedef {ReturnType<typeof lookAt>} PageLook
 *
 * @typedef {Object} TourStep
 * @property {string} title
 * @property {string} text
 * @property {string} target selector of what the step is about
 * @property {string} focus selector, inside the target, of what "Go there" puts the keyboard on
 * @property {(now: PageLook, start: PageLook) => boolean} [isDone] of two `lookAt`s: now, and when the step began
 * @property {string} [click] a click inside this selector ends the step
 * @property {boolean} [besideSide] it speaks of the inspector or of tau, so the card stands at the other side; where
 *   they are a bar at the foot, they are hidden in other steps
 */

/** What the steps look at. @param {Page} page */
function lookAt(page) {
  /** @param {string} selector */
  const find = (selector) => /** @type {HTMLElement|null} */ (document.querySelector(selector));
  const pinned = find(".citer-viewer .cv-t[data-pinned]");
  return {
    isPlaying: find('.cv-play[aria-label="Pause"]') !== null,
    filter: find('.cv-legend [aria-pressed="true"]')?.textContent ?? "",
    pinned: pinned?.dataset.i ?? null,
    pinnedLlm: pinned?.classList.contains("cv-llm") ?? false,
    tau: /** @type {HTMLInputElement|null} */ (find("#cx-tau input[type=number]"))?.value,
    unit: find('.cv-chart [aria-pressed="true"]')?.textContent ?? "",
    run: page.run,
    labelsOpen: document.body.dataset.view === "labels",
  };
}

/** @type {TourStep[]} */
export const TOUR_STEPS = [
  {
    title: "Play a recorded run",
    text:
      "Press the play button under the text, or one of the cards further down. Underlined orange tokens are the " +
      "large model’s (LLM), plain ones the small model’s (SLM).",
    target: ".cv-main",
    focus: ".cv-play",
    click: ".cx-preset, .cv-play",
    isDone: (now, start) => now.isPlaying && !start.isPlaying,
  },
  {
    title: "See who wrote what",
    text: "The legend is a filter. Press “LLM” in it to keep only what the large model wrote.",
    target: ".cv-legend",
    focus: ".cv-key-button:nth-of-type(2)",
    isDone: (now, start) => now.filter !== start.filter,
  },
  {
    title: "Pin a token",
    text:
      "Press a token, or reach the text with Tab and press Enter. It stays chosen, and the inspector " +
      "describes it.",
    target: ".cv-text-scroller",
    focus: ".cv-t[tabindex]",
    besideSide: true,
    isDone: (now, start) => now.pinned !== null && now.pinned !== start.pinned,
  },
  {
    title: "Go to a token of the LLM",
    text:
      "Press an underlined token, or ] on the keyboard. The inspector, beside the text or below it, " +
      "shows the router’s confidence, τ, and what each model would have written.",
    target: ".cv-text-scroller",
    focus: ".cv-t[tabindex]",
    besideSide: true,
    isDone: (now, start) => now.pinnedLlm && now.pinned !== start.pinned,
  },
  {
    title: "Move the threshold",
    text:
      "Drag τ, or press the arrow keys on it. Decisions recolour at once. Where both models would " +
      "write the same token the text stays as it is. From the first token that differs, the bundled pair " +
      "writes it again in your browser; another pair’s text is hatched there.",
    target: ".cx-tau-group",
    focus: "#cx-tau input[type=range]",
    besideSide: true,
    isDone: (now, start) => now.tau !== start.tau,
  },
  {
    title: "Read what it costs",
    text: "The purple line is an estimate beside either model alone. Switch the chart to FLOPs or seconds.",
    target: ".cv-chart",
    focus: ".cv-segment:last-child",
    isDone: (now, start) => now.unit !== start.unit,
  },
  {
    title: "Write one yourself",
    text:
      "Change the problem if you like, then press Generate. Both models of the pair that is loaded run now, " +
      "token by token.",
    target: "#cx-controls",
    focus: "#cx-generate",
    // A short run may be over between two looks.
    isDone: (now, start) => now.run !== null && now.run !== start.run,
  },
  {
    title: "Was the router right?",
    text:
      "Open the view Labels: a known right solution, read by both models, shows which tokens needed the " +
      "large one and which the router missed.",
    target: ".cx-header",
    focus: "#cx-menu, [data-view=labels]",
    isDone: (now, start) => now.labelsOpen && !start.labelsOpen,
  },
  {
    title: "Take it with you",
    text:
      "Press Copy link for an address that opens this run, τ and token again. In Explore the run can be saved " +
      "too, at the foot of the page, for instance as a page that needs no server.",
    target: ".cx-header",
    focus: "#cx-menu, #cx-copy-link",
    click: "#cx-copy-link, .cx-export",
  },
];

const LOOK_EVERY_MS = 150;

/** @type {Tour|null} */
let runningTour = null;

/**
 * Whether a box is whole in the window and nothing stands in its way.
 * @param {DOMRect} box @param {DOMRect[]} inTheWay
 */
function isClear({ left, top, right, bottom }, inTheWay) {
  if (top < 0 || bottom > innerHeight) return false;
  return inTheWay.every(
    (other) => other.right < left || other.left > right || other.bottom < top || other.top > bottom,
  );
}

class Tour {
  /** @type {Element|null} */
  here = null;
  /** @type {PageLook|null} */
  start = null;
  isNext = false;
  /** Where on the page the target stood when it was last brought into sight. */
  stood = 0;

  /** @param {Page} page @param {HTMLElement|null} returnTo */
  constructor(page, returnTo) {
    this.page = page;
    this.returnTo = returnTo;
    this.index = -1;
    this.place = html("p", { class: "ct-place" });
    this.title = html("h2", { class: "ct-title", tabindex: "-1", id: "ct-title" });
    this.text = html("p", { class: "ct-text" });
    this.goThere = plainButton("Go there", "ct-button", () => this.focusTarget());
    // A pointer that presses it leaves the keyboard where it was: on the page.
    const onmousedown = (/** @type {Event} */ event) => event.preventDefault();
    this.skip = plainButton("Skip this step", "ct-button", () => this.next(), { onmousedown });
    this.leave = plainButton("End the tour", "ct-button", () => this.end());
    this.root = html(
      "section",
      { class: "citer-tour", role: "dialog", "aria-modal": "false", "aria-labelledby": "ct-title" },
      html("div", { "aria-live": "polite", class: "ct-words" }, this.place, this.title, this.text),
      html("div", { class: "ct-buttons" }, this.goThere, this.skip, this.leave),
      html("p", { class: "ct-keys" }, "F6 goes between this card and the page, Esc here ends the tour."),
    );
    this.abort = new AbortController();
    const { signal } = this.abort;
    document.addEventListener("click", (event) => this.clicked(event), { signal, capture: true });
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    document.body.append(this.root);
    document.body.classList.add("cx-touring");
    this.next();
    this.title.focus({ preventScroll: true });
  }

  /** @returns {TourStep|undefined} */
  get step() {
    return TOUR_STEPS[this.index];
  }

  next() {
    this.isNext = false;
    setText(this.skip, "Skip this step");
    this.index++;
    this.here?.classList.remove("cx-tour-here");
    this.here = null;
    if (!this.step) {
      this.finish();
      return;
    }
    // A text that is being played would pull the page of a phone to itself, away from what this step is about.
    const { playback } = this.page.viewer;
    if (this.index > 0 && playback.isPlaying) playback.scrub(playback.n);
    this.start = lookAt(this.page);
    setText(this.place, `Step ${this.index + 1} of ${TOUR_STEPS.length}`);
    setText(this.title, this.step.title);
    setText(this.text, this.step.text);
    this.root.dataset.step = String(this.index + 1);
    this.root.dataset.beside = this.step.besideSide ? "text" : "side";
    document.body.classList.toggle("cx-tour-alone", !this.step.besideSide);
    this.here = document.querySelector(this.step.target);
    this.here?.classList.add("cx-tour-here");
    this.scrollTo();
  }

  /** The card covers the foot of the window, so the target goes to the middle of what is left above it. */
  scrollTo() {
    if (!this.here) return;
    // On a phone tau stands in a bar at the foot, which goes above the card; it is in sight wherever the page is.
    const bar = document.querySelector("#cx-side");
    const isBar = bar instanceof HTMLElement && getComputedStyle(bar).position === "fixed";
    document.body.style.setProperty("--ct-height", `${this.root.offsetHeight + 8}px`);
    let box = this.here.getBoundingClientRect();
    this.stood = box.top + scrollY;
    if (isBar && bar.contains(this.here)) return;
    const inTheWay = [this.root, ...(isBar ? [bar] : [])].map((node) => node.getBoundingClientRect());
    if (isClear(box, inTheWay)) return;
    const room = innerHeight - this.root.offsetHeight - 24 - (isBar ? bar.offsetHeight : 0);
    // On a small window a card of controls is taller than that: then what is to be pressed goes there.
    const inside = box.height < room ? null : this.inside();
    if (inside) box = inside.getBoundingClientRect();
    const top = box.height < room ? (room - box.height) / 2 : 12;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    scrollBy({ top: box.top - top, behavior: calm ? "auto" : "smooth" });
  }

  look() {
    // A text that is being written pushes down what stands below it.
    const top = this.here ? this.here.getBoundingClientRect().top + scrollY : this.stood;
    if (!this.isNext && Math.abs(top - this.stood) > 4) this.scrollTo();
    if (this.start && this.step?.isDone?.(lookAt(this.page), this.start)) this.done();
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    if (this.step?.click && event.target instanceof Element && event.target.closest(this.step.click)) this.done();
  }

  done() {
    if (this.isNext) return;
    this.isNext = true;
    setText(this.place, `Step ${this.index + 1} of ${TOUR_STEPS.length}: done ✓`);
    setText(this.skip, "Next");
  }

  /** What "Go there" puts the keyboard on, where the step names it: the first that can be seen. */
  inside() {
    const { focus } = this.step ?? {};
    const found = focus ? [...(this.here?.querySelectorAll(focus) ?? []), ...document.querySelectorAll(focus)] : [];
    return found.filter((node) => node instanceof HTMLElement).find((node) => node.offsetParent !== null) ?? null;
  }

  focusTarget() {
    const { step } = this;
    if (!step || !this.here) return;
    /** @type {HTMLElement|null} */
    const target =
      this.inside() ??
      (this.here instanceof HTMLButtonElement ? this.here : document.querySelector(".citer-viewer .cv-t[tabindex]"));
    target?.focus({ preventScroll: true });
    this.scrollTo();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key === "F6") {
      event.preventDefault();
      if (this.root.contains(document.activeElement)) this.focusTarget();
      else this.skip.focus();
    } else if (event.key === "Escape" && this.root.contains(document.activeElement)) this.end();
  }

  finish() {
    setText(this.place, "");
    setText(this.title, "That was the tour");
    setText(
      this.text,
      "The view Learn has more: guess the tokens that need the large model, the formulas with this " +
        "run’s numbers, and a glossary.",
    );
    this.root.dataset.step = "end";
    this.goThere.hidden = this.skip.hidden = true;
    setText(this.leave, "Close");
  }

  end() {
    clearInterval(this.timer);
    this.abort.abort();
    this.here?.classList.remove("cx-tour-here");
    document.body.classList.remove("cx-touring", "cx-tour-alone");
    document.body.style.removeProperty("--ct-height");
    const hadFocus = this.root.contains(document.activeElement);
    this.root.remove();
    runningTour = null;
    if (hadFocus) this.returnTo?.focus();
  }
}

/**
 * Starts the tour, anew where one is running; the focus goes back to `returnTo` when it ends.
 * @param {Page} page
 * @param {HTMLElement|null} [returnTo]
 */
export async function startTour(page, returnTo = null) {
  await stylesheet(new URL("./learn.css", import.meta.url).href);
  runningTour?.end();
  runningTour = new Tour(page, returnTo);
  return runningTour;
}
