/**
 * A person's answer to take to the teacher: a code to read out or type, a QR picture, and a line of JSON to paste.
 *
 * Nothing is sent, unless a person types the code of a room on a server. Called where a lesson, an exercise or a curve
 * has ended.
 *
 * @typedef {import("./answer_code.js").ClassAnswer} ClassAnswer
 */

import { html, plainButton, setText, stylesheet, svg } from "../viewer/dom.js";
import { codeOf, newKey } from "./answer_code.js";
import { lineOf } from "./read_answers.js";
import { qrMatrix } from "./qr.js";
import { sendForm } from "./room.js";

const FRAME = 4;
/** What the Lab's curve is called in an answer. */
export const LAB = "lab";
/** What an exercise of Learn is called in an answer. @param {string} run its file */
export const exerciseName = (run) => `run/${run.replace(/\.json$/, "")}`;

/** @param {string} words @param {string} label */
export function qrPicture(words, label) {
  const rows = qrMatrix(words);
  const d = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  const size = rows.length + 2 * FRAME;
  const how = { class: "cc-qr", viewBox: `${-FRAME} ${-FRAME} ${size} ${size}`, role: "img", "aria-label": label };
  const ground = svg("rect", { x: -FRAME, y: -FRAME, width: size, height: size, fill: "#ffffff" });
  return svg("svg", { ...how, "shape-rendering": "crispEdges" }, ground, svg("path", { d, fill: "#000000" }));
}

/** @param {Partial<ClassAnswer> & {of: string}} given what was answered */
export function answerCard(given) {
  stylesheet(new URL("./class.css", import.meta.url).href);
  const answer = { guess: null, marks: null, curve: null, number: null, ...given, key: newKey() };
  const code = codeOf(answer);
  const said = html("span", { role: "status", class: "cc-said" });
  /** @param {string} text @param {string} done */
  const copy = async (text, done) => {
    try {
      await navigator.clipboard.writeText(text);
      setText(said, done);
    } catch {
      setText(said, `Copy this: ${text}`);
    }
  };
  return html("div", { class: "cc-card" }, [
    qrPicture(code, "QR code of your answer"),
    html("div", { class: "cc-code-side" }, [
      html("p", {}, "Your answer for the class, without a name:"),
      html("p", { class: "cc-code" }, code),
      html("div", { class: "cc-row" }, [
        plainButton("Copy code", "cx-quiet", () => copy(code, "Copied.")),
        plainButton("Copy as JSON", "cx-quiet", () => copy(lineOf(answer), "Copied.")),
        said,
      ]),
      sendForm(window.citer?.transport, code),
    ]),
  ]);
}
