import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { byRouter, markOfToken, scoreMarks, whereChanged } from "../../assets/learn/score.js";
import { buildLink, isRunOfLink, linkStateOf, readLink } from "../../assets/app/link.js";
import { packed, unpacked } from "../../assets/engine/packed_file.js";
import { fillFiles, fillTemplate } from "../../assets/share/offline_file.js";
import { usualLook } from "../../assets/run/run_look.js";
import { NEWER } from "./engine_files.mjs";
import { fewOrAll } from "./sampling.mjs";
import { forXml, layoutStrip } from "../../assets/share/picture.js";
import { parseTrace, traceToJson } from "../../assets/run/trace_file.js";
import { fileStem, traceToCsv } from "../../assets/share/page_export.js";
import { splitMarks, visibleText } from "../../assets/viewer/text.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RECORDED = JSON.parse(readFileSync(`${ROOT}assets/traces/capital.json`, "utf8"));
const PYTHON = existsSync(`${ROOT}.venv/bin/python`) ? `${ROOT}.venv/bin/python` : "python3";
const HOSTILE = JSON.parse(execFileSync(PYTHON, ["-m", "tests.hostile"], { cwd: ROOT, maxBuffer: 1e8 }));
const copy = () => structuredClone(RECORDED);

test("a link to a recorded run comes back as it was", () => {
  const link = buildLink("https://host/path/", linkStateOf(RECORDED, "capital.json", { threshold: 0.85 }, 7));
  assert.equal(link, "https://host/path/?preset=capital&tau=0.85&tok=8");
  const state = {
    preset: "capital",
    problem: null,
    dials: { threshold: 0.85 },
    token: 7,
    look: usualLook(),
    branches: null,
    refused: [],
  };
  assert.deepEqual(readLink(new URL(link).search), state);
});

test("a link keeps what is shown of a run and its price, and says nothing of what is as usual", () => {
  const pairs = ["Small / 72B", "Small / 70B"];
  const price = { pair: "Small / 70B", bandwidth: 935.5, compute: null };
  const look = { filter: "llm", certainty: true, price };
  const link = buildLink("https://host/", linkStateOf(RECORDED, "capital.json", {}, null, look));
  assert.equal(link, "https://host/?preset=capital&show=llm&cert=1&as=Small+%2F+70B&bw=935.5");
  const read = readLink(new URL(link).search, pairs);
  assert.deepEqual([read.look, read.refused], [look, []]);
  const odd = readLink("?preset=capital&show=both&cert=yes&as=Small&bw=0&fl=1e10", pairs);
  assert.deepEqual(odd.look, usualLook());
  assert.deepEqual(odd.refused, [
    'show is "both"; it must be "slm" or "llm" or "decisive".',
    'cert is "yes"; it must be "1".',
    'as is "Small"; it must be "Small / 72B" or "Small / 70B".',
    "bw is 0; it must be a number above 0, at most 1,000,000,000.",
    "fl is 10000000000; it must be a number above 0, at most 1,000,000,000.",
  ]);
  assert.match(readLink("?preset=capital&as=Small").refused[0], /must be left out/);
});

test("a link to a live run holds problem and settings, for every hostile question", () => {
  for (const question of HOSTILE) {
    if (!question.trim()) continue;
    const trace = copy();
    Object.assign(trace.prompt, { question: question.toWellFormed(), data_type: "mc" });
    Object.assign(trace.settings, {
      threshold: 0.5,
      temperature: 0.3,
      top_p: 0.9,
      seed: -7,
      max_new_tokens: 99,
      ...NEWER,
    });
    const state = readLink(new URL(buildLink("http://h/", linkStateOf(trace, null, { threshold: 0.2 }, null))).search);
    assert.deepEqual(state, {
      preset: null,
      dials: { threshold: 0.2 },
      token: null,
      problem: { question: trace.prompt.question, data_type: "mc", router: "citer", settings: trace.settings },
      look: usualLook(),
      branches: null,
      refused: [],
    });
    assert.ok(isRunOfLink(trace, state.problem));
  }
});

test("what is out of range in a link is as good as absent, and named", () => {
  assert.equal(readLink("?__theme=dark"), null);
  assert.equal(readLink("?q=%20"), null);
  assert.deepEqual(readLink("?preset=a&tau=2&tok=0"), {
    preset: "a",
    problem: null,
    dials: {},
    token: null,
    look: usualLook(),
    branches: null,
    refused: ["tok is 0; it must be a whole number from 1 to 1,000,000.", "τ is 2; it must be a number from 0 to 1."],
  });
  const { problem, refused } = readLink("?q=x&type=poem&n=1e9&temp=-1&top_p=&seed=1.5&at=high&utm_source=y");
  assert.deepEqual(problem, {
    question: "x",
    data_type: "math",
    router: null,
    settings: { threshold: 0.7, max_new_tokens: 256, temperature: 0, top_p: 1, seed: 0, ...NEWER },
  });
  assert.deepEqual(
    refused.map((sentence) => sentence.split(";")[0]),
    ['type is "poem"', 'at is "high"', "n is 1000000000", "temp is -1", "seed is 1.5"],
  );
  assert.match(refused[2], /must be a whole number from 1 to 4,096/);
});

