/**
 * The inside of one decision, over the whole window: what the SLM offers, the router on its state with its numbers, who
 * writes, what the LLM reads first, and what all that moved.
 *
 * Fetched when it is opened. Who computes is not its business (`app/page_branches.js`); tokens, tau and costs
 * are the viewer's, so what is shown is the token that is pinned there, and its keys move it.
 */

import { formatTau } from "../run/format.js";
import { targetOf } from "../run/navigate.js";
import { button, html, setText, stylesheet } from "../viewer/dom.js";
import { enlarge, restoreLarge } from "../viewer/large.js";
import { fillTokenText, spelledTexts, visibleText } from "../viewer/text.js";
import { fine, routerPart, slmPart, verdictPart } from "./decision_parts.js";
import { catchUpPart, costPart } from "./moved_parts.js";
import { sumsOf } from "./network.js";

/** @typedef {{inside?: Inside|null, notice?: string}} Found */

const MOST_KEPT = 200;
const AROUND = 60; // tokens on the line, to either side
const REST_MS = 80; // keys that are held down ask for the last token alone
/** @param {Node} node */
const textIn = (node) => node.textContent?.trim();

class InsidePanel {
  /** @type {Map<string, Found>} by run and token */
  known = new Map();
  shownKey = "";
  width = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  timer = undefined;

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.title = html("h2", { class: "ci-title", id: "ci-title" });
    this.place = html("span", { class: "ci-place" });
    /** @param {string} sign @param {string} name @param {() => void} onclick */
    const nav = (sign, name, onclick, look = "") => button(sign, `ci-nav ${look}`, { "aria-label": name, onclick });
    this.previous = nav("‹", "Previous token", () => this.#move("previous"));
    this.next = nav("›", "Next token", () => this.#move("next"));
    this.nextLlm = nav("next by LLM ]", "Next token of the LLM", () => this.#move("nextLlm"), "ci-wide");
    this.close = nav("×", "Close", () => restoreLarge());
    /** @param {MouseEvent} event */
    const onclick = ({ target }) => {
      if (target instanceof HTMLElement && target.dataset.index) page.viewer.pin(Number(target.dataset.index));
    };
    this.line = html("p", { class: "ci-line", "aria-hidden": "true", onclick });
    this.said = html("p", { class: "cv-sr", role: "status" });
    this.body = html("div", { class: "ci-body" });
    this.root = html(
      "section",
      { class: "cv-inside", role: "dialog", "aria-modal": "true", "aria-labelledby": "ci-title", hidden: true },
      html("div", { class: "ci-top" }, [
        this.title,
        html("div", { class: "ci-moves" }, this.previous, this.place, this.next, this.nextLlm, this.close),
        this.line,
      ]),
      this.said,
      this.body,
    );
    page.viewer.inspector.root.append(this.root);
    page.viewer.later = this;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width && contentRect.width !== this.width) this.#draw(true);
    }).observe(this.body);
  }

  open() {
    this.root.hidden = false;
    const { inspector } = this.page.viewer;
    enlarge(this.root, (isLarge) => {
      this.root.hidden = !isLarge;
      /** @type {HTMLElement|null} */
      const opener = inspector.body.querySelector('[data-key="inside"]'); // another one, of another token
      if (!isLarge) opener?.focus({ preventScroll: true });
    });
    this.shownKey = "";
    this.update(this.page.viewer.view);
    this.close.focus();
  }

  /** @param {"previous"|"next"|"nextLlm"} action */
  #move(action) {
    const { viewer } = this.page;
    const next = targetOf(viewer.view, action, viewer.view.pinned);
    if (next !== null) viewer.reach(next);
  }

  /** @param {RunView} view */
  update(view) {
    if (this.root.hidden || view.pinned === null) return;
    const key = [view.runKey, view.pinned, view.whatIf, view.priceLabel, view.costModel.device.name].join();
    if (key === this.shownKey) return;
    this.shownKey = key;
    this.#ask(view, view.pinned);
    this.#draw(false);
  }

  /** @param {RunView} view @param {number} index */
  #keyOf(view, index) {
    return `${view.runKey} ${index}`;
  }

  /** Asks for the numbers of a token, once. @param {RunView} view @param {number} index */
  #ask(view, index) {
    clearTimeout(this.timer);
    const key = this.#keyOf(view, index);
    const request = this.page.viewer.branching.aboutDecision(view, index);
    if (this.known.has(key) || !request) return;
    /** @param {Found} found */
    const take = (found) => {
      this.known.set(key, found);
      const now = this.page.viewer.view;
      if (now.pinned !== null && this.#keyOf(now, now.pinned) === key) this.#draw(!found.inside);
    };
    this.timer = setTimeout(async () => {
      if (this.known.size > MOST_KEPT) this.known.clear();
      take({ notice: "Computing." });
      const found = await this.page.branches.ask("inside", request, (notice) => take({ notice }));
      take(found);
      if (!found.inside) this.known.delete(key); // asked again the next time
    }, REST_MS);
  }

  /** @param {boolean} isStill without motion */
  #draw(isStill) {
    const { view } = this.page.viewer;
    const index = view.pinned;
    if (this.root.hidden || index === null) return;
    this.width = this.body.clientWidth;
    const event = view.events[index];
    const { inside = null, notice = "Computing." } = this.known.get(this.#keyOf(view, index)) ?? {};
    const texts = spelledTexts(
      view.events.map(({ text }) => text),
      view.head?.prompt.data_type === "math",
    ).map((text) => text ?? "");
    this.#drawTop(view, index, texts);
    this.root.classList.toggle("ci-still", isStill);
    const parts = [
      slmPart(event, inside),
      routerPart(view.head?.router.name ?? "", inside, notice, this.width),
      verdictPart(view, index, inside),
    ];
    const moved = [catchUpPart(view, index, texts, this.width), costPart(view, index)];
    this.body.replaceChildren(html("div", { class: "ci-flow" }, ...parts), html("div", { class: "ci-low" }, ...moved));
    const layers = inside?.layers;
    const units = layers ? ` ${sumsOf(layers).nOn} of ${layers.pushes.length} units are on.` : "";
    setText(
      this.said,
      `Token ${index + 1}, ${visibleText(event.text)}: confidence ${fine(event.slm_confidence)}, τ ` +
        `${formatTau(view.tauAt(index))}; the ${view.decisions.isLlm[index] ? "LLM" : "SLM"} writes.${units} ` +
        moved.map((part) => [...(part.querySelector("h3")?.childNodes ?? [])].map(textIn).join(" ")).join(". "),
    );
  }

  /** @param {RunView} view @param {number} index @param {string[]} texts */
  #drawTop(view, index, texts) {
    const before =
      texts
        .slice(Math.max(0, index - 12), index)
        .join("")
        .trim()
        .split(/\s+/)
        .at(-1) || "the prompt";
    this.title.replaceChildren("Who writes after ", html("bdi", { class: "ci-after" }, visibleText(before)), "?");
    setText(this.place, `token ${index + 1} of ${view.n}`);
    this.previous.disabled = index === 0;
    this.next.disabled = index + 1 >= view.shown;
    this.nextLlm.disabled = targetOf(view, "nextLlm", index) === null;
    const first = Math.max(0, index - AROUND);
    const near = texts.slice(first, index + AROUND).map((text, i) => {
      const at = first + i;
      const node = html("span", { class: `ci-t ${view.decisions.isLlm[at] ? "cv-llm" : ""}`, "data-index": at });
      fillTokenText(node, text);
      node.classList.toggle("ci-pinned", at === index);
      return node;
    });
    this.line.replaceChildren(...near);
    const pinned = near[index - first];
    this.line.scrollLeft = pinned.offsetLeft - (this.line.clientWidth - pinned.offsetWidth) / 2;
  }
}

/** @type {InsidePanel|null} */
let panel = null;

/** Shows the pinned token's decision. @param {Page} page */
export async function showInside(page) {
  await stylesheet(new URL("./inside.css", import.meta.url).href);
  panel ??= new InsidePanel(page);
  panel.open();
}
