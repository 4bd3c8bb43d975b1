/**
 * The Learn tab: ways in, lessons, predict-then-reveal, formulas, glossary. Puts the panels together; each knows
 * itself.
 */

import { html, plainButton, stylesheet, wordId } from "../viewer/dom.js";
import { FormulaPanel } from "./formulas.js";
import { lessonCard } from "./lesson_list.js";
import { PredictPanel, SlipPanel } from "./predict.js";
import { present } from "./presenter.js";
import { startTour } from "./tour.js";

/** The words of this page, each in a sentence or two. */
const GLOSSARY = [
  ["Token", "A piece of text that a model reads or writes at once: a word, a part of one, a digit, a space."],
  ["SLM", "The small language model. It reads every position and would like to write every token."],
  [
    "LLM",
    "The large language model. It writes a token only where it is asked, and first catches up on what it has not read.",
  ],
  ["Router", "A small network on the SLM’s hidden state. It says how likely it is that the SLM’s next token will do."],
  [
    "Confidence",
    "The router’s number from 0 to 1. High: leave it to the SLM. It is meant as if both models were to be preferred " +
      "as often, though the SLM nearly always is: at 0.5 the token’s state says nothing either way.",
  ],
  [
    "Threshold τ (tau)",
    "The LLM writes a token when confidence < τ. At 0 the SLM writes everything, at 1 the LLM does. In between, what " +
      "share the LLM writes depends on the router and the text; a router’s card lists it for each τ.",
  ],
  ["Hand-off", "A change of the writer from one token to the next."],
  ["Catch-up", "The tokens that the LLM reads before it writes one: everything since it was last asked, in one pass."],
  [
    "Look-back",
    "When the LLM catches up, it can say of each token that it reads how probable it was to it, at no further bytes. " +
      "With look-back it takes back the first one that is much less probable to it than its own choice, and all " +
      "behind it, writes its own token there, and the SLM goes on. The router decides when the LLM looks, the LLM " +
      "where it goes back. CITER takes nothing back; speculative decoding takes back every token that the LLM would " +
      "not have written.",
  ],
  [
    "KV cache",
    "What a model keeps of the tokens it has read, so that it need not read them again. Each model keeps its own.",
  ],
  [
    "Memory transfer",
    "Bytes moved from memory for one pass: the weights once, the cache read and written. On most " +
      "devices it decides the time of decoding.",
  ],
  ["Decisive token", "A token of the LLM where the SLM would have written another one. Only these change the text."],
  [
    "Replay",
    "The decisions of a finished run at another τ, from its recorded confidences. Exact up to the " +
      "first token that would differ, or where that is not known.",
  ],
  ["Flip", "A token whose writer would be the other model at the new τ."],
  [
    "May differ",
    "From the first token that would differ, or where that is not known, the text may be different. Drawn hatched, " +
      "unless this browser writes it again.",
  ],
  [
    "Case 1, 2, 3",
    "With a known right text: the SLM would write the right token (1), only the LLM would (2), neither would (3).",
  ],
  [
    "Label",
    "What a router learns: is the SLM’s token good enough here? Cases 1 and 2 answer it; case 3 " +
      "needs the SLM to go on to an answer.",
  ],
  [
    "Risk and waste",
    "A token that needs the LLM but is left to the SLM; a token that does not but is given to the LLM.",
  ],
  [
    "Shortcut",
    "How most labels come without a roll-out: where a known right text has the SLM’s token, prefer the SLM; else " +
      "where it has the LLM’s, prefer the LLM. It takes another wording for a mistake.",
  ],
  [
    "Round",
    "One training of a router. In the next one, the router of the last decides who goes on in the roll-outs, and a " +
      "new one learns from what they find.",
  ],
  [
    "Nats",
    "The unit of entropy with the natural logarithm: 0 where a model is sure of its token, 0.69 for an even choice " +
      "of two.",
  ],
  ["Roll-out", "Letting the models go on from one token to an answer, to see whether it comes out right."],
];

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