test("links from before read the same, each key on its own", () => {
  const base = "?type=math&q=1&router=citer";
  const usual = { threshold: 0.7, max_new_tokens: 256, temperature: 0, top_p: 1, seed: 0, ...NEWER };
  assert.deepEqual(readLink(`${base}&tau=0.2`).problem.settings, { ...usual, threshold: 0.2 });
  for (const [key, name, value] of [
    ["at", "threshold", 0.25],
    ["n", "max_new_tokens", 40],
    ["temp", "temperature", 0.3],
    ["top_p", "top_p", 0.9],
    ["seed", "seed", -7],
  ])
    assert.deepEqual(readLink(`${base}&${key}=${value}`).problem.settings, { ...usual, [name]: value });
});

test("export, import, export: the same to the byte, in the order of the other half", () => {
  const names = readdirSync(`${ROOT}assets/traces`).filter((name) => name !== "index.json" && name.endsWith(".json"));
  for (const name of names.filter((_, i) => i % fewOrAll(4, 1) === 0)) {
    const stored = readFileSync(`${ROOT}assets/traces/${name}`, "utf8");
    const once = traceToJson(parseTrace(stored));
    assert.equal(traceToJson(parseTrace(once)), once);
    assert.deepEqual(Object.keys(JSON.parse(once)), Object.keys(JSON.parse(stored)));
  }
  const trace = copy();
  trace.events = HOSTILE.map((text, index) => ({ ...RECORDED.events[0], index, text, slm_top: [[1, text, 0.5]] }));
  const once = traceToJson(trace);
  assert.equal(traceToJson(parseTrace(once)), once);
  // What this version does not know is left out, as on the server: nothing unchecked comes through.
  assert.equal(traceToJson(parseTrace(JSON.stringify({ ...trace, note: "new" }))), once);
});

test("hostile texts stay one cell of the table and keep their characters", () => {
  const trace = copy();
  trace.events = HOSTILE.map((text, index) => ({ ...RECORDED.events[0], index, text }));
  const [header, ...rows] = traceToCsv(trace).split("\r\n").slice(0, -1);
  assert.equal(rows.length, HOSTILE.length);
  const column = header.split(",").indexOf("text");
  assert.equal(column, 2);
  rows.forEach((row, i) => {
    const cell = /^\d+,\d+,"((?:[^"]|"")*)",/.exec(row);
    assert.ok(cell, row);
    const shown = cell[1].replaceAll('""', '"');
    assert.ok(shown.startsWith('"'), "never a formula");
    assert.equal(JSON.parse(shown), HOSTILE[i]);
  });
});

test("hostile texts lose no character to marks, and nothing stays invisible in a label", () => {
  for (const text of HOSTILE) {
    assert.equal(
      splitMarks(text)
        .map((part) => part.text)
        .join(""),
      text,
    );
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(visibleText(text), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
    assert.match(fileStem({ title: text, prompt: { question: "" } }), /^citer[-\p{L}\p{N}]*$/u);
  }
});

test("a picture holds only what XML allows, every box inside its width", () => {
  const { boxes, nLines } = layoutStrip(HOSTILE, (text) => 9 * [...text].length, 300);
  assert.equal(new Set(boxes.map((box) => box.index)).size, HOSTILE.length);
  for (const box of boxes) {
    assert.ok(box.x >= 0 && box.x + box.width <= 300, JSON.stringify(box));
    assert.ok(box.line < nLines);
    assert.equal(forXml(box.text), box.text);
  }
  assert.deepEqual(layoutStrip([" a", "b\nc"], (text) => text.length, 10).boxes, [
    { index: 0, text: " a", line: 0, x: 0, width: 2 },
    { index: 1, text: "b↵", line: 0, x: 2, width: 2 },
    { index: 1, text: "c", line: 1, x: 0, width: 1 },
  ]);
  assert.equal(forXml("a\u0000\ud800b\ufffe😀"), "a\ufffd\ufffdb\ufffd😀");
});

test("a trace goes into the template as it is, without any <", () => {
  for (const text of HOSTILE) {
    const page = fillTemplate("<a>CITER-TRACE-GOES-HERE</a><b>CITER-VIEW-GOES-HERE</b>", JSON.stringify({ text }));
    const held = page.slice(3, -"</a><b>null</b>".length);
    assert.ok(!held.includes("<"));
    assert.equal(JSON.parse(held).text, text);
  }
  assert.throws(() => fillTemplate("no place", "{}"), /no place/);
  const bytes = Uint8Array.from({ length: 60_001 }, (_, i) => (i * 7) % 256);
  const files = { "a/b.bin": packed(bytes.buffer) };
  const held = JSON.parse(fillFiles("<a>CITER-FILES-GO-HERE</a>", files).slice(3, -4));
  assert.deepEqual(new Uint8Array(unpacked(held["a/b.bin"])), bytes);
});

test("marks are scored by F1, beside as many put down blindly", () => {
  const truth = [true, true, false, false];
  const found = scoreMarks([true, false, true, false], truth);
  assert.deepEqual(
    [found.hits, found.missed, found.extra, found.precision, found.recall, found.score, found.chance],
    [1, 1, 1, 0.5, 0.5, 0.5, 0.5],
  );
  assert.equal(scoreMarks(truth, truth).score, 1);
  assert.equal(scoreMarks([false, false, false, false], truth).score, 0);
  assert.equal(scoreMarks([false], [false]).score, 1);
  assert.deepEqual(
    truth.map((isTrue, i) => markOfToken([true, false, true, false][i], isTrue)),
    ["hit", "missed", "extra", null],
  );
  const nLlm = RECORDED.events.filter(({ source }) => source === "llm").length;
  assert.ok(nLlm > 0);
  assert.equal(byRouter(RECORDED.events).filter(Boolean).length, nLlm);
  assert.ok(whereChanged(RECORDED.events).filter(Boolean).length <= nLlm);
});
