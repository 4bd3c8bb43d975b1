import assert from "node:assert/strict";
import test from "node:test";

import { spelledTexts, splitMarks, visibleText } from "../../assets/viewer/text.js";

const marks = (text) =>
  splitMarks(text)
    .filter((part) => part.mark !== null)
    .map((part) => part.mark);

const TEXTS = [
  "",
  " word",
  "a  b",
  "   ",
  "\n",
  "\r\n\t",
  "x\u0000y",
  "\u202eevil",
  "\u200bzero",
  "caf\u00e9\u00a0!",
  "👩‍🚀",
  "می‌خواهم",
  "<script>",
  "${x}",
  "`",
  "a\u2028b",
  "\ufeff",
  "\u{e0041}",
  "\u007f",
  "\u0085",
  "שלום",
  "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "�",
];

test("joined, the parts are the token: copying gives the exact text", () => {
  for (const text of TEXTS)
    assert.equal(
      splitMarks(text)
        .map((part) => part.text)
        .join(""),
      text,
    );
});

test("what one cannot see gets a mark", () => {
  assert.deepEqual(marks("\n"), ["↵"]);
  assert.deepEqual(marks("\t"), ["⇥"]);
  assert.deepEqual(marks("   "), ["·", "·", "·"]);
  assert.deepEqual(marks("a  b"), ["·", "·"]);
  assert.deepEqual(marks("\u0007"), ["BEL"]);
  assert.deepEqual(marks("\u202eevil\u2066"), ["RLO", "LRI"]);
  assert.deepEqual(marks("\u200b\ufeff"), ["ZWSP", "BOM"]);
  assert.deepEqual(marks("\u00a0"), ["⍽"]);
  assert.deepEqual(marks("\u{e0041}"), ["TAG"]);
});

test("ordinary text gets none: a leading space, emoji sequences, joiners that a script needs", () => {
  const ordinary = [" word", "👩‍🚀", "می‌خواهم", "क्‍ष", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "שלום", "x = 1"];
  for (const text of ordinary) assert.deepEqual(marks(text), [], text);
});

test("labels show every character on one line", () => {
  assert.equal(visibleText(" jump"), "·jump");
  assert.equal(visibleText("\n"), "↵");
  assert.equal(visibleText(""), "∅");
  assert.equal(visibleText("\u202eevil"), "⟨RLO⟩evil");
});

test("a command in two tokens is a sign of the first of them, in mathematics alone", () => {
  const texts = ["$4", "\\", "times", "4\\t", "imes 2", "\\", "timesheet", "\\boxed"];
  assert.deepEqual(spelledTexts(texts, true), ["$4", "×", null, "4×", " 2", "\\", "timesheet", "\\boxed"]);
  assert.equal(spelledTexts(texts, false), texts);
});
