/**
 * The opening run's text before the page is there: one reads it while Gradio and the page's script are on their way.
 *
 * A script in the document (`ui/document.py`), with the text as data beside it. Must not know of Gradio more than that
 * it has a script, nor of the viewer more than how it writes a token; `page.js` takes the text away at the moment in
 * which the run itself is seen in its place.
 *
 * @typedef {{question: string, is_math: boolean, tokens: [string, "slm"|"llm", boolean][]}} EarlyRun each token with
 *   who wrote it and whether it is decisive
 */

import { SPACED, fillTokenText, spellTex } from "../viewer/text.js";
import { html } from "../viewer/dom.js";
import { RUN_KEY, keptSize, tabStorage, useSize, wantsDark } from "./kept.js";

const NO_FILES = '{"scripts": [], "sheets": []}';
const HIDDEN_MS = 300; // a tab that nobody sees paints nothing

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
  const name = html("span", { class: "cx-name" }, "CIT", html("span", { class: "cx-llm" }, "ER"));
  const text = html(
    "div",
    { class: "citer-look" },
    html("div", { class: "cv-question-block" }, html("p", { class: "cv-question cv-clamped" }, question)),
    html("div", { class: "cv-text-scroller" }, html("div", { class: `cv-text${spaced}` }, ...nodes)),
  );
  const first = [html("div", { class: "cx-header" }, name), html("div", { class: "cx-early-run" }, text)];
  const isDark = wantsDark(matchMedia("(prefers-color-scheme: dark)").matches);
  const look = html("div", { class: "gradio-container" }, html("div", { class: "main fillable" }, ...first));
  return html("div", { id: "cx-early", class: isDark ? "dark" : null, "aria-hidden": "true" }, look);
}

/** What the text does not need: Gradio's script, its files (it asks for them level after level), the other sheets. */
function addTheRest() {
  /** @type {{scripts: string[], sheets: string[]}} */
  const { scripts, sheets } = JSON.parse(document.getElementById("cx-gradio-files")?.textContent ?? NO_FILES);
  for (const link of document.querySelectorAll("link[data-later]")) link.setAttribute("rel", "stylesheet");
  // Gradio looks for a link before it adds one. These load nothing: one sheet has what all of them have.
  for (const name of sheets) {
    document.head.append(html("link", { rel: "stylesheet", href: `./assets/${name}`, disabled: "" }));
  }
  for (const link of document.querySelectorAll("link[data-begins]")) {
    document.head.append(html("script", { type: "module", crossorigin: "", src: link.getAttribute("href") }));
  }
  for (const name of scripts) {
    document.head.append(html("link", { rel: "modulepreload", href: `./assets/${name}`, crossorigin: "" }));
  }
}

/**
 * Begins the rest once the text has been painted. It is on its way since the document's head; where it comes fast, its
 * work would otherwise be done before the first frame.
 */
function beginTheRest() {
  let hasBegun = false;
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    addTheRest();
  };
  requestAnimationFrame(() => setTimeout(begin));
  setTimeout(begin, HIDDEN_MS);
}

beginTheRest(); // first, so that nothing that is wrong with the text can hold it back
// An address that names something opens with that, and a tab with a run of its own with its run.
if (!location.search && !location.hash && !tabStorage()?.getItem(RUN_KEY)) {
  useSize(keptSize());
  document.body.append(early(JSON.parse(document.getElementById("cx-early-run")?.textContent ?? "")));
}
