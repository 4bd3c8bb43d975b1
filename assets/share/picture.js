/**
 * The run as one picture: question, tinted text, its numbers and the cost line, as SVG or PNG, in the page's theme.
 *
 * Must not know the page or the server. Token text goes through text nodes and the browser's own serializer, never
 * through a template. Colours are read from the viewer, so a picture looks like what it was taken of.
 */

import { certaintyStep } from "../run/decision.js";
import { svg } from "../viewer/dom.js";
import { formatTau, percent, plural, quantity } from "../run/format.js";
import { spelledTexts, splitMarks } from "../viewer/text.js";

/**
 * Where each token of a run goes on a picture: lines of a given width, every character visible.
 *
 * @typedef {{index: number, text: string, line: number, x: number, width: number}} StripBox one stretch of one token
 */

/** What XML cannot hold, and half characters: one of them would make the whole picture unreadable. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.source;
const NOT_IN_XML = new RegExp(`[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]|${HALF}`, "g");

/** A text as a picture may show it: what XML forbids becomes the replacement character. @param {string} text */
export const forXml = (text) => text.replace(NOT_IN_XML, "\ufffd");

/** A token in pieces that stay together on a line; `isBreak` ends the line after it. @param {string} text */
function stripPieces(text) {
  const pieces = [];
  for (const part of splitMarks(text)) {
    if (part.kind === "plain")
      for (const word of part.text.match(/\s+|\S+/g) ?? []) pieces.push({ text: forXml(word), isBreak: false });
    else {
      const mark = part.mark ?? "";
      pieces.push({ text: mark.length > 1 ? `⟨${mark}⟩` : mark, isBreak: part.kind === "break" });
    }
  }
  return pieces.length ? pieces : [{ text: "·", isBreak: false }];
}

/**
 * @param {(string|null)[]} texts one per token; null is shown by the one before
 * @param {(text: string) => number} widthOf
 * @param {number} maxWidth
 * @returns {{boxes: StripBox[], nLines: number}}
 */
export function layoutStrip(texts, widthOf, maxWidth) {
  /** @type {StripBox[]} */
  const boxes = [];
  let line = 0;
  let x = 0;
  /** @param {number} index @param {string} text @param {number} width */
  const place = (index, text, width) => {
    const last = boxes.at(-1);
    // Stretches of one token on one line are one box, so that its letters join as in running text.
    if (last && last.index === index && last.line === line && last.x + last.width === x) {
      const joined = widthOf(last.text + text);
      Object.assign(last, { text: last.text + text, width: joined });
      x = last.x + joined;
      return;
    }
    boxes.push({ index, text, line, x, width });
    x += width;
  };
  texts.forEach((text, index) => {
    if (text === null) return;
    for (const piece of stripPieces(text)) {
      const width = widthOf(piece.text);
      if (x > 0 && x + width > maxWidth) {
        line++;
        x = 0;
      }
      if (width <= maxWidth) place(index, piece.text, width);
      else {
        // One word wider than the picture: character by character.
        for (const character of piece.text) {
          const size = widthOf(character);
          if (x > 0 && x + size > maxWidth) {
            line++;
            x = 0;
          }
          place(index, character, size);
        }
      }
      if (piece.isBreak) {
        line++;
        x = 0;
      }
    }
  });
  return { boxes, nLines: (boxes.at(-1)?.line ?? -1) + 1 };
}

const PICTURE_WIDTH = 1000;
const PICTURE_MARGIN = 36;
const STRIP_LINE = 38;
const STRIP_FONT = 18;
const PICTURE_FONTS = '"Liberation Sans", Arial, Helvetica, sans-serif';
const CHART_STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "font-size",
  "font-weight",
  "text-anchor",
];

/** @param {string} font */
function measurer(font) {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) throw new Error("this browser draws no pictures.");
  context.font = font;
  return /** @param {string} text */ (text) => context.measureText(text).width;
}

/**
 * The chart at the picture's width, with the styles that a file of its own would not find.
 * @param {import("../viewer/chart.js").Chart} chart
 * @param {RunView} view
 * @param {number} width
 */
function chartCopy(chart, view, width) {
  const shownWidth = chart.width;
  chart.width = width;
  chart.update(view);
  const copy = /** @type {SVGSVGElement} */ (chart.svg.cloneNode(true));
  const originals = [chart.svg, ...chart.svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const computed = getComputedStyle(originals[i]);
    for (const name of CHART_STYLES) {
      const value = computed.getPropertyValue(name);
      if (value && value !== "none" && value !== "normal") node.setAttribute(name, value);
      else if (value === "none" && (name === "fill" || name === "stroke")) node.setAttribute(name, "none");
    }
    for (const name of ["class", "role", "aria-labelledby", "style"]) node.removeAttribute(name);
  });
  chart.width = shownWidth;
  chart.update(view);
  return copy;
}

/**
 * @param {Viewer} viewer a mounted viewer with a run
 * @returns {SVGSVGElement}
 */
