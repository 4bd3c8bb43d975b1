/** When the page does what can wait: in a task of its own, or once the page is used. Must not know what it does. */

// What a person, or a tool that stands for one, does before any choice on the page.
const SIGNS = ["pointermove", "pointerdown", "touchstart", "wheel", "keydown", "input", "click"];

/**
 * The first sign that a person uses the page: most only look, and need none of what they might choose.
 * @returns {Promise<void>}
 */
export function firstSign() {
  return new Promise((resolve) => {
    const seen = new AbortController();
    /** @param {Event} event */
    const end = ({ isTrusted }) => {
      if (!isTrusted) return; // the page's own scripts press and fill in too
      seen.abort();
      resolve();
    };
    for (const sign of SIGNS) addEventListener(sign, end, { signal: seen.signal, capture: true, passive: true });
  });
}

/** Ends the task, so that what a person does or sees need not wait for the next one. @returns {Promise<void>} */
export const nextTask = () => new Promise((resolve) => setTimeout(resolve));
