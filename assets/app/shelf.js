/**
 * A row of cards as one stop of the Tab key, with arrows between them, as in any toolbar: the problem is one
 * Tab away and not thirty.
 */

import { part } from "../viewer/dom.js";

/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/** @param {HTMLElement} row with buttons in it */
export function oneTabStop(row) {
  const cards = [...row.querySelectorAll("button")];
  /** @param {Element} stop */
  const stopAt = (stop) => cards.forEach((card) => (card.tabIndex = card === stop ? 0 : -1));
  stopAt(cards[0]);
  row.addEventListener("focusin", (event) => {
    const card = cards.find((candidate) => candidate === event.target);
    if (card) stopAt(card); // some browsers focus the row, because it scrolls
  });
  row.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const at = cards.findIndex((card) => card === event.target);
    if (step === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const place = at + step;
    cards[Math.max(0, Math.min(cards.length - 1, place))].focus();
  });
}

/**
 * One line of them, and a button for all. What the line has no room for is shown too when the keyboard goes there.
 * @param {HTMLElement} shelf with a row of cards and the button
 */
export function foldedShelf(shelf) {
  const [row, all] = [part(shelf, ".cx-presets"), part(shelf, "#cx-all-presets")];
  /** @param {boolean} isOpen */
  const unfold = (isOpen) => {
    shelf.toggleAttribute("data-open", isOpen);
    all.setAttribute("aria-expanded", String(isOpen));
  };
  all.addEventListener("click", () => unfold(!shelf.hasAttribute("data-open")));
  row.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && target.matches(":focus-visible") && target.offsetTop >= row.clientHeight)
      unfold(true);
  });
}