export function drawPicture(viewer) {
  const { view } = viewer;
  const { head } = view;
  const { certainty } = viewer.legend.look;
  if (!head) throw new Error("there is no run to draw.");
  const style = getComputedStyle(viewer.root);
  /** @param {string} name */
  const color = (name) => style.getPropertyValue(`--cv-${name}`).trim();
  const inner = PICTURE_WIDTH - 2 * PICTURE_MARGIN;
  /** @type {SVGElement[]} */
  const nodes = [];
  let y = PICTURE_MARGIN;
  /** @param {string} text @param {number} x @param {number} at @param {number} size @param {string} fill */
  const write = (text, x, at, size, fill, more = {}) =>
    nodes.push(svg("text", { x, y: at, "font-size": size, fill, "xml:space": "preserve", ...more }, text));
  /** @param {string} words @param {number} size @param {string} fill @param {number} gap */
  const lines = (words, size, fill, gap) => {
    const { boxes, nLines } = layoutStrip([words], measurer(`${size}px ${PICTURE_FONTS}`), inner);
    for (const { x, line, text } of boxes) write(text, PICTURE_MARGIN + x, y + size + line * size * 1.5, size, fill);
    y += nLines * size * 1.5 + gap;
  };
  lines(head.prompt.question.replaceAll("\n", "  "), 15, color("muted"), 18);

  /** @param {TokenEvent} event @param {number} i */
  const isEnd = (event, i) => event.text === "" && i === view.n - 1 && view.finishReason === "eos";
  const { boxes, nLines } = layoutStrip(
    spelledTexts(
      view.events.map((event, i) => (isEnd(event, i) ? "end" : event.text)),
      head.prompt.data_type === "math",
    ),
    measurer(`${STRIP_FONT}px ${PICTURE_FONTS}`),
    inner,
  );
  for (const box of boxes) {
    const event = view.events[box.index];
    const writer = view.decisions.isLlm[box.index] ? "llm" : "slm";
    const step = certaintyStep(event.slm_confidence, view.whatIf ?? event.threshold);
    const tint = { slm: "slm-wash", llm: "llm-strong" }[writer];
    const isDecisive = view.decisions.decisive[box.index] > 0;
    const x = PICTURE_MARGIN + box.x;
    const top = y + box.line * STRIP_LINE;
    const width = Math.max(1, box.width - 1);
    const frame = { x, y: top, width, height: 28, rx: 3 };
    nodes.push(svg("rect", { ...frame, fill: color(certainty ? `${writer}-${step}` : tint) }));
    const [down, height] = isDecisive ? [24, 4] : [26, 2];
    if (writer === "llm") nodes.push(svg("rect", { x, y: top + down, width, height, fill: color("llm-ink") }));
    if (view.decisions.isFlipped[box.index]) {
      const dashed = { "stroke-width": 1.5, "stroke-dasharray": "4 3" };
      nodes.push(svg("rect", { ...frame, fill: "none", stroke: color("text"), ...dashed }));
    }
    // The width is stated, so that another viewer's font cannot run over the tint.
    const fitted = box.text.trim() ? { textLength: box.width, lengthAdjust: "spacingAndGlyphs" } : {};
    const inOrder = { direction: "ltr", "unicode-bidi": "isolate", "font-weight": isDecisive ? 700 : 400 };
    write(box.text, x, top + 20, STRIP_FONT, color("text"), { ...inOrder, ...fitted });
  }
  y += nLines * STRIP_LINE + 14;

  const totals = view.series.totals();
  const verdict = viewer.answer.words;
  if (verdict) lines(verdict, 15, color("text"), 6);
  const bold = totals.nDecisive ? "; where it is bold the SLM would have written another one" : "";
  lines(
    `${plural(totals.nTokens, "token")}, ${percent(totals.llmShare)} by the LLM (underlined${bold}). ` +
      `${quantity("bytes", totals.bytes)} moved, estimated: ${percent(totals.bytesShare)} of LLM-only.`,
    15,
    color("text"),
    14,
  );
  const copy = chartCopy(viewer.chart, view, inner);
  lines(viewer.chart.title.textContent ?? "", 14, color("muted"), 4);
  for (const [name, value] of Object.entries({ x: PICTURE_MARGIN, y, overflow: "visible" }))
    copy.setAttribute(name, String(value));
  nodes.push(copy);
  y += Number(copy.getAttribute("height")) + 12;
  const replayed = view.whatIf === null ? "" : ` · replayed at τ ${formatTau(view.whatIf)}`;
  lines(`${viewer.head.provenance.textContent}${replayed}`, 12, color("muted"), 0);
  const height = Math.ceil(y + PICTURE_MARGIN - 8);
  const size = { width: PICTURE_WIDTH, height };
  const title = forXml(`Routed text: ${head.title || head.prompt.question}`.slice(0, 200)).replaceAll(/\s+/g, " ");
  const frame = { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${PICTURE_WIDTH} ${height}` };
  const ground = svg("rect", { ...size, fill: color("surface") });
  return svg("svg", { ...frame, "font-family": PICTURE_FONTS }, svg("title", {}, title), ground, ...nodes);
}

/**
 * @param {SVGSVGElement} picture
 * @returns {string} a whole SVG file
 */
export const pictureToSvg = (picture) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(picture)}\n`;

/**
 * @param {SVGSVGElement} picture
 * @returns {Promise<Blob>} the picture at twice its size, for sharp print and slides
 */
export async function pictureToPng(picture, scale = 2) {
  const url = URL.createObjectURL(new Blob([pictureToSvg(picture)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    // Browsers give up beyond some 16,000 pixels; a long run is then drawn smaller.
    const fit = Math.min(scale, 16000 / image.naturalHeight);
    canvas.width = Math.round(image.naturalWidth * fit);
    canvas.height = Math.round(image.naturalHeight * fit);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for this browser."))),
        "image/png",
      ),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
