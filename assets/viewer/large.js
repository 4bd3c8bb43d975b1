/**
 * A panel as large as the window, and back again: one mechanism for all of them, one panel at a time.
 *
 * The panel stays where it is in the document, so its drawing goes on; `.cv-large` of viewer.css lays it over the
 * window and takes everything else from eyes, keys and screen readers. Must not know what is in a panel.
 */

import { button, svg } from "./dom.js";

const OUTWARD = "M9.5 2.5h4v4m0-4-5 5m-2 6h-4v-4m0 4 5-5";
const INWARD = "M13 7.5H8.5V3m0 4.5 5-5M3 8.5h4.5V13m0-4.5-5 5";

/** Brings back the panel that is large. @type {() => void} */
export let restoreLarge = () => {};

/**
 * The button of a panel, somewhere in it: the nearest element around it with the class `cv-panel` is the panel.
 * @param {string} name of the panel, to be read out
 */
export function largeButton(name) {
  const path = svg("path", { d: OUTWARD });
  const words = `${name}: as large as the window`;
  /** @param {boolean} isLarge */
  const press = (isLarge) => {
    own.setAttribute("aria-pressed", String(isLarge));
    path.setAttribute("d", isLarge ? INWARD : OUTWARD);
  };
  const onclick = () => {
    const panel = own.closest(".cv-panel");
    if (own.getAttribute("aria-pressed") === "true") restoreLarge();
    else if (panel instanceof HTMLElement) enlarge(panel, press);
  };
  const own = button("", "cv-enlarge", { "aria-label": words, title: words, "aria-pressed": "false", onclick });
  own.append(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, path));
  return own;
}

/**
 * @param {HTMLElement} panel
 * @param {(isLarge: boolean) => void} [told] when it is, and when it is no more: by Escape, or because it is not shown
 */
export function enlarge(panel, told = () => {}) {
  restoreLarge();
  const from = document.activeElement;
  // In the layer over the page no element around it holds it, whatever their styles are.
  panel.setAttribute("popover", "manual");
  panel.showPopover?.();
  const hidden = new ResizeObserver(() => panel.getClientRects().length || restoreLarge());
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    restoreLarge();
  };
  /** @param {boolean} isLarge */
  const set = (isLarge) => {
    panel.classList.toggle("cv-large", isLarge);
    document.body.classList.toggle("cv-behind", isLarge); // which tells charts to draw anew, too
    told(isLarge);
    dispatchEvent(new Event("resize"));
  };
  restoreLarge = () => {
    restoreLarge = () => {};
    hidden.disconnect();
    removeEventListener("keydown", pressed, true);
    panel.hidePopover?.();
    panel.removeAttribute("popover");
    set(false);
    if (from instanceof HTMLElement) from.focus({ preventScroll: true });
  };
  addEventListener("keydown", pressed, true);
  set(true);
  hidden.observe(panel);
}
