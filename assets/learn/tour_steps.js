/**
 * The steps of the tour: what to do, where, and how to see that it has been done.
 *
 * Data and small predicates; must not know the card that shows them. A step looks at the page as a person does, through
 * what is drawn, so the viewer and the controls need no hooks for it.
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
export function lookAt(page) {
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
