/** The visitor's theme, before anything is drawn: the first script of the body, whose class the sheets read. */

document.body.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
