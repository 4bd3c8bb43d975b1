/**
 * A problem that is outside what the bundled pair knows: that is said kindly, the output stands under that flag, and a
 * recorded run of a larger pair is offered.
 *
 * Must not know how it is found out: the server judges. Called by page.js when a run is asked for.
 */

import { PROMPT_FORMS } from "../tasks/tables.js";
import { part, plainButton } from "../viewer/dom.js";

const OUTSIDE = "outside what this pair knows";

export class PageOutside {
  nAsked = 0;

  /** @param {Page} page of page.js */
  constructor(page) {
    this.page = page;
    this.place = part(document, "#cx-outside");
  }

  /** Another run is on the screen, or will be. */
  clear() {
    this.nAsked++;
    this.place.replaceChildren();
    this.page.viewer.head.setFlag("");
  }

  /** @param {Asked} asked */
  async check({ question, data_type }) {
    this.clear();
    if (question.length > PROMPT_FORMS.maxChars) return; // which the run itself is refused for
    const { nAsked } = this;
    const answer = await this.page.ask("foreign_problem", { question, data_type }).catch(() => null);
    if (!answer?.warning || nAsked !== this.nAsked) return;
    this.page.viewer.head.setFlag(OUTSIDE);
    this.place.replaceChildren(answer.warning, " ", ...this.#offer(data_type));
  }

  /** A recorded run of another pair, of the same type where there is one. @param {string} dataType */
  #offer(dataType) {
    const { recorded, pairs } = this.page;
    const others = recorded.cards.filter(({ dataset }) => dataset.pair !== pairs.loaded);
    const card = others.find(({ dataset }) => dataset.type === dataType) ?? others[0];
    if (!card) return [];
    const title = card.querySelector(".cx-preset-title")?.textContent ?? "";
    return [plainButton(`See ${card.dataset.pair}: ${title}`, "cx-quiet", () => recorded.show(card, true))];
  }
}
