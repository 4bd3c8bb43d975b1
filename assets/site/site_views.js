/**
 * What gradio's tabs are elsewhere: a panel for each view, mounted when it is first opened. `page_views.js` presses the
 * buttons. Labels are those that the project computed when the site was made.
 */

import { allOf, html, part } from "../viewer/dom.js";

/** @typedef {{labels: Record<string, string>, plotly: string}} ViewProps addresses of stored labels, by their title */

/** @param {HTMLElement} panel @param {ViewProps} props */
async function openLabels(panel, props) {
  const { mountLabels } = await import("../labels/labels.js");
  const said = html("p", { class: "cx-small", role: "status" });
  const choice = html("select", { class: "cx-quiet", "aria-label": "Labelled problems" });
  for (const [title, file] of Object.entries(props.labels)) choice.append(html("option", { value: file }, title));
  panel.prepend(html("p", { class: "cx-site-choice" }, choice, said));
  const shown = { value: "", plotly: props.plotly };
  /** @type {() => void} */
  let changed = () => {};
  const read = async () => {
    said.textContent = "Reading the labels.";
    try {
      const answer = await fetch(choice.value);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      shown.value = await answer.text();
      said.textContent = "";
      changed();
    } catch {
      said.textContent = "These labels could not be read. Try again.";
    }
  };
  choice.addEventListener("change", read);
  await mountLabels({
    element: panel,
    props: shown,
    watch: (_, act) => (changed = act),
    onOpen: read,
    onRollOut: () => (said.textContent = "Rolling out a branch needs the server: python app.py."),
    onFile: () => {},
  });
}

/** @param {HTMLElement} panel */
async function openLearn(panel) {
  const { mountLearn } = await import("../learn/learn.js");
  if (window.citer) mountLearn({ element: panel, page: window.citer });
}

/** @param {ViewProps} props */
export function openViews(props) {
  /** @type {Record<string, (panel: HTMLElement) => Promise<void>>} */
  const open = { labels: (panel) => openLabels(panel, props), learn: openLearn };
  const panels = allOf("[data-panel]");
  for (const button of allOf("[data-opens]")) {
    button.addEventListener("click", () => {
      const name = button.dataset.opens ?? "";
      for (const panel of panels) panel.hidden = panel.dataset.panel !== name;
      const mount = open[name];
      delete open[name];
      mount?.(part(document, `[data-panel="${name}"]`));
    });
  }
}
