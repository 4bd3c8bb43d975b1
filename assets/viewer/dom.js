/**
 * Two small element builders, and the parts that panels are built of. Strings become text nodes, never markup.
 *
 * Several children are one list: a tag, its attributes and the beginning of its children stand on one line then.
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @typedef {(event: any) => void} Listener
 * @typedef {Record<string, string|number|boolean|null|undefined|Listener|Record<string, string>>|null} Attributes those
 *   that are null or false are left out, true is an attribute without a value, a function listens: `onclick` to clicks;
 *   `style` has the names and values of properties
 * @typedef {string|Node|null|undefined} Part
 * @typedef {Part|Part[]} Child nothing stands for what is null; a list stands for what is in it
 */

/** @param {HTMLElement|SVGElement} node @param {Attributes} attributes */
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (typeof value === "object")
      for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * @template {HTMLElement|SVGElement} E
 * @param {E} node
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function build(node, attributes, children) {
  setAttributes(node, attributes);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * An HTML element: `html("p", {class: "cv-note"}, "text")`, `html("p", {class: "cv-note"}, ["text", otherNode])`.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function html(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes ?? null, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG_NAMESPACE, tag), attributes ?? null, children);
}

/**
 * Sets text only where it changed, so that an unchanged panel costs no layout.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Words in which what stands between backticks is code. @param {string} words @returns {(string|Node)[]} */
export const withCode = (words) =>
  words.split(/`([^`]+)`/).map((part, place) => (place % 2 ? html("code", {}, part) : part));

/**
 * A push button with a text label.
 * @param {string} label
 * @param {string} className
 * @param {Attributes} [attributes]
 */
export function button(label, className, attributes = {}) {
  return html("button", { type: "button", class: `cv-button ${className}`, ...attributes }, label);
}

/**
 * A push button of the page, which has no look of the viewer's.
 * @param {string} label
 * @param {string} className
 * @param {() => void} act
 * @param {Attributes} [more]
 */
export const plainButton = (label, className, act, more = {}) =>
  html("button", { type: "button", class: className, onclick: () => act(), ...more }, label);

/**
 * Names, each with what is said of it.
 * @param {string} look @param {(string|Node)[][]} rows @param {Attributes} [more]
 */
export const pairs = (look, rows, more) =>
  html(
    "dl",
    { class: look, ...more },
    rows.map(([name, said]) => html("div", {}, html("dt", {}, name), html("dd", {}, said))),
  );

/** @param {...Child} words */
export const caption = (...words) => html("p", { class: "cv-caption" }, ...words);

/** A part of a panel, with its heading. @param {string} title @param {...Child} children */
export const block = (title, ...children) =>
  html("div", { class: "cv-block" }, html("h3", { class: "cv-subheading" }, title), ...children);

/**
 * Puts new elements into a place; what had the keyboard has it again, by its `data-key`.
 * @param {Element} place @param {() => Node[]} make the elements, of which some may stand there now
 * @returns {boolean} false where it is not there any more
 */
export function refill(place, make) {
  const active = document.activeElement;
  const key = active instanceof HTMLElement && place.contains(active) ? active.dataset.key : undefined;
  place.replaceChildren(...make());
  if (key === undefined) return true;
  /** @type {HTMLElement|null} */
  const same = place.querySelector(`[data-key="${key}"]`);
  same?.focus();
  return same !== null;
}

/**
 * Of a text's tokens one has a role at a time, so a screen reader reads the rest as plain running text.
 * @param {HTMLElement} node @param {boolean} isPressed @param {string} label
 */
export const makeTabStop = (node, isPressed, label) =>
  setAttributes(node, { tabindex: 0, role: "button", "aria-pressed": String(isPressed), "aria-label": label });

/** @param {HTMLElement} node */
export function endTabStop(node) {
  for (const name of ["tabindex", "role", "aria-label", "aria-pressed"]) node.removeAttribute(name);
}

/** What a form does instead of leaving the page. @param {() => void} act */
export const instead = (act) => ({
  onsubmit: (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    act();
  },
});

/**
 * What a picture of a run listens to.
 * @param {(event: MouseEvent) => number|null} indexAt the token under the pointer
 * @param {{onHover: (index: number|null) => void, onPick: (index: number) => void}} on
 */
export const overTokens = (indexAt, { onHover, onPick }) => ({
  onpointermove: (/** @type {MouseEvent} */ event) => onHover(indexAt(event)),
  onpointerleave: () => onHover(null),
  onclick: (/** @type {MouseEvent} */ event) => {
    const index = indexAt(event);
    if (index !== null) onPick(index);
  },
});

/** What a select offers: each value with its name. @param {readonly (readonly [string|number, string])[]} choices */
export const options = (choices) => choices.map(([value, name]) => html("option", { value }, name));

/** All elements of the document that a selector names. @param {string} selector @returns {HTMLElement[]} */
export const allOf = (selector) =>
  [...document.querySelectorAll(selector)].filter((node) => node instanceof HTMLElement);

/**
 * A part that an element was made with.
 * @param {ParentNode} place
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function part(place, selector) {
  const found = place.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`There is no ${selector} here.`);
  return found;
}

/**
 * A stylesheet that is fetched when it is needed; once, however often it is asked for.
 * @param {string} href absolute
 * @returns {Promise<void>} when it is there, or cannot be had
 */
export function stylesheet(href) {
  const here = [...document.querySelectorAll("link")].some((link) => link.getAttribute("href") === href);
  if (here) return Promise.resolve();
  return new Promise((resolve) => {
    const link = html("link", { rel: "stylesheet", href });
    link.onload = link.onerror = () => resolve(undefined);
    document.head.append(link);
  });
}

/** Where the glossary has a word. @param {string} word */
export const wordId = (word) => `word-${word.toLowerCase().split(/[^a-z-]/)[0]}`;

/** Words in which those that few know lead to the glossary, on the page. @param {string} words */
export const withTerms = (words) =>
  words.split(/\b(shortcut|round)(?=s?\b)/).map((part, place) => (place % 2 ? term(part, "?view=learn") : part));

/** A word that leads to the glossary. @param {string} word @param {string} [glossary] its address, where it is */
export const term = (word, glossary) =>
  glossary ? html("a", { class: "cv-term", href: `${glossary}#${wordId(word)}` }, word) : word;
