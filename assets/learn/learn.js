/**
 * The Learn tab: ways in, lessons, predict-then-reveal, formulas, glossary. Puts the panels together; each knows
 * itself.
 */

import { html, plainButton, stylesheet, wordId } from "../viewer/dom.js";
import { FormulaPanel } from "./formulas.js";
import { GLOSSARY } from "./glossary.js";
import { lessonCard } from "./lesson_list.js";
import { PredictPanel, SlipPanel } from "./predict.js";
import { present } from "./presenter.js";
import { startTour } from "./tour.js";

const FORMULAS_EVERY_MS = 500;

/** @param {Page} page */
function waysIn(page) {
  const tour = plainButton("Take the tour", "cx-learn-button cx-learn-primary", () => startTour(page, tour));
  const show = plainButton("Present this run", "cx-learn-button", () => present(page, show));
  return html("section", { class: "cx-learn-card", "aria-labelledby": "cx-learn-ways" }, [
    html("h2", { id: "cx-learn-ways" }, "On this page"),
    html("p", { class: "cx-learn-small" }, [
      "The tour names nine things to do and goes on when you have done them. Presenting shows the run " +
        "alone in large type; every key is under ?.",
    ]),
    html("div", { class: "cx-learn-row" }, tour, show),
  ]);
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountLearn(panel, page) {
  await Promise.all(["./learn.css", "./lessons.css"].map((name) => stylesheet(new URL(name, import.meta.url).href)));
  const runs = page.recorded.cards.map((card) => ({
    file: card.dataset.file ?? "",
    takesBack: card.dataset.takesBack !== undefined,
    title: card.querySelector(".cx-preset-title")?.textContent ?? card.dataset.file ?? "",
  }));
  const formulas = new FormulaPanel(page.viewer);
  const glossary = html("section", { class: "cx-learn-card", "aria-labelledby": "cx-learn-words" }, [
    html("h2", { id: "cx-learn-words" }, "Glossary"),
    html(
      "dl",
      { class: "cx-glossary" },
      GLOSSARY.map(([word, meaning]) =>
        html("div", { id: wordId(word) }, html("dt", {}, word), html("dd", {}, meaning)),
      ),
    ),
  ]);
  const wanted = new URLSearchParams(location.search);
  const looking = runs.filter(({ takesBack }) => takesBack);
  const exercises = [new PredictPanel(runs, wanted), ...(looking.length ? [new SlipPanel(looking, wanted)] : [])];
  panel.replaceChildren(waysIn(page), lessonCard(), ...exercises.map(({ root }) => root), formulas.root, glossary);
  formulas.update();
  setInterval(() => {
    if (formulas.root.offsetParent && document.visibilityState === "visible") formulas.update();
  }, FORMULAS_EVERY_MS);
  return { inAddress: () => new URLSearchParams(Object.assign({}, ...exercises.map((one) => one.inAddress()))) };
}
