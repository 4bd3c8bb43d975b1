/**
 * Light or dark, and the size of the routed text: two buttons of the header, remembered in this browser.
 *
 * Must not know what is drawn; both are settings that the sheets read.
 */

import { part } from "../viewer/dom.js";
import { SIZES, SIZE_KEY, THEME_KEY, keep, keptSize, useSize, wantsDark } from "../viewer/kept.js";

/** Wires both, as they were left. */
export function watchLook() {
  const theme = part(document, "#cx-theme");
  /** @param {boolean} isDark */
  const setDark = (isDark) => {
    document.body.classList.toggle("dark", isDark);
    theme.setAttribute("aria-pressed", String(isDark));
  };
  setDark(wantsDark(document.body.classList.contains("dark")));
  theme.addEventListener("click", () => {
    setDark(!document.body.classList.contains("dark"));
    keep(THEME_KEY, document.body.classList.contains("dark") ? "dark" : "light");
  });

  // Paper is white.
  let wasDark = false;
  addEventListener("beforeprint", () => {
    wasDark = document.body.classList.contains("dark");
    setDark(false);
  });
  addEventListener("afterprint", () => setDark(wasDark));

  const size = part(document, "#cx-size");
  let at = keptSize();
  const setSize = () => {
    useSize(at);
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
