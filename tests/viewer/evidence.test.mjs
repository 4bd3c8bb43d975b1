import assert from "node:assert/strict";
import test from "node:test";

import {
  AXES,
  addressOf,
  axesOf,
  csvOf,
  curvesFigure,
  curvesOf,
  sentenceOf,
  seriesOf,
  tableOf,
} from "../../assets/evidence/figures.js";
import { figuresAt, keyOf, levelIn } from "../../assets/evidence/arena_panel.js";
import { DASHES, MARKS } from "../../assets/evidence/curve_marks.js";
import { nextPlace } from "../../assets/evidence/chart_keys.js";
import { figureCsv, groupsOf, intervalText, scaleOf } from "../../assets/evidence/question_panel.js";
import { readLink } from "../../assets/app/link.js";

const point = (router, share, right, more = {}) => ({
  router,
  label: router.toUpperCase(),
  settings: {},
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
  seconds_alone: null,
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
const COLOURS = ["text", "muted", "rule", "surface", "slm", "llm", "cost", "font"];
const PALETTE = { ...Object.fromEntries(COLOURS.map((name) => [name, name])), size: 1 };

test("only axes that were measured are offered, and a curve goes by its cost", () => {
  assert.deepEqual(axesOf(POINTS), ["share", "bytes_share"]);
  assert.deepEqual(Object.keys(AXES), ["share", "bytes_share", "gb", "tflop", "seconds", "seconds_alone"]);
  assert.deepEqual(
    curvesOf(POINTS, "share").map((curve) => curve.map(({ right }) => right)),
    [[188, 194], [195]],
  );
  assert.deepEqual(curvesOf(POINTS, "gb"), []);
});

test("the figure has every point with its interval, and either model alone as a line", () => {
  const series = seriesOf(POINTS, "bytes_share");
  assert.deepEqual(
    series.map(({ label, isFirst }) => [label, isFirst]),
    [
      ["ALWAYS-SLM", true],
      ["ALWAYS-LLM", true],
      ["CITER", true],
      ["MARGIN", false],
    ],
  );
  assert.ok(seriesOf(POINTS, "bytes_share", "MARGIN").every(({ isFirst }) => isFirst));
  const { data, layout } = curvesFigure(series, POINTS, "bytes_share", PALETTE);
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

test("a curve looks the same whatever else is shown, and no two of 36 look alike", () => {
  const [, , , margin] = seriesOf(POINTS, "share");
  const { data } = curvesFigure([margin], POINTS, "share", PALETTE);
  assert.equal(data.length, 1);
  assert.deepEqual([data[0].line.dash, data[0].marker.symbol], [margin.dash, margin.symbol]);
  assert.deepEqual(data[0].customdata, [4]);
  const onlyHere = [point("drafted", null, 190), ...POINTS];
  const looks = seriesOf(onlyHere, "share").map(({ label, dash, symbol }) => [label, dash, symbol]);
  for (const look of looks) {
    const elsewhere = seriesOf(
      onlyHere.map((one) => ({ ...one, gb: 1 })),
      "gb",
    );
    const same = elsewhere.find(({ label }) => label === look[0]);
    assert.deepEqual([same.label, same.dash, same.symbol], look);
  }
  const many = Array.from({ length: 36 }, (_, k) => point(`router-${k}`, 0.1, 100));
  assert.equal(new Set(seriesOf(many, "share").map(({ dash, symbol }) => `${dash} ${symbol}`)).size, 36);
  for (const { dash, symbol } of seriesOf(many, "share")) assert.ok(DASHES[dash] && MARKS[symbol]);
});

test("a chart of which every curve is hidden keeps axes that are possible", () => {
  const { data, layout } = curvesFigure([], POINTS, "share", PALETTE);
  assert.deepEqual(data, []);
  const whole = [0, 1];
  assert.deepEqual([layout.xaxis.range, layout.yaxis.range], [whole, whole]);
  assert.equal(curvesFigure(seriesOf(POINTS, "share"), POINTS, "share", PALETTE).layout.xaxis.range, undefined);
});

test("a point opens exactly its router and tau", () => {
  const problem = { question: "What is 1 + 1?", data_type: "math", router: null, settings: { temperature: 0 } };
  const opened = readLink(new URL(addressOf("https://page/", POINTS[3], problem)).search);
  assert.deepEqual(opened.dials, { threshold: 0.8765432109 });
  assert.equal(opened.problem.router, "citer");
  assert.equal(opened.problem.settings.threshold, 0.8765432109);
  assert.equal(opened.problem.question, problem.question);
  assert.deepEqual(opened.refused, []);
});

test("a point of looking back has its settings in its sentence, its address and the table, and its own curve", () => {
  const settings = { take_back: 0.2, doubt_budget: 0.35 };
  const free = point("max-probability", 0.1, 150);
  const back = { ...point("max-probability", 0.03, 190, { tau: 0, settings }), label: "Look-back: at the end" };
  assert.match(sentenceOf(back), /^Look-back: at the end with take_back 0\.2, doubt_budget 0\.35: 190 of 200 right/);
  const problem = { question: "What is 1 + 1?", data_type: "math", router: null, settings: { temperature: 0 } };
  const opened = readLink(new URL(addressOf("https://page/", back, problem)).search);
  assert.deepEqual(
    [opened.dials.threshold, opened.problem.settings.take_back, opened.problem.settings.doubt_budget],
    [0, 0.2, 0.35],
  );
  assert.equal(tableOf([back]).rows[0].at(-1), "take_back 0.2, doubt_budget 0.35");
  const shown = seriesOf([free, back], "share").map((series) => [series.router, series.isFirst]);
  assert.deepEqual(shown, [
    ["max-probability", true],
    ["Look-back: at the end", false],
  ]);
});

test("the table says what was not measured, and the CSV has all digits", () => {
  const { head, rows } = tableOf(POINTS);
  assert.equal(head.length, rows[2].length);
  assert.deepEqual(rows[2].slice(0, 6), ["CITER", "0.8765", "20.0%", "194", "200", "97.0%"]);
  assert.equal(rows[2][head.indexOf("s one at a time")], "not measured");
  const lines = csvOf([point('a "b",c', 0.1, 1)])
    .trimEnd()
    .split("\r\n");
  assert.match(lines[0], /^label,tau,share,right,n,/);
  assert.ok(lines[1].startsWith('"A ""B"",C",0.8765432109,0.1,1,200,'));
  const tau = 0.4442851441393216;
  assert.match(
    csvOf([point("a", 0.1, 1, { tau, accuracy: 0.8999999999999999 })]),
    /"A",0\.4442851441393216,0\.1,1,200,0\.9,/,
  );
});

const row = (label, value, low, high, more = {}) => ({ group: "", label, value, low, high, n: 40, text: "", ...more });

test("a figure's numbers stand where they belong on their line", () => {
  const points = { title: "", unit: "points", rows: [row("a", -15, -20, -10)], reference: [0, "none"], is_log: false };
  const place = scaleOf(points);
  assert.deepEqual([-20, -15, 0].map(place), [0, 0.25, 1]);
  const shares = scaleOf({ ...points, unit: "share", rows: [row("a", 0.2, 0.1, 0.9)], reference: null });
  assert.deepEqual([0, 0.2, 1].map(shares), [0, 0.2, 1]);
  const seconds = scaleOf({
    ...points,
    unit: "seconds",
    rows: [row("a", 2, null, null), row("b", 4, null, null)],
    reference: null,
  });
  assert.deepEqual([0, 2, 4].map(seconds), [0, 0.5, 1]);
  const answers = scaleOf({
    ...points,
    unit: "answers",
    rows: [row("a", 20, null, null), row("b", 5000, null, null), row("c", null, null, null)],
    reference: null,
    is_log: true,
  });
  assert.deepEqual(
    [10, 100, 10000].map((x) => Math.round(300 * answers(x))),
    [0, 100, 300],
  );
});

test("rows stand under their headings, intervals are words, and the CSV has what is drawn", () => {
  const rows = [row("x", 0.5, 0.4, 0.6, { group: "math" }), row("y", null, null, null, { group: "mc", n: null })];
  assert.deepEqual(
    groupsOf(rows).map(([group, of]) => [group, of.length]),
    [
      ["math", 1],
      ["mc", 1],
    ],
  );
  assert.equal(intervalText(rows[0], "share"), "40.0 to 60.0%");
  assert.equal(intervalText(row("z", 3, -1, 7), "points"), "-1.0 to +7.0");
  assert.equal(intervalText(rows[1], "share"), "");
  const figure = { title: "", unit: "share", rows, reference: null, is_log: false };
  assert.equal(
    figureCsv(figure),
    'group,label,value (share),95% from,to,n\r\n"math","x",0.5,0.4,0.6,40\r\n"mc","y",,,,\r\n',
  );
});

test("arrows lead from point to point, round the end", () => {
  assert.deepEqual(
    ["ArrowRight", "ArrowLeft", "Home", "End", "Tab"].map((key) => nextPlace(0, 5, key)),
    [1, 4, 0, 4, -1],
  );
});

const contender = (label, needs, at, more = {}) => ({ label, is_held: false, needs, at, ...more });
const ARENA = {
  pair: "p",
  title: "P",
  levels: [
    { name: "10", words: "10% of the LLM's bytes", by_passes: false },
    { name: "20", words: "20% of the LLM's bytes", by_passes: false },
    { name: "p5", words: "5% LLM passes", by_passes: true },
  ],
  level: "20",
  kinds: [
    {
      kind: "math",
      n: 1000,
      contenders: [
        contender("dear", [35, 1], [null, null, [0.95, 0.9, 1, 0.96]]),
        contender("late", [20, 8], [null, [0.9, 0.8, 1.02, 0.947], null]),
        contender(
          "early",
          [8, 1],
          [
            [0.4, 0.3, 0.5, 0.7],
            [0.5, 0.4, 0.6, 0.75],
            [0.2, 0.1, 0.3, 0.6],
          ],
        ),
        contender(
          "steady",
          [10, 2],
          [
            [0.6, 0.5, 0.7, 0.8],
            [0.6, 0.5, 0.7, 0.8],
            [0.5, 0.4, 0.6, 0.75],
          ],
        ),
      ],
    },
  ],
};

test("the arena is sorted by what is recovered at the chosen cost, and who needs more says how much", () => {
  const shown = (level) => figuresAt(ARENA, level)[0].rows.map(({ label, text }) => [label, text]);
  assert.deepEqual(shown("10"), [
    ["steady", "60.0%"],
    ["early", "40.0%"],
    ["late", "needs\u00a020%"],
    ["dear", "needs\u00a035%"],
  ]);
  assert.deepEqual(shown("20"), [
    ["late", "90.0%"],
    ["steady", "60.0%"],
    ["early", "50.0%"],
    ["dear", "needs\u00a035%"],
  ]);
  assert.deepEqual(shown("p5"), [
    ["dear", "95.0%"],
    ["steady", "50.0%"],
    ["early", "20.0%"],
    ["late", "needs\u00a08%"],
  ]);
  const [figure, ...more] = figuresAt(ARENA, "20");
  assert.deepEqual(more, []);
  assert.equal(figure.title, "math, 1,000 problems: the gap recovered at 20% of the LLM's bytes");
  assert.match(figureCsv(figure), /,n,right\r\n"","late",0\.9,0\.8,1\.02,1000,0\.947\r\n/);
  assert.match(figureCsv(figure), /"dear",,,,,\r\n$/);
});

test("of many contenders ten are shown, with those that all are held against; all of them are one figure more", () => {
  const contenders = Array.from({ length: 14 }, (_, k) => {
    const at = [k / 20, 0, 1, 0.5];
    return contender(`c${k}`, [5, 1], [at, at, at], { is_held: k === 1 });
  });
  const [first, all] = figuresAt({ ...ARENA, kinds: [{ kind: "math", n: 40, contenders }] }, "10");
  const labels = (figure) => figure.rows.map(({ label }) => label);
  const sorted = Array.from({ length: 14 }, (_, k) => `c${13 - k}`);
  assert.deepEqual(labels(first), [...sorted.slice(0, 10), "c1"]);
  assert.deepEqual(labels(all), sorted);
  assert.ok(all.rows.every(({ group }) => group === "math"));
});

test("a link's cost is one that is offered, or that of the first look with a sentence", () => {
  const read = (text) => {
    const refused = [];
    return [levelIn(new URLSearchParams(text), ARENA, refused), refused];
  };
  assert.equal(keyOf(ARENA), "at-p");
  assert.deepEqual(read(""), ["20", []]);
  assert.deepEqual(read("at-p=p5"), ["p5", []]);
  for (const wrong of ["at-p=11", "at-p=x", `at-p=${"9".repeat(5000)}`]) {
    const [level, [sentence, ...more]] = read(wrong);
    assert.deepEqual([level, more], ["20", []]);
    assert.match(sentence, /at-p.*one of 10, 20, p5/);
    assert.ok(sentence.length < 200);
  }
});
