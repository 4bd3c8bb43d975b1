/**
 * Confidence against tau on a dial: half a circle from 0 to 1, the needle at the confidence, a notch at tau.
 *
 * Must not know runs. The two sides of tau are the two models' colours, with their names written beside them.
 */

import { html, svg } from "./dom.js";
import { formatTau, probability } from "../run/format.js";

const RADIUS = 70;
const CENTRE = 80;

/** @param {number} share @param {number} radius */
function dialPoint(share, radius) {
  const angle = Math.PI * (1 - share);
  return [CENTRE + radius * Math.cos(angle), CENTRE - radius * Math.sin(angle)].map((value) => value.toFixed(2));
}

/** @param {number} from @param {number} to */
function dialArc(from, to) {
  return `M${dialPoint(from, RADIUS).join(" ")}A${RADIUS} ${RADIUS} 0 0 1 ${dialPoint(to, RADIUS).join(" ")}`;
}

/** The picture alone. @param {number} confidence @param {number} tau @param {string} relation see `confidenceDial` */
export function dialPicture(confidence, tau, relation) {
  const mark = [dialPoint(tau, RADIUS - 12), dialPoint(tau, RADIUS + 9)];
  const [x, y] = dialPoint(confidence, RADIUS - 16);
  const [nameX, nameY] = dialPoint(tau, RADIUS + 19);
  return svg(
    "svg",
    {
      class: "cv-dial",
      viewBox: "0 0 160 92",
      role: "img",
      "aria-label": `SLM confidence ${probability(confidence)}, τ ${formatTau(tau)}. ${relation}`,
    },
    tau > 0 ? svg("path", { class: "cv-dial-llm", d: dialArc(0, tau) }) : null,
    tau < 1 ? svg("path", { class: "cv-dial-slm", d: dialArc(tau, 1) }) : null,
    svg("line", { class: "cv-dial-tau", x1: mark[0][0], y1: mark[0][1], x2: mark[1][0], y2: mark[1][1] }),
    svg("text", { class: "cv-dial-name", x: nameX, y: nameY, "text-anchor": "middle", dy: "0.3em" }, "τ"),
    svg("line", { class: "cv-dial-needle", x1: CENTRE, y1: CENTRE, x2: x, y2: y }),
    svg("circle", { class: "cv-dial-hub", cx: CENTRE, cy: CENTRE, r: 4 }),
  );
}

/** @param {number} confidence @param {number} tau @param {string} relation what follows from the two, in words */
export function confidenceDial(confidence, tau, relation) {
  return html("div", { class: "cv-dial-block" }, [
    dialPicture(confidence, tau, relation),
    html("p", { class: "cv-small" }, [
      "SLM confidence ",
      html("strong", {}, probability(confidence)),
      html("br"),
      "τ ",
      html("strong", {}, formatTau(tau)),
      html("br"),
      html("span", { class: "cv-caption" }, relation),
    ]),
  ]);
}
