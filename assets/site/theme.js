/** The visitor's theme, before anything is drawn. */

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark", dark.matches);
paint();
dark.addEventListener("change", paint);
