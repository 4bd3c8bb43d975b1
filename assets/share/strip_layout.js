/**
 * Where each token of a run goes on a picture: lines of a given width, every character visible.
 *
 * Pure: must not know the DOM; it is told how wide a text is. Called by picture.js.
 *
 * @typedef {{index: number, text: string, line: number, x: number, width: number}} StripBox one stretch of one token
 */

import { splitMarks } from "../viewer/text.js";

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
