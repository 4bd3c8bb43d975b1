/**
 * What gradio's tabs are elsewhere: a panel for each view, mounted when it is first opened. `page_views.js` presses the
 * buttons. Labels and results are those that the project stored when the site was made; comparisons are recorded ones,
 * and live ones of the bundled pair, which this browser writes.
 */

import { messageOf } from "../run/format.js";
import { allOf, html, part } from "../viewer/dom.js";
import { SiteComparison } from "./site_compare.js";

/**
 * @typedef {import("../compare/compare.js").CompareMessage} CompareMessage
 * @typedef {import("../compare/compare.js").StoredProblem} StoredProblem
 * @typedef {import("../compare/live_form.js").AskedComparison} AskedComparison
 * @typedef {Object} ViewProps
 * @property {Record<string, string>} labels addresses of stored labels, by their title
 * @property {string} evidence address of the stored results
 * @property {StoredProblem[]} comparisons recorded ones
 * @property {{device: DeviceSpec}} pricing
 * @property {string} plotly address
 */

/**
 * A stored message of a view, fetched into its properties.
 * @param {{value: string}} props @param {string} file @param {string} what for a message @param {() => void} changed
 */
async function read(props, file, what, changed) {
  try {
    const answer = await fetch(file);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    props.value = await answer.text();
  } catch (error) {
    const notice = `${what} could not be read (${messageOf(error)}). Open the view again, or reload the page.`;
    props.value = JSON.stringify({ notice, level: "error" });
  }
  changed();
}

/** @param {HTMLElement} panel @param {ViewProps} props */
async function openCompare(panel, { comparisons, pricing }) {
  const { mountCompare } = await import("../compare/compare.js");
  const shown = { value: "", device: pricing.device, problems: comparisons };
  /** @type {() => void} */
  let changed = () => {};
  let nTold = 0;
  const tell = (/** @type {CompareMessage} */ message) => {
    shown.value = JSON.stringify({ ...message, told: nTold++ }); // a view takes the same text once
    changed();
  };
  /** @type {SiteComparison|null} */
  let comparison = null;
  const compareStatus = async () => {
    const { browser, pairs } = /** @type {Page} */ (window.citer);
    const status = pairs.status ?? { state: "loading", message: "The page is still starting. Open this once more." };
    const { client } = browser;
    if (!client || !(await browser.load()))
      return { ...status, message: client?.why || status.message, thresholds: null };
    comparison ??= new SiteComparison(client, browser.book, tell);
    return { ...status, in_turn: false };
  };
  await mountCompare({
    element: panel,
    props: shown,
    server: { compare_status: compareStatus },
    watch: (_, act) => (changed = act),
    onAsk: (asked) => comparison?.ask(/** @type {AskedComparison} */ (asked)),
    onStop: () => comparison?.stop(),
  });
}

/** @param {HTMLElement} panel @param {ViewProps} props */
async function openEvidence(panel, { evidence, plotly }) {
  const { mountEvidence } = await import("../evidence/evidence.js");
  const shown = { value: "", plotly };
  /** @type {() => void} */
  let changed = () => {};
  await mountEvidence({
    element: panel,
    props: shown,
    watch: (_, act) => (changed = act),
    onOpen: () => read(shown, evidence, "The stored results", () => changed()),
  });
}

/** @param {HTMLElement} panel @param {ViewProps} props */
async function openLabels(panel, props) {
  const { mountLabels } = await import("../labels/labels.js");
  const stored = Object.entries(props.labels).map(([title, url]) => ({ title, url, pair: "Recorded" }));
  const said = html("p", { class: "cx-small", role: "status" });
  panel.prepend(said);
  await mountLabels({
    element: panel,
    props: { value: "", plotly: props.plotly, stored },
    watch: () => {},
    onOpen: () => {},
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
  const open = {
    compare: (panel) => openCompare(panel, props),
    labels: (panel) => openLabels(panel, props),
    evidence: (panel) => openEvidence(panel, props),
    learn: openLearn,
  };
  const panels = allOf("[data-panel]");
  for (const button of allOf("[data-opens]")) {
    button.addEventListener("click", () => {
      const name = button.dataset.opens ?? "";
      for (const panel of panels) panel.hidden = panel.dataset.panel !== name;
      const mount = open[name];
      delete open[name];
      const panel = part(document, `[data-panel="${name}"]`);
      mount?.(panel).catch((error) => panel.append(`The view could not be started: ${messageOf(error)}`));
    });
  }
}
