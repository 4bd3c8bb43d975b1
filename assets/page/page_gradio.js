/**
 * Gradio's own controls, driven from our script: set a value as if a person had typed it, so that Gradio takes it over.
 *
 * The only file that knows how Gradio draws its components. Must not know runs or the viewer.
 */

import { SETTINGS_TABLE } from "../run/trace_schema.js";

/**
 * @param {HTMLInputElement|HTMLTextAreaElement} input
 * @param {string} value
 */
function assign(input, value) {
  // The prototype's setter: a framework may have put its own over the element's.
  const prototype = input instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  Object.getOwnPropertyDescriptor(prototype, "value")?.set?.call(input, value);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag what the element is
 * @param {string} selector
 * @returns {HTMLElementTagNameMap[K]|null}
 */
const find = (tag, selector) => {
  const element = document.querySelector(selector);
  return element?.localName === tag ? /** @type {HTMLElementTagNameMap[K]} */ (element) : null;
};

// What the page's script takes hold of when it starts; gradio draws its components one by one, in no fixed order.
const NEEDED = [
  "#cx-notice",
  "#cx-figures",
  "#cx-more",
  "#cx-own-tau",
  "#cx-tab-explore-button",
  "#cx-histogram",
  "#cx-device",
  "#cx-tau input[type=number]",
  "#cx-prompt textarea",
  "#cx-type input",
  "button#cx-generate",
  "button#cx-stop",
];
const LONG_ENOUGH_MS = 5000;
const SEARCH_WORDS = "Search: “museum”, “mc 12”";

/**
 * Waits until gradio has drawn the parts of the page that its script needs, and the document's sheets are in force;
 * where one does not come, for five seconds.
 * @param {boolean} hasCards whether there are recorded runs
 */
export async function pageDrawn(hasCards) {
  await Promise.all([partsDrawn(hasCards ? [...NEEDED, ".cx-preset"] : NEEDED), sheetsThere()]);
}

/** Gradio does not wait for the sheets that `early.js` has fetched in its place. */
async function sheetsThere() {
  /** @type {NodeListOf<HTMLLinkElement>} */
  const links = document.querySelectorAll("link[data-later]");
  const late = [...links].filter((link) => !link.sheet);
  const end = new Promise((resolve) => setTimeout(resolve, LONG_ENOUGH_MS));
  const ends = late.map((link) => new Promise((resolve) => (link.onload = link.onerror = resolve)));
  await Promise.race([Promise.all(ends), end]);
}

/** @param {string[]} needed @returns {Promise<void>} */
function partsDrawn(needed) {
  const isDrawn = () => needed.every((selector) => document.querySelector(selector));
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => isDrawn() && end());
    const timer = setTimeout(() => end(), LONG_ENOUGH_MS);
    const end = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve();
    };
    observer.observe(document.body, { childList: true, subtree: true });
    if (isDrawn()) end();
  });
}

/**
 * Moves the tau slider; its listeners hear of it. By its number field: the range itself knows only its own steps.
 * @param {number} tau
 */
export function setTau(tau) {
  const number = find("input", "#cx-tau input[type=number]");
  if (number && Number(number.value) !== tau) assign(number, String(tau));
}

/** @returns {number} where the slider stands, between two of its steps too */
export function readTau() {
  const typed = find("input", "#cx-tau input[type=number]")?.value;
  const isTyped = typed && Number(typed) >= 0 && Number(typed) <= 1; // else it is being typed, or will be refused
  return Number(
    isTyped ? typed : (find("input", "#cx-tau input[type=range]")?.value ?? SETTINGS_TABLE.threshold.default),
  );
}

/**
 * Puts a problem in the editor.
 * @param {string} question
 * @param {string} dataType
 */
export function setProblem(question, dataType) {
  const editor = find("textarea", "#cx-prompt textarea");
  if (editor && editor.value !== question) assign(editor, question);
  const radio = find("input", `#cx-type input[value="${dataType}"]`);
  if (radio && !radio.checked) radio.click();
}

/** Generate while idle, Stop while there is something to stop. @param {boolean} isRunning */
export function setRunning(isRunning, canStop = isRunning) {
  const generate = find("button", "button#cx-generate");
  const stop = find("button", "button#cx-stop");
  if (generate) generate.disabled = isRunning;
  if (stop) stop.disabled = !canStop;
}

/** Presses a button of Gradio's. @param {string} selector */
export const press = (selector) => find("button", selector)?.click();

/** Takes the run that has no id yet out of the queue. */
export const leaveQueue = () => find("button", "button#cx-cancel")?.click();

/** Some of Gradio's inputs have no name of their own for a screen reader. */
function nameInputs() {
  /** @param {string} selector @param {string} label */
  const name = (selector, label) => {
    for (const input of document.querySelectorAll(selector))
      if (!input.getAttribute("aria-label")) input.setAttribute("aria-label", label);
  };
  name("#cx-tau input", "Threshold τ");
  for (const input of document.querySelectorAll("#cx-picker input")) input.setAttribute("placeholder", SEARCH_WORDS);
}

/**
 * Gradio's drop-downs are search boxes: typing filters. It does not let a person begin anew, though: what is typed goes
 * behind the name that stands there, and a second press does not open the list again. Here a press selects the name and
 * opens the list, and one on the arrow of an open list closes it.
 * @param {MouseEvent} event
 */
function pressDropdown(event) {
  const frame = event.target instanceof Element ? event.target.closest(".wrap-inner") : null;
  const input = frame?.querySelector("input[role=combobox]");
  if (!(input instanceof HTMLInputElement) || input.disabled || event.button !== 0) return;
  const isFocused = document.activeElement === input;
  const isOpen = input.getAttribute("aria-expanded") === "true";
  const arrow = frame?.querySelector(".icon-wrap")?.getBoundingClientRect();
  if (isFocused && isOpen) {
    // The text may be edited where it is pressed.
    if (!arrow || event.clientX < arrow.left) return;
    event.preventDefault();
    input.blur();
    return;
  }
  event.preventDefault(); // which would put the cursor behind the name
  if (isFocused) input.blur(); // gradio opens the list when the focus comes
  input.focus();
  input.select();
}

/** What Gradio's inputs lack. */
export function readyInputs() {
  nameInputs();
  partsDrawn(["#cx-picker :is(input, select)"]).then(nameInputs); // nothing waits for it
  document.addEventListener("mousedown", pressDropdown);
}
