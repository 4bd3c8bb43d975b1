/**
 * Light or dark, and the size of the routed text: two buttons of the header, remembered in this browser.
 *
 * Must not know what is drawn; both are settings that the sheets read.
 */

import { part } from "../viewer/dom.js";

const THEME_KEY = "citer-theme";
const SIZE_KEY = "citer-text-size";
const SIZES = [1, 1.2, 1.45];

/** @param {string} key @returns {string|null} */
function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Full, or not allowed here: the next page begins anew.
  }
}

/** Wires both, as they were left. */
export function watchLook() {
  const theme = part(document, "#cx-theme");
  /** @param {boolean} isDark */
  const setDark = (isDark) => {
    document.body.classList.toggle("dark", isDark);
    theme.setAttribute("aria-pressed", String(isDark));
  };
  const wanted = kept(THEME_KEY);
  setDark(wanted ? wanted === "dark" : document.body.classList.contains("dark"));
  theme.addEventListener("click", () => {
    setDark(!document.body.classList.contains("dark"));
    keep(THEME_KEY, document.body.classList.contains("dark") ? "dark" : "light");
  });

  const size = part(document, "#cx-size");
  let at = Math.max(0, SIZES.indexOf(Number(kept(SIZE_KEY))));
  const setSize = () => {
    document.documentElement.style.setProperty("--cv-size", String(SIZES[at]));
    const percent = Math.round(SIZES[at] * 100);
    size.setAttribute("aria-label", `Text size ${percent}%`);
    size.title = `Text size ${percent}%`;
  };
  setSize();
  size.addEventListener("click", () => {
    at = (at + 1) % SIZES.length;
    setSize();
    keep(SIZE_KEY, String(SIZES[at]));
  });
}
