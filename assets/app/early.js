/**
 * The opening run's text before the page is there: one reads it while the page's script is on its way.
 *
 * A script in the document (`citer_core/ui/document.py`), with the text as data beside it. Must not know more of the
 * viewer than how it writes a token; `page.js` takes the text away at the moment in which the run itself is seen in its
 * place.
 *
 * @typedef {{question: string, is_math: boolean, tokens: [string, "slm"|"llm", boolean][]}} EarlyRun each token with
 *   who wrote it and whether it is decisive
 */

import { SPACED, fillTokenText, spellTex } from "../viewer/text.js";
import { html } from "../viewer/dom.js";
import { RUN_KEY, keptSize, tabStorage, useSize, wantsDark } from "../viewer/kept.js";

/** @param {EarlyRun} run */
function early({ question, is_math, tokens }) {
  /** @type {HTMLElement[]} */
  const nodes = [];
  for (const [text, writer, isDecisive] of tokens) {
    const node = html("span", { class: `cv-t cv-${writer}${isDecisive ? " cv-decisive" : ""}` });
    if (text === "") node.dataset.mark = nodes.length + 1 === tokens.length ? "end" : "•";
    else if (!is_math || !spellTex(node, text, nodes.at(-1))) fillTokenText(node, text);
    if (text === "") node.classList.add("cv-empty");
    nodes.push(node);
  }
  const spaced = tokens.some(([text]) => SPACED.test(text)) ? " cv-spaced" : "";
  const text = html("div", { class: "citer-look" }, [
    html("div", { class: "cv-question-block" }, html("p", { class: "cv-question cv-clamped" }, question)),
    html("div", { class: "cv-text-scroller" }, html("div", { class: `cv-text${spaced}` }, ...nodes)),
  ]);
  return html("div", { id: "cx-early", class: "cx-main", "aria-hidden": "true" }, [
    html("div", { class: "cx-early-run" }, text),
  ]);
}

document.body.classList.toggle("dark", wantsDark(document.body.classList.contains("dark")));
useSize(keptSize());
// An address that names something opens with that, and a tab with a run of its own with its run.
if (!location.search && !location.hash && !tabStorage()?.getItem(RUN_KEY))
  document.currentScript?.before(early(JSON.parse(document.getElementById("cx-early-run")?.textContent ?? "")));
