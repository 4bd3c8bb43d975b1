/**
 * A row of cards as one stop of the Tab key, with arrows between them, as in any toolbar: nobody presses Tab thirty
 * times to come to the problem.
 */

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
