/**
 * Under the run: what else can be asked about it, and the keys. With a token pinned the inspector asks instead.
 *
 * Must not know how the server is asked; it calls back.
 */

import { button, caption, html, pairs } from "./dom.js";

const KEYS = [
  ["← →", "previous, next token"],
  ["[ ]", "previous, next LLM token"],
  ["< >", "previous, next decisive token"],
  ["{ }", "previous, next hand-off"],
  ["( )", "previous, next unsure token"],
  ["/", "search"],
  ["Space", "play or pause"],
  ["F", "flip the pinned token"],
  ["Esc", "let go"],
];

/**
 * The offer to ask the LLM at every token, or what came of it; null where it cannot be asked.
 * @param {RunView} view
 * @param {Askable} can
 * @param {() => void} onProbe
 */
export function probeBlock(view, can, onProbe) {
  if (view.probe) {
    const nAgree = view.probe.reduce((sum, token) => sum + Number(token.agree), 0);
    return caption(
      `The LLM was asked at every token after the run: both models agree at ${nAgree} of ` +
        `${view.probe.length}. That pass is not in the cost.`,
    );
  }
  if (!can.probe) return null;
  return html("div", { class: "cv-block" }, [
    button("Ask the LLM everywhere", "cv-link", { "data-key": "probe", onclick: () => onProbe() }),
    caption(
      "One more pass of both models over this text. It is not counted in the cost. Where a solution of " +
        "the problem is known, it gives case and label too.",
    ),
  ]);
}

export class Closer {
  /** @param {() => void} onProbe */
  constructor(onProbe) {
    this.onProbe = onProbe;
    this.place = html("div", {});
    this.root = html("section", { class: "cv-closer", "aria-label": "Ask more, and the keys" }, [
      this.place,
      html("details", { class: "cv-fold" }, html("summary", {}, "Keys"), pairs("cv-keys", KEYS)),
    ]);
    /** @type {string|null} */
    this.shownKey = null;
  }

  /** @param {RunView} view @param {Askable} can what may be asked of the server */
  update(view, can) {
    const key = [view.runKey, view.pinned !== null, Boolean(view.probe), can.probe].join();
    if (key === this.shownKey) return;
    this.shownKey = key;
    const block = view.pinned === null ? probeBlock(view, can, this.onProbe) : null;
    this.place.replaceChildren(...(block ? [block] : []));
  }
}
