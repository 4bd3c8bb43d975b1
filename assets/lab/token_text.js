/**
 * A text as tokens, each with a look: the one way in which the Lab writes texts. Token text goes into text nodes only.
 */

import { html } from "../viewer/dom.js";
import { SPACED, fillTokenText, spellTex } from "../viewer/text.js";

/**
 * @param {HTMLElement} place is filled
 * @param {string[]} texts
 * @param {boolean} isMath whether signs of LaTeX are spelled
 * @param {(i: number) => string} lookOf classes
 * @returns {HTMLElement[]} one for each token
 */
export function writeTokens(place, texts, isMath, lookOf) {
  /** @type {HTMLElement[]} */
  const nodes = [];
  for (const [i, text] of texts.entries()) {
    const node = html("span", { class: `cb-t ${lookOf(i)}`, "data-i": i });
    if (text === "")
      node.dataset.mark = "•"; // the end of the text
    else if (!isMath || !spellTex(node, text, nodes[i - 1])) fillTokenText(node, i ? text : text.trimStart());
    nodes.push(node);
  }
  place.classList.toggle(
    "cb-spaced",
    texts.some((text) => SPACED.test(text)),
  );
  place.replaceChildren(...nodes);
  return nodes;
}
