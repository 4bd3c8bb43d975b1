import assert from "node:assert/strict";
import test from "node:test";

import { AXES, addressOf, axesOf, csvOf, curvesFigure, curvesOf, tableOf } from "../../assets/evidence/figures.js";
import { readLink } from "../../assets/page/link.js";

const point = (router, share, right, more = {}) => ({
  router,
  label: router.toUpperCase(),
  seeds: 1,
  share_wanted: share,
  tau: 0.8765432109,
  share,
  n: 200,
  right,
  accuracy: right / 200,
  low: right / 200 - 0.05,
  high: right / 200 + 0.05,
  bytes_share: share === null ? null : share + 0.11,
  gb: null,
  tflop: null,
  seconds: null,
  opens: true,
  ...more,
});
const POINTS = [
  point("always-slm", 0, 90, { bytes_share: null }),
  point("always-llm", 1, 196, { bytes_share: null }),
  point("citer", 0.2, 194),
  point("citer", 0.1, 188),
  point("margin", 0.1, 195),
];
const PALETTE = Object.fromEntries(
  ["text", "muted", "rule", "surface", "slm", "llm", "cost", "font"].map((name) => [name, name]),
);

test("only axes that were measured are offered, and a curve goes by its cost", () => {
  assert.deepEqual(axesOf(POINTS), ["share", "bytes_share"]);
  assert.deepEqual(Object.keys(AXES), ["share", "bytes_share", "gb", "tflop", "seconds"]);
  assert.deepEqual(
    curvesOf(POINTS, "share").map((curve) => curve.map(({ right }) => right)),
    [[188, 194], [195]],
  );
  assert.deepEqual(curvesOf(POINTS, "gb"), []);
});

test("the figure has every point with its interval, and either model alone as a line", () => {
  const { data, layout } = curvesFigure(POINTS, "bytes_share", PALETTE);
  assert.deepEqual(
    data.map(({ name, visible }) => [name, visible]),
    [
      ["ALWAYS-SLM", undefined],
      ["ALWAYS-LLM", undefined],
      ["CITER", true],
      ["MARGIN", "legendonly"],
    ],
  );
  const [slm, , citer] = data;
  assert.deepEqual(slm.y, [0.45, 0.45]);
  assert.deepEqual(citer.y, [0.94, 0.97]);
  assert.deepEqual(citer.customdata, [3, 2]);
  assert.ok(Math.abs(citer.error_y.array[0] - 0.05) < 1e-12 && Math.abs(citer.error_y.arrayminus[1] - 0.05) < 1e-12);
  assert.match(
    citer.text[0],
    /^CITER at τ = 0\.8765: 188 of 200 right \(94\.0%, 89\.0% to 99\.0%\), 10\.0% LLM tokens$/,
  );
  assert.equal(layout.xaxis.title.text, AXES.bytes_share.title);
});

test("a point opens exactly its router and tau", () => {
  const problem = { question: "What is 1 + 1?", data_type: "math", router: null, settings: { temperature: 0 } };
  const opened = readLink(new URL(addressOf("https://page/", POINTS[3], problem)).search);
  assert.equal(opened.tau, 0.8765432109);
  assert.equal(opened.problem.router, "citer");
  assert.equal(opened.problem.settings.threshold, 0.8765432109);
  assert.equal(opened.problem.question, problem.question);
  assert.deepEqual(opened.refused, []);
});

test("the table says what was not measured, and the CSV has all digits", () => {
  const { head, rows } = tableOf(POINTS);
  assert.equal(head.length, rows[2].length);
  assert.deepEqual(rows[2].slice(0, 6), ["CITER", "0.8765", "20.0%", "194", "200", "97.0%"]);
  assert.equal(rows[2].at(-1), "not measured");
  const lines = csvOf([point('a "b",c', 0.1, 1)])
    .trimEnd()
    .split("\r\n");
  assert.match(lines[0], /^label,tau,share,right,n,/);
  assert.ok(lines[1].startsWith('"A ""B"",C",0.8765432109,0.1,1,200,'));
});
