/**
 * Why this token came, where tokens are drawn: what the settings leave, and where the number fell.
 *
 * Must not know who computed it. Called by choices.js.
 */

import { block, caption, html } from "./dom.js";
import { sampling } from "./head.js";
import { WRITER_NAMES } from "../run/format.js";
import { tableOf } from "./table.js";
import { visibleText } from "./text.js";

const LABELLED = 0.12; // of a strip: room for a token's text
/** @type {Writer[]} */
export const BOTH_MODELS = ["slm", "llm"];

/** A token as a person sees it. @param {string} text */
export const code = (text) => html("bdi", { class: "cv-code" }, visibleText(text));

/**
 * How the token was chosen among all.
 * @param {RunView} view @param {number} index @param {NextTokens|null} found null where it was not asked
 */
export function drawBlock(view, index, found) {
  const settings = view.head?.settings;
  const root = block("How it was chosen");
  const say = (/** @type {string} */ words) => root.append(caption(words));
  const event = view.events[index];
  if (view.isForced(index)) say("By hand. Without that:");
  if (!settings || !(settings.temperature > 0)) {
    say("Greedy (temperature 0): the most probable token is taken.");
    return root;
  }
  const draws = BOTH_MODELS.flatMap((model) => {
    const draw = found?.[model]?.draw;
    return draw ? [{ model, draw, top: found?.[model]?.top ?? [] }] : [];
  });
  if (!draws.length) {
    say(`Drawn: ${sampling(settings).join(", ")}.`);
    return root;
  }
  const { number } = draws[0].draw;
  const within = { transform: `translateX(${-100 * number}%)` }; // the lanes, wherever they end
  const label = html("span", { style: within }, number.toFixed(3));
  const mark = html("span", { class: "cv-draw-mark", style: { "inset-inline-start": `${number * 100}%` } }, label);
  const strips = draws.map(({ model, draw, top }) => strip(model, draw, top));
  const names = draws.map(({ model }) => html("span", { class: `cv-tag cv-tag-${model}` }, WRITER_NAMES[model]));
  root.append(
    html("div", { class: "cv-draw", "aria-hidden": "true" }, [
      html("div", { class: "cv-draw-names" }, ...names),
      html("div", { class: "cv-draw-lanes" }, ...strips, mark),
    ]),
  );
  say(
    `Drawn: ${sampling(settings).join(", ")}. These change the probabilities (before → after) and cut the least ` +
      `probable tokens. What is kept lies side by side, and the number of this place, ${number.toFixed(3)}, the same ` +
      "for both models, falls on one token.",
  );
  const rows = draws.map(({ model, draw: { token, low, n_kept: nKept } }) => {
    const range = `${low.toFixed(3)} to ${(low + token[2]).toFixed(3)}`;
    return [WRITER_NAMES[model], code(token[1]), range, String(nKept)];
  });
  const head = ["", "falls on", "which lies from", "tokens kept"];
  root.append(tableOf({ head, rows }, { isNamed: true, look: "cv-table" }));
  const own = found?.[event.source]?.draw;
  if (own && own.token[0] !== event.token_id && !view.isForced(index))
    say("The run has another token: it was computed on other hardware, whose last digits differ.");
  return root;
}

/**
 * What may be drawn, side by side, as wide as it is probable.
 * @param {Writer} model @param {NonNullable<Offer["draw"]>} draw @param {Candidate[]} top
 */
function strip(model, draw, top) {
  const pieces = draw.probabilities.flatMap((chance, k) => {
    if (!chance) return [];
    const isHit = top[k][0] === draw.token[0];
    const how = { class: `cv-piece${isHit ? " cv-piece-hit" : ""}`, style: { "flex-grow": String(chance) } };
    return [html("span", how, chance > LABELLED ? visibleText(top[k][1]) : "")];
  });
  const left = Math.max(0, 1 - draw.probabilities.reduce((sum, chance) => sum + chance, 0));
  const look = `cv-piece-rest${draw.rank >= top.length ? " cv-piece-hit" : ""}`;
  const rest = html("span", { class: look, style: { "flex-grow": String(left) } });
  return html("div", { class: `cv-strip cv-strip-${model}` }, ...pieces, rest);
}
