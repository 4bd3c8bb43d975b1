/** The visitor's theme, before anything is drawn: the first script of the body, whose class the sheets read. */

{
  const asked = new URLSearchParams(location.search).get("__theme"); // as Spaces and Gradio spell it
  const isDark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.body.classList.toggle("dark", isDark);
}
