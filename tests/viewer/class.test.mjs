import assert from "node:assert/strict";
import test from "node:test";

import { answerOfCode, codeOf, crc24 } from "../../assets/class/answer_code.js";
import { bySubject, dotsOf, heatOf, marksAgainst, median } from "../../assets/class/class_totals.js";
import { correction, qrMatrix } from "../../assets/class/qr.js";
import { MOST_ANSWERS, lineOf, readAnswers } from "../../assets/class/read_answers.js";
import { readQr } from "./qr_reader.mjs";

const SUBJECTS = ["who-writes-what", "what-a-call-costs", "look-back", "run/trip", "lab"];
const NONE = { guess: null, marks: null, curve: null, number: null };

/** The same numbers each time. */
function chance(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** 60 people: a guess each, six marks each, and a curve of some. */
function aClass(seed = 7) {
  const next = chance(seed);
  const answers = [];
  for (let person = 0; person < 60; person++) {
    const key = () =>
      next(2 ** 24)
        .toString(16)
        .padStart(6, "0");
    const number = next(3) ? 64 : next(2) ? next(100) - 50 : null;
    answers.push({ ...NONE, of: "what-a-call-costs", key: key(), guess: next(101), number });
    const marks = new Set();
    while (marks.size < 6) marks.add(next(93));
    answers.push({ ...NONE, of: "who-writes-what", key: key(), marks: [...marks].sort((a, b) => a - b) });
    if (person % 4 === 0) {
      const points = [0, 0.023, 0.05, 0.1, 0.2].map((share) => [share, 500 + next(500)]);
      answers.push({ ...NONE, of: "lab", key: key(), curve: { n: 1000, points } });
    }
  }
  return answers;
}

test("the checksum is that of OpenPGP", () => {
  assert.equal(crc24(new TextEncoder().encode("123456789")), 0x21cf02); // the check value of CRC-24/OPENPGP
});

test("a code comes back as what it was made of, however it is typed", () => {
  for (const answer of aClass()) {
    const code = codeOf(answer);
    assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{1,4})+$/);
    assert.deepEqual(answerOfCode(code, SUBJECTS), answer);
    const typed = code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l");
    assert.deepEqual(answerOfCode(typed, SUBJECTS), answer);
  }
  const odd = { ...NONE, of: "look-back", key: "00ff00", guess: -12, number: 0.24 };
  assert.deepEqual(answerOfCode(codeOf(odd), SUBJECTS), odd);
  const short = codeOf({ ...NONE, of: "look-back", key: "abcdef", guess: 11, number: 28 });
  assert.ok(short.replaceAll("-", "").length <= 20, short);
});

test("a mistyped character and two that are swapped are always found", () => {
  const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  let n = 0;
  for (const answer of aClass(11).slice(0, 12)) {
    const code = codeOf(answer).replaceAll("-", "");
    for (let i = 0; i < code.length; i++) {
      for (const letter of letters) {
        if (letter === code[i]) continue;
        n++;
        assert.throws(() => answerOfCode(code.slice(0, i) + letter + code.slice(i + 1), SUBJECTS), /does not add up/);
      }
      if (i && code[i] !== code[i - 1]) {
        const swapped = code.slice(0, i - 1) + code[i] + code[i - 1] + code.slice(i + 1);
        assert.throws(() => answerOfCode(swapped, SUBJECTS), /does not add up/);
      }
      assert.throws(() => answerOfCode(code.slice(0, i) + code.slice(i + 1), SUBJECTS), /does not add up/);
    }
  }
  assert.ok(n > 8000);
});

test("what is not of this page is said, and nothing is taken of it", () => {
  const code = codeOf({ ...NONE, of: "a-lesson-of-another-school", key: "123456", guess: 1 });
  assert.throws(() => answerOfCode(code, SUBJECTS), /a lesson that this page does not have/);
  for (const wrong of ["", "0", "not a code", "UUUU-UUUU-UUUU-UUUU", "Z".repeat(9000)])
    assert.throws(() => answerOfCode(wrong, SUBJECTS), /does not add up/, wrong.slice(0, 20));
});

