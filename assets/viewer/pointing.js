/**
 * Pointer and keys over the text: hover previews, click pins, keys move. One delegated listener per kind of event.
 *
 * Glue between the viewer and its text panel; where a key leads is `navigate.js`'s. Only keys from inside the viewer
 * are heard, so the page's own are never taken.
 */

import { formatTau, probability } from "../run/format.js";
import { targetOf } from "../run/navigate.js";
import { visibleText } from "./text.js";

/** @type {Record<string, string>} */
const ACTIONS = {
  ArrowRight: "next",
  ArrowLeft: "previous",
  ArrowDown: "next",
  ArrowUp: "previous",
  "]": "nextLlm",
  "[": "previousLlm",
  ">": "nextDecisive",
  "<": "previousDecisive",
  "}": "nextHandOff",
  "{": "previousHandOff",
  ")": "nextLow",
  "(": "previousLow",
  "/": "search",
  f: "flip",
  Home: "first",
  End: "last",
  Escape: "unpin",
  " ": "play",
  Enter: "pin",
};

/** The action of a key event, or null where the focused control needs the key itself. @param {KeyboardEvent} event */
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  const action = ACTIONS[event.key] ?? null;
  const element = /** @type {Element|null} */ (event.target);
  const target = element && "closest" in element ? element : null; // a document has no such method
  if (!action || !target) return action;
  if (action === "unpin") return action;
  if (target.closest("input, select, textarea")) return null;
  if (target.closest("button") && (action === "play" || action === "pin")) return null;
  return action;
}

/**
 * @param {Viewer} viewer
 * @param {AbortSignal} signal ends the listening
 * @returns {(index: number|null, anchored: boolean) => void} hovers a token; `anchored` shows the tooltip at it
 */
export function listen(viewer, signal) {
  const { tokens, tooltip } = viewer;

  /** @param {number} index */
  const showTooltip = (index) => {
    const { view } = viewer;
    const event = view.events[index];
    tooltip.show(tokens.nodes[index], [
      {
        text: `${visibleText(event.text)}  ${view.decisions.isLlm[index] ? "LLM" : "SLM"}`,
        className: "cv-tooltip-title",
      },
      { text: `confidence ${probability(event.slm_confidence)}, τ ${formatTau(view.tauAt(index))}` },
    ]);
  };
  /** @param {number|null} index @param {boolean} anchored */
  const hover = (index, anchored) => {
    const { view } = viewer;
    if (index !== view.hovered) {
      view.hovered = index;
      viewer.focusChanged();
    }
    if (index === null || !anchored) tooltip.hide();
    else if (tooltip.anchor !== tokens.nodes[index]) showTooltip(index);
  };

  tokens.text.addEventListener(
    "pointerover",
    (event) => {
      if (event.pointerType !== "touch") hover(tokens.indexOf(event.target), true);
    },
    { signal },
  );
  tokens.text.addEventListener("pointerleave", () => hover(null, false), { signal });
  tokens.scroller.addEventListener("scroll", () => tooltip.hide(), { signal, passive: true });
  tokens.text.addEventListener(
    "click",
    (event) => {
      const index = tokens.indexOf(event.target);
      // The end of a drag that selects text is no choice of a token.
      if (index === null || getSelection()?.isCollapsed === false) return;
      viewer.pin(index === viewer.view.pinned ? null : index);
      viewer.flush();
      tokens.nodes[index].focus({ preventScroll: true });
      if (viewer.view.pinned !== null) tooltip.hide(); // the inspector says it all
    },
    { signal },
  );
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const action = actionOf(event);
    if (action && act(viewer, action, event)) event.preventDefault();
  };
  for (const part of viewer.parts) part.addEventListener("keydown", pressed, { signal });
  return hover;
}

/**
 * @param {Viewer} viewer
 * @param {string} action
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key was used
 */
function act(viewer, action, event) {
  const { view } = viewer;
  if (action === "play") {
    viewer.playback.toggle();
    return true;
  }
  if (action === "search") {
    viewer.tools.focus();
    return true;
  }
  if (action === "flip") return viewer.branching.flipPinned(view);
  if (action === "unpin") {
    viewer.tooltip.hide();
    if (view.pinned === null) return false;
    viewer.pin(null);
    return true;
  }
  if (view.shown < 1) return false;
  const next = targetOf(view, action, viewer.tokens.indexOf(event.target));
  if (next !== null) viewer.goTo(next);
  return true;
}
