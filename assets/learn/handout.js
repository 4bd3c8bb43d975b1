/**
 * A lesson's handout: two pages A4 with the run, the formulas with its numbers and five exercises, and solutions on a
 * third. In place of the page, for the browser to print.
 *
 * Must not compute: numbers come from `handout_numbers.js`, `formulas.js` and the view Evidence.
 */

import { html, plainButton } from "../viewer/dom.js";
import { formatTau } from "../run/format.js";
import { visibleText } from "../viewer/text.js";
import { exercises } from "./handout_exercises.js";
import { formulaRows } from "./formulas.js";
import { printedConfidence } from "./handout_numbers.js";

/**
 * @typedef {import("./lesson_file.js").Lesson} Lesson
 * @typedef {import("./handout_exercises.js").PaperFacts} PaperFacts
 * @typedef {import("../viewer/dom.js").Part} Part
 */

const ROOM_MM = 1300; // of all lines of the run that fit on the first page, with the formulas
const TOKEN_MM = 6.5;
const LETTER_MM = 2.4;

/** @param {number} confidence */
const confidenceWords = (confidence) =>
  confidence >= 1 ? "1" : printedConfidence(confidence).toFixed(2).replace(/^0/, "");

/** @param {string} label @param {string} right @param {string} foot @param {string} place @param {...Part} parts */
const sheet = (label, right, foot, place, ...parts) =>
  html("section", { class: "ho-sheet", "aria-label": label }, [
    html("div", { class: "ho-head" }, html("b", {}, "CIT", html("i", {}, "ER")), html("span", {}, right)),
    ...parts,
    html("p", { class: "ho-foot" }, html("span", {}, foot), html("span", {}, place)),
  ]);

/** @param {TokenEvent} event @param {number} i */
function token(event, i) {
  const { text, source, slm_confidence: confidence, slm_top: top } = event;
  const isDecisive = source === "llm" && event.slm_token_id !== event.token_id;
  const wanted = isDecisive ? top?.find(([id]) => id === event.slm_token_id)?.[1] : undefined;
  const look = `ho-token${source === "llm" ? " ho-llm" : ""}${i && /^\s/.test(text) ? " ho-apart" : ""}`;
  return html("span", { class: look }, [
    html("b", {}, text.trim() ? visibleText(text.trim()) : text ? "␣" : "▪"),
    html("small", {}, confidenceWords(confidence)),
    html("i", {}, wanted === undefined ? (isDecisive ? "other" : "") : visibleText(wanted.trim())),
  ]);
}

/** @param {PaperFacts} facts */
function runPage({ view }) {
  const { events, series } = view;
  const totals = series.totals();
  const { prompt, pair } = /** @type {TraceHead} */ (view.head);
  let used = 0;
  const end = events.findIndex(({ text }) => (used += Math.max(TOKEN_MM, LETTER_MM * text.length)) > ROOM_MM);
  const shown = events.slice(0, end < 0 ? events.length : end);
  const key = [
    html("span", { class: "ho-token ho-llm" }, html("b", {}, "7")),
    ` written by the LLM (${totals.nLlmTokens} of ${totals.nTokens}, τ = ${formatTau(view.runTau)})   `,
    html("span", { class: "ho-token" }, html("b", {}, "7")),
    " by the SLM   .08 its confidence, rounded down   ",
    html("i", { class: "ho-wanted" }, "Now"),
    " what the SLM wanted, where the LLM wrote another token",
  ];
  const more = events.length - shown.length;
  return sheet(
    "Page 1",
    "Name, or none: ____________________",
    `${pair.name}, recorded. Bytes are estimated by the page’s cost model.`,
    "1 / 2",
    html("h2", {}, "A small model writes. Where it would fail, a large one steps in."),
    html("p", {}, [
      "For each next token the small model (SLM) proposes, and a router says how sure it is that this will do: the " +
        "confidence, from 0 to 1. If it is below τ, the large model (LLM) writes the token. It first reads, in one " +
        "pass, all tokens since its last call: the catch-up. Then the SLM goes on.",
    ]),
    html("p", { class: "ho-question" }, prompt.question),
    html("div", { class: "ho-run" }, shown.map(token), more ? html("span", {}, `… ${more} more`) : null),
    html("p", { class: "ho-key" }, key),
    html("h3", {}, "The formulas, with this run’s numbers"),
    html("table", { class: "ho-formulas" }, [
      html(
        "tbody",
        {},
        formulaRows(view).map(([name, formula, numbers]) =>
          html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, formula), html("td", {}, numbers)),
        ),
      ),
    ]),
  );
}

/** @param {PaperFacts} facts */
function exercisePages(facts) {
  const all = exercises(facts);
  /** @param {"ask"|"solve"} what */
  const list = (what) =>
    html(
      "ol",
      {},
      all.map((one) => html("li", {}, html("b", {}, `${one.title}. `), one[what])),
    );
  return [
    sheet("Page 2", "Five exercises, 25 minutes", "Numbers of the run are those of page 1.", "2 / 2", list("ask")),
    sheet(
      "Solutions",
      "Solutions, for the teacher",
      `Exercise 4: ${facts.evidence.title}. Exercise 5: its recorded labels.`,
      "Solutions",
      list("solve"),
    ),
  ];
}

/**
 * Shows it in place of the page.
 * @param {Lesson} lesson @param {PaperFacts} facts
 */
export function showHandout({ id, title }, facts) {
  const pages = [runPage(facts), ...exercisePages(facts)];
  const solutions = html("input", {
    type: "checkbox",
    checked: true,
    onchange: () => (pages[2].hidden = !solutions.checked),
  });
  const tools = html("div", { class: "ho-tools" }, [
    plainButton("Print", "cx-quiet", () => print()),
    html("label", {}, solutions, " with solutions"),
    html("a", { href: `?lesson=${id}` }, "Back to the lesson"),
  ]);
  document.title = `CITER handout: ${title}`;
  document.body.classList.add("cx-handout");
  document.body.append(html("main", { class: "citer-handout" }, tools, ...pages));
}
