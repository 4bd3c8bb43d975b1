/**
 * A person's own router at the tokens of the set that is shown: this browser's engine reads the known solutions and
 * asks it. Then the set has one router more, as if it had been recorded so.
 *
 * Must not know what is drawn of it.
 *
 * @typedef {import("./analysis.js").AnalysisMessage} AnalysisMessage
 */

import { isSamePair } from "../transport/engine_client.js";
import { html, options } from "../viewer/dom.js";

const AT_ONCE = 20; // problems; between two requests it says how far it is
const NOT_THESE = "A router of yours can be asked at the bundled pair's own problems: choose one of those sets.";

const NO_ENGINE = "This browser cannot run the models, so a router of yours cannot be asked in it.";

/** Float32 in base64, as recorded columns are. @param {Float32Array[]} parts */
const base64 = (parts) =>
  btoa(
    parts.map((part) => String.fromCharCode(...new Uint8Array(part.buffer, part.byteOffset, part.byteLength))).join(""),
  );

export class OwnRouter {
  /** @type {AnalysisMessage|null} the set that is shown, packed */
  message = null;

  /** @param {Page} page @param {import("./labels.js").Labels} labels */
  constructor(page, labels) {
    this.page = page;
    this.labels = labels;
    this.select = html("select", { class: "cl-select", onchange: () => this.add(this.select.value) });
    this.root = html("label", { class: "cl-field", hidden: true }, [
      html("span", { class: "cl-label" }, "Add a router of yours"),
      this.select,
    ]);
  }

  /** @param {AnalysisMessage} message what is shown */
  update(message) {
    this.message = message;
    const there = new Set(message.routers.map(({ name }) => name));
    const offered = [...this.page.browser.own].filter(([name]) => !there.has(name));
    this.root.hidden = offered.length === 0;
    this.select.replaceChildren(
      ...options([["", "none"], ...offered.map(([name, { label }]) => /** @type {const} */ ([name, label]))]),
    );
  }

  /** @param {string} name of a router of this tab */
  async add(name) {
    const { browser } = this.page;
    const { message } = this;
    const router = browser.own.get(name);
    if (!message || !router) return;
    this.select.value = ""; // the same one can be chosen again after an error
    this.labels.notice("Your router is asked at every token.");
    if (!(await browser.load())) return this.labels.notice(browser.client?.why || NO_ENGINE, "error");
    const texts = this.#textsOf(message);
    /** @type {Float32Array[]} */
    const parts = [];
    for (let at = 0; texts && at < texts.length; at += AT_ONCE) {
      const asked = { router: name, texts: texts.slice(at, at + AT_ONCE) };
      const { answer, error } = (await browser.client?.ask("confidences", asked)) ?? {};
      if (message !== this.message) return; // another set is shown by now
      if (!answer) return this.labels.notice(error ?? browser.client?.why ?? NOT_THESE, "error");
      parts.push(...answer);
      this.labels.notice(`Your router is asked at every token: ${parts.length} of ${texts.length} problems.`);
    }
    if (!parts.length || parts.some((part, k) => part.length !== message.problems[k].n))
      return this.labels.notice(NOT_THESE, "error");
    const { label, tau } = router;
    const routers = [...message.routers, { name, label, tau, prior: "" }];
    this.labels.added({ ...message, routers, confidence: { ...message.confidence, [name]: base64(parts) } }, name);
  }

  /** The problems as the engine reads them; null where one is not known here. @param {AnalysisMessage} message */
  #textsOf({ problems, pair_revision: revision }) {
    const { book, facts } = this.page.browser;
    if (revision !== undefined && !(facts && isSamePair(revision, facts.revision))) return null;
    const known = problems.map(({ question, kind }) => book.known(question, kind));
    const texts = known.flatMap((one) => (one?.solution ? [{ prompt: one.prompt, solution: one.solution }] : []));
    return texts.length === problems.length ? texts : null;
  }
}