test("60 people are read from codes, lines and names around them, once each, and add up to what they sent", () => {
  const answers = aClass();
  const text = answers
    .map((answer, i) =>
      i % 3 === 0 ? lineOf(answer) : i % 3 === 1 ? `Ada, row 3: ${codeOf(answer)} (back)` : codeOf(answer),
    )
    .join("\r\n");
  const read = readAnswers(text, SUBJECTS);
  assert.deepEqual(read, { answers, nTwice: 0, wrong: [] });
  // The other form of the same answers is not counted again.
  const again = readAnswers(answers.map(codeOf).join("\n\n"), SUBJECTS, read.answers);
  assert.deepEqual([again.answers.length, again.nTwice, again.wrong], [0, answers.length, []]);

  const groups = bySubject(read.answers);
  const heat = heatOf(groups.get("who-writes-what"), 94);
  const sent = new Array(94).fill(0);
  for (const { marks } of answers) for (const mark of marks ?? []) sent[mark]++;
  assert.deepEqual(heat, sent);
  assert.equal(
    heat.reduce((sum, n) => sum + n, 0),
    360,
  );
  assert.deepEqual(
    groups.get("lab").map(({ curve }) => curve),
    answers.filter(({ curve }) => curve).map(({ curve }) => curve),
  );
  const truth = sent.map((_, i) => i % 4 === 0);
  const against = marksAgainst(groups.get("who-writes-what"), truth);
  const hits = answers.flatMap(({ marks }) => marks ?? []).filter((mark) => truth[mark]).length;
  assert.ok(Math.abs(against.mean - hits / 60) < 1e-9);
  assert.equal(against.marks, 6);
  assert.ok(Math.abs(against.blind - (6 * truth.filter(Boolean).length) / 94) < 1e-9);
  assert.equal(heat[against.wasted], Math.max(...heat.filter((_, i) => !truth[i])));
});

test("what is wrong is said line by line, in few words", () => {
  const [one] = aClass();
  const code = codeOf(one);
  const line = (change) => JSON.stringify({ ...JSON.parse(lineOf(one)), ...change });
  const wrong = (text) => readAnswers(text, SUBJECTS).wrong.join();
  assert.match(wrong(`${code}\n${code.slice(0, -2)}`), /^Line 2: The code does not add up/);
  assert.match(wrong("hello"), /Line 1: There is no code in it/);
  assert.match(wrong("{"), /not JSON/);
  assert.match(wrong(line({ schema: "citer-trace" })), /"citer-answer"/);
  assert.match(wrong(line({ of: "nothing" })), /of is "nothing"; it must be a lesson that this page has/);
  assert.match(wrong(line({ key: "zzzzzz" })), /digits 0 to 9/);
  assert.match(wrong(line({ marks: [1] })), /one of guess, marks and curve/);
  assert.match(wrong(line({ guess: null, marks: Array(201).fill(1) })), /at most 200 tokens/);
  assert.match(wrong(line({ guess: null, curve: { n: 10, points: [[0.1, 11]] } })), /more right answers than problems/);
  assert.match(wrong("x".repeat(1_000_001)), /at most 1,000,000/);
  assert.ok(wrong(`{"schema":"${"y".repeat(9000)}"}`).length < 200);
  const many = Array.from({ length: MOST_ANSWERS + 1 }, (_, i) => line({ key: i.toString(16).padStart(6, "0") }));
  assert.match(wrong(many.join("\n")), new RegExp(`Line ${MOST_ANSWERS + 1}: A class has at most ${MOST_ANSWERS}`));
  const marks = readAnswers(line({ guess: null, marks: [5, 1, 5] }), SUBJECTS).answers[0];
  assert.deepEqual(marks.marks, [1, 5]);
});

test("guesses stand where they belong, one above the other", () => {
  assert.deepEqual(dotsOf([0, 100, 50, 50, 500], 0, 100, 10), [
    { column: 0, height: 0 },
    { column: 10, height: 0 },
    { column: 5, height: 0 },
    { column: 5, height: 1 },
    { column: 10, height: 1 },
  ]);
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("the error correction of a QR code is that of the standard's example", () => {
  // "HELLO WORLD" at 1-M, as published: data and correction codewords.
  const data = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17];
  assert.deepEqual(correction(data, 10), [196, 35, 39, 119, 235, 215, 231, 226, 93, 23]);
});

test("a QR code of any length says what it was made of", () => {
  const seen = new Set();
  // The least and the most that each version holds.
  for (const n of [0, 14, 15, 26, 27, 42, 43, 62, 63, 84, 85, 106, 107, 122, 123, 152, 153, 180, 181, 213]) {
    const words = Array.from({ length: n }, (_, i) => String.fromCharCode(33 + ((i * 7 + n) % 90))).join("");
    const { text, version, mask } = readQr(qrMatrix(words));
    assert.equal(text, words);
    seen.add(version);
    assert.ok(mask >= 0);
  }
  assert.deepEqual([...seen], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(readQr(qrMatrix("τ ≥ 0.5")).text, "τ ≥ 0.5");
  assert.throws(() => qrMatrix("x".repeat(214)), /too long/);
  for (const answer of aClass().slice(0, 9)) assert.equal(readQr(qrMatrix(codeOf(answer))).text, codeOf(answer));
});
