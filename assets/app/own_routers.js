/**
 * Routers of a person's own: trained on this page, or opened from a file. They are offered beside the others, kept as
 * long as the tab is, and saved as the file that they came as. Loaded when it is asked for.
 *
 * Must not know how a router is trained, nor what it computes: the engine of this browser takes the file.
 */

import { packed, unpacked } from "../engine/packed_file.js";
import { checkRouterSize, readRouterFile } from "../engine/router_file.js";
import { TRAINING_FREE } from "../engine/routers.js";
import { excerpt } from "../run/gate.js";
import { messageOf } from "../run/format.js";
import { ownName } from "../run/own_router.js";
import { download } from "../share/page_export.js";
import { part, plainButton } from "../viewer/dom.js";
import { OWN_ROUTERS_KEY, keep, keptJson, tabStorage } from "../viewer/kept.js";

/**
 * @typedef {import("../compare/compare.js").Compare} Compare
 * @typedef {Object} OwnRouter
 * @property {string} label for lists
 * @property {number} tau to start from
 * @property {number[]} quantiles of its confidences on validation tokens
 * @property {ArrayBuffer} file
 */

const MOST = 8; // the oldest makes way
const NO_TAU = 0.7; // as for a stored router whose card recommends none
const BASELINE = "max-probability";
const CANNOT =
  "This browser cannot run the models, so a router cannot be used in it. Open the page in another browser.";

export class OwnRouters {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    const place = part(document, "#cx-router-file");
    this.file = /** @type {HTMLInputElement} */ (part(place, "input"));
    this.saving = plainButton("Save this router", "cx-quiet", () => this.save(page.form.router.value));
    place.after(this.saving);
    page.form.router.addEventListener("change", () => this.#showSaving());
    this.#restore();
    this.#offer();
  }

  /**
   * Takes in a router, which is then in the lists.
   * @param {Uint8Array} bytes of its file
   * @returns {Promise<{name: string, label: string}>}
   * @throws {Error} what is wrong with it, in words for a person
   */
  async add(bytes) {
    const { browser, link } = this.page;
    if (!browser.client) throw new Error(CANNOT);
    checkRouterSize(bytes.length);
    const file = bytes.slice().buffer;
    readRouterFile(file); // before the pair is loaded for it
    const isReady = await browser.load();
    const { answer, error } = isReady ? await browser.client.ask("add_router", file) : { answer: null, error: null };
    if (answer === null) throw new Error(error ?? browser.client.why);
    const name = this.#know(file);
    this.#offer();
    keep(OWN_ROUTERS_KEY, JSON.stringify([...browser.own.values()].map((own) => packed(own.file))), tabStorage());
    link.routerCame(name);
    return { name, label: this.#own(name).label };
  }

  /** The next run is asked of it. @param {string} name @param {number} [tau] */
  use(name, tau = this.#own(name).tau) {
    const { page } = this;
    page.form.router.value = name;
    page.routerChosen();
    page.moveTau(tau);
    this.#showSaving();
    page.views.toText();
  }

  /** Opens Compare, with it beside the baseline that needs no training. @param {string} name @param {number} [tau] */
  async compare(name, tau = this.#own(name).tau) {
    const { views, form } = this.page;
    const view = await views.opened("compare");
    const routers = [
      { router: name, threshold: tau },
      { router: BASELINE, threshold: TRAINING_FREE.get(BASELINE)?.defaultThreshold ?? NO_TAU },
    ];
    await /** @type {Compare} */ (view).fillForm({
      question: form.question.value,
      data_type: form.type,
      routers,
    });
  }

  /** Opens Labels, where it is asked at every token of the set on the screen. @param {string} name */
  async labels(name) {
    const view = await this.page.views.opened("labels");
    await /** @type {import("../labels/labels.js").Labels} */ (view).own.add(name);
  }

  /** @param {string} name */
  save(name) {
    download(`${name}.safetensors`, "application/octet-stream", this.#own(name).file);
  }

  /** @param {string} name @returns {OwnRouter} */
  #own(name) {
    const own = this.page.browser.own.get(name);
    if (!own) throw new Error(`There is no router ${excerpt(name)} here: load its file first.`);
    return own;
  }

  /** @param {ArrayBuffer} file @returns {string} the name that it has here */
  #know(file) {
    const { own } = this.page.browser;
    const { label, revision, recommended_threshold: tau = NO_TAU, training } = readRouterFile(file).card;
    const name = ownName(revision);
    own.delete(name);
    const quantiles = training?.confidence_quantiles ?? [];
    own.set(name, { label: `Yours: ${excerpt(label).slice(1, -1)} · ${name}`, tau, quantiles, file });
    if (own.size > MOST) own.delete([...own.keys()][0]);
    return name;
  }

  /** The engine has them again when it is loaded, and the lists show them. */
  #offer() {
    const { browser, pairs, form } = this.page;
    if (browser.client) browser.client.routerFiles = [...browser.own.values()].map(({ file }) => file);
    if (pairs.status) pairs.offerRouters(form.router.value);
    this.#showSaving();
  }

  #showSaving() {
    const { browser, form } = this.page;
    this.saving.hidden = !browser.own.has(form.router.value);
  }

  /** What this tab has kept. The engine checks it as any file; what is none of ours is left out. */
  #restore() {
    const kept = keptJson(OWN_ROUTERS_KEY, tabStorage());
    for (const text of Array.isArray(kept) ? kept.slice(-MOST) : []) {
      try {
        this.#know(unpacked(String(text)));
      } catch {
        // kept by a page of another edition
      }
    }
  }

  /** A person chose a file. */
  async opened() {
    const { page, file } = this;
    const chosen = file.files?.[0];
    file.value = "";
    if (!chosen) return;
    try {
      checkRouterSize(chosen.size);
      page.notice("Taking in the router.", { tone: "calm" });
      const { name, label } = await this.add(new Uint8Array(await chosen.arrayBuffer()));
      if (page.form.router.value === name && (page.isStarting || page.isLive)) return; // a link has waited for it
      page.notice(`${label} is in the list of routers, and chosen.`, { tone: "calm" });
      this.use(name);
    } catch (error) {
      page.notice(messageOf(error));
    }
  }
}
