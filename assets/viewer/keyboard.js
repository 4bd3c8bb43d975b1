/**
 * Keys of the viewer. Must not know what they do: it turns a key event into the name of an action.
 *
 * Only events from inside the viewer reach it, so the page's own keys are never taken.
 */

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
