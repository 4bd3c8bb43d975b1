import assert from "node:assert/strict";
import test from "node:test";

import { shortestBetween } from "../../assets/run/cut.js";
import { floats, isEnd, unpack } from "../../assets/labels/analysis.js";
import { findingOf, rivalOf } from "../../assets/labels/finding.js";
import { histogramFigure, prFigure, reliabilityFigure, rocFigure, shifted } from "../../assets/labels/curve_charts.js";
import { conclusion } from "../../assets/labels/detail_panel.js";
import { decided, differs, firstToSee, inCell, nextInCell, tokensIn } from "../../assets/labels/label_view.js";
import { selectRows, toCsv } from "../../assets/labels/table_panel.js";
import { CELLS, bestThreshold, cellOf, confusion, tauForCount } from "../../assets/labels/verdict.js";

const base64 = (values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");

const CONFIDENCE = [0.9, 0.2, 0.7, 0.99, 0.4, 1, 0.1, 0.95];
const OTHER = [0.5, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9, 0.2];
const LABEL = "11010110";

function message() {
  const probability = base64(CONFIDENCE);
  return {
    analysis: "id",
    title: "two problems",
    problems: [
      { id: "p1", kind: "math", question: "?", answer: "1", n: 5 },
      { id: null, kind: "mc", question: "?", answer: "A", n: 3 },
    ],
    routers: [
      { name: "a", label: "A", tau: 0.7, prior: "" },
      { name: "b", label: "B", tau: 0.5, prior: "equal" },
    ],
    words: [" The", "=1", '"x", y', "", "<b>"],
    text: [0, 1, 2, 0, 3, 4, 1, 3],
    slm: [0, 1, 4, 0, -1, 4, 1, 0],
    llm: [0, 1, 2, 0, -1, 4, 1, -1],
    case: "11213112",
    label: LABEL,
    slm_probability: probability,
    llm_probability: probability,
    slm_truth_probability: probability,
    llm_truth_probability: probability,
    confidence: { a: base64(CONFIDENCE), b: base64(OTHER) },
  };
}

const viewOf = (more = {}) =>
  decided({
    analysis: unpack(message(), "published"),
    router: "a",
    other: "",
    tau: 0.7,
    matched: false,
    ratio: 10,
    cell: null,
    problem: 0,
    selected: null,
    ...more,
  });
const ALL = { query: "", column: "index", descending: false };

test("confidences arrive bit by bit", () => {
  assert.deepEqual([...floats(base64(CONFIDENCE))], CONFIDENCE.map(Math.fround));
});

test("an analysis is unpacked by token and by problem", () => {
  const analysis = unpack(message(), "published");
  assert.deepEqual([...analysis.problemOf], [0, 0, 0, 0, 0, 1, 1, 1]);
  assert.deepEqual(
    analysis.problems.map((p) => p.start),
    [0, 5],
  );
  assert.equal(analysis.slm[4], null);
  assert.equal(analysis.text[2], '"x", y');
  assert.deepEqual(
    [3, 4, 7].map((i) => isEnd(analysis, i)),
    [false, true, true],
  );
});

test("the four cells, and tau 1 hands over everything", () => {
  assert.equal(cellOf(1, 0.7, 0.7), "kept");
  assert.equal(cellOf(1, 0.69, 0.7), "waste");
  assert.equal(cellOf(0, 0.7, 0.7), "risk");
  assert.equal(cellOf(0, 0.69, 0.7), "caught");
  assert.equal(cellOf(0, 1, 1), "caught");
});

test("each cell selects exactly its tokens, and together they are all", () => {
  for (const tau of [0, 0.2, 0.7, 0.95, 1]) {
    const view = viewOf({ tau });
    const { analysis } = view;
    const counts = confusion(analysis.confidence.a, analysis.label, tau);
    const rows = CELLS.map((cell) => selectRows({ ...view, cell }, ALL));
    assert.deepEqual(view.counts, counts);
    CELLS.forEach((cell, k) => {
      assert.equal(rows[k].length, counts[cell]);
      for (const i of rows[k]) assert.equal(cellOf(analysis.label[i], analysis.confidence.a[i], tau), cell);
    });
    assert.deepEqual(
      rows.flat().sort((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
  }
});

test("a confidence that equals tau as float32 is decided as the server decides it", () => {
  const float = Math.fround(0.7); // 0.699999988
  assert.equal(confusion(Float32Array.of(float), Uint8Array.of(1), 0.7).waste, 1);
});

test("the best tau weighs risks against wastes and prefers few LLM tokens", () => {
  const label = [...LABEL].map(Number);
  assert.deepEqual(bestThreshold(CONFIDENCE, label, 1), { tau: 0, cost: 3, risk: 3, waste: 0 });
  const best = bestThreshold(CONFIDENCE, label, 10);
  const costs = [0, ...CONFIDENCE, 1].map((tau) => {
    const c = confusion(CONFIDENCE, label, tau);
    return 10 * c.risk + c.waste;
  });
  assert.ok(best.cost <= Math.min(...costs));
  assert.deepEqual(confusion(CONFIDENCE, label, best.tau).risk, best.risk);
});

test("the suggested tau is short", () => {
  assert.equal(shortestBetween(0.62, 0.97), 0.9);
  assert.equal(shortestBetween(0.9999, 1), 0.99999);
});

test("the second router can be set to as many LLM tokens", () => {
  for (const count of [0, 2, 3, 8]) {
    const tau = tauForCount(CONFIDENCE, count);
    assert.equal(CONFIDENCE.filter((c) => tau >= 1 || c < tau).length, count);
  }
  assert.equal(tauForCount([0.5, 0.5, 0.5], 1), 0); // ties go together
});

test("what follows from a choice is of both routers, the second one at as many LLM tokens", () => {
  const view = viewOf({ other: "b", matched: true });
  assert.equal(view.otherTau, tauForCount(OTHER.map(Math.fround), view.counts.waste + view.counts.caught));
  assert.deepEqual(view.otherCounts, confusion(view.analysis.confidence.b, view.analysis.label, view.otherTau));
  assert.deepEqual(view.bestCounts, confusion(view.analysis.confidence.a, view.analysis.label, view.best.tau));
  assert.deepEqual([view.names, view.easyShare], [["a", "b"], 5 / 8]);
  assert.deepEqual([viewOf().otherCounts, viewOf().names], [null, ["a"]]);
});

test("rows are filtered, searched and sorted", () => {
  const view = viewOf({ other: "b" });
  assert.deepEqual(selectRows(view, { ...ALL, query: "=1" }), [1, 6]);
  assert.deepEqual(selectRows(view, { ...ALL, query: "<B>" }), [2, 5]); // also what a model would have written
  assert.deepEqual(selectRows(view, { ...ALL, column: "confidence" })[0], 6);
  assert.deepEqual(selectRows(view, { ...ALL, column: "confidence", descending: true })[0], 5);
  assert.deepEqual(selectRows(view, { ...ALL, descending: true })[0], 7);
  assert.deepEqual(selectRows({ ...view, cell: "differs" }, ALL), [0, 2, 4, 6, 7]); // 0.7 as float32 is below 0.7
  assert.equal(differs(viewOf(), 0), false);
  assert.equal(inCell(view, null, 0), true);
});

test("the table as CSV keeps token text literal and no formula", () => {
  const lines = toCsv(viewOf({ other: "b" }), [1, 2, 4])
    .trimEnd()
    .split("\r\n");
  assert.equal(lines.length, 4);
  assert.match(lines[1], /^"p1",2,"""=1""",1,1,/);
  assert.match(lines[2], /"""\\""x\\"", y"""/);
  assert.match(lines[3], /end of text/);
  assert.equal(lines[0].split(",").length, 17);
});

test("an honest router for equal priors lies above the diagonal where most tokens are easy", () => {
  assert.equal(shifted(0.5, 0.5), 0.5);
  assert.ok(Math.abs(shifted(0.5, 0.98) - 0.98) < 1e-12);
});

test("figures name their axes and series differ without colour", () => {
  const curves = {
    auc: 0.9,
    roc: [
      [0, 0, 0],
      [0.5, 0.1, 0.8],
      [1, 1, 1],
    ],
    pr: [
      [0.5, 0.8, 0.5],
      [1, 1, 0.1],
    ],
    reliability: [[0.1, 0.5, 0.3, 0.7, 10]],
    easy: new Array(20).fill(3),
    critical: new Array(20).fill(1),
  };
  const palette = new Proxy({}, { get: (_, name) => String(name) });
  const view = viewOf({ other: "b" });
  view.analysis.curves = () => curves;
  for (const figure of [rocFigure, prFigure, reliabilityFigure, histogramFigure]) {
    const { layout, data, table } = figure(view, palette);
    assert.ok(layout.xaxis.title.text && layout.yaxis.title.text);
    assert.ok(data.length >= 2 && table.rows.length > 0);
    assert.ok(table.rows.every((row) => row.length === table.head.length));
  }
  const [first, second] = rocFigure(view, palette).data.filter(
    (series) => series.mode === "lines" && series.name !== "chance",
  );
  assert.notEqual(first.line.dash, second.line.dash);
  // Where a card says that its confidence is for equal priors, the line is drawn that such a router would lie on.
  const lines = (router) => reliabilityFigure({ ...view, router }, palette).data.map(({ name }) => name);
  assert.deepEqual(lines("a"), ["honest", "a", "b"]);
  assert.deepEqual(lines("b"), ["honest", "honest at equal priors", "a", "b"]);
});

test("the next risk is the next one, and behind the last comes the first", () => {
  const view = viewOf({ tau: 0.15 }); // risks are the tokens of label 0: 2, 4 and 7
  const seen = [];
  for (let at = -1, k = 0; k < 4; k++) seen.push((at = nextInCell(view, "risk", at, 1)));
  assert.deepEqual(seen, [2, 4, 7, 2]);
  assert.equal(nextInCell(view, "risk", 2, -1), 7);
  assert.equal(nextInCell(view, "risk", 5, -1), 4);
  assert.deepEqual(tokensIn(view, "risk"), [2, 4, 7]);
  assert.equal(nextInCell(viewOf({ tau: 1 }), "risk", -1, 1), null);
});

test("what is seen first is a risk that changes the answer, if there is one", () => {
  const token = (truth, slm, llm, label = 0) => ({ truth, slm, llm, label });
  const word = token("That", "The", "That");
  const space = token("6", " ", "6"); // what comes after the space may be the same digit
  const number = token("5", "4", "5");
  const choice = token("C", "D", "C");
  const agreed = token("3", "1", "1"); // the LLM would change nothing
  const easy = token("7", "7", "7", 1);
  const firstOf = (tau, ...tokens) =>
    firstToSee({
      analysis: {
        text: tokens.map(({ truth }) => truth),
        slm: tokens.map(({ slm }) => slm),
        llm: tokens.map(({ llm }) => llm),
        label: Uint8Array.from(tokens, (one) => one.label),
        confidence: { a: tokens.map(() => 0.5) },
      },
      router: "a",
      tau,
      other: "",
    });
  assert.equal(firstOf(0, easy, word, space, agreed, number, choice), 4);
  assert.equal(firstOf(0, word, choice), 1);
  assert.equal(firstOf(0, easy, word, agreed, space), 2); // in a number, at least
  assert.equal(firstOf(0, easy, token("a", null, "a"), word), 1);
  assert.equal(firstOf(1, easy, word, number), 1); // no risk is left
  assert.equal(firstOf(0, easy), -1);
});

test("the finding names the one that leaves fewer risks first, at the same share", () => {
  const labels = [0, 0, 1, 1, 1, 1];
  const analysisOf = (names, ...confidences) => ({
    n: 6,
    rule: "published",
    label: labels,
    caseOf: [2, 3, 1, 1, 3, 1],
    routers: names.map((name) => ({ name })),
    confidence: Object.fromEntries(names.map((name, k) => [name, confidences[k]])),
  });
  const good = [0.1, 0.2, 0.8, 0.9, 0.9, 0.9];
  const bad = [0.6, 0.2, 0.1, 0.9, 0.9, 0.9];
  const free = analysisOf(["citer", "max-probability"], bad, good);
  assert.equal(
    findingOf(free, "citer", 0.5).lead,
    "By the published labels, max-probability leaves 0 risks, citer 1, at the same share of LLM tokens: 33.3%, " +
      "as citer at τ 0.50 has.",
  );
  const ours = analysisOf(["citer", "max-probability"], good, bad);
  assert.match(
    findingOf(ours, "citer", 0.5).lead,
    /^By the published labels, citer leaves 0 risks, max-probability 1, at the/,
  );
  const tied = analysisOf(["citer", "max-probability"], good, good);
  assert.match(
    findingOf(tied, "citer", 0.5).lead,
    /^By the published labels, citer and max-probability leave 0 risks each, at the same/,
  );
  const coarse = analysisOf(["citer", "max-probability"], good, [0.1, 0.1, 0.1, 0.9, 0.9, 0.9]);
  assert.match(
    findingOf(coarse, "citer", 0.5).lead,
    /at about the same share of LLM tokens: citer at τ 0\.50 has 33\.3%, max-probability 50\.0%\./,
  );
  // Each count beside the case that it is of.
  assert.match(
    findingOf(free, "citer", 0.5).more,
    /2 of 6 tokens are critical: 1 of case 2, where only the LLM's token .+, and 1 of case 3, where neither/,
  );
  const asked = { ...free, label: [0, 0, 1, 1, 0, 1] };
  assert.match(findingOf(asked, "citer", 0.5).more, /3 of 6 tokens are critical: 1 of case 2, .+ and 2 of case 3,/);
  assert.equal(rivalOf(free, "max-probability"), "citer");
  assert.equal(
    findingOf(analysisOf(["citer"], good), "citer", 0.15).lead,
    "By the published labels, citer at τ 0.15 leaves 1 risk at 16.7% LLM tokens.",
  );
  const { lead, more } = findingOf({ ...free, rule: "outcome", label: [0, 2, 1, 1, 2, 1] }, "citer", 0.5);
  assert.match(lead, /^By outcome, max-probability leaves 0 risks, citer 1, at the same share of LLM tokens: 33\.3%/);
  assert.match(more, /1 of 6 tokens are critical: only the LLM's token .+ After 2 neither did: they have no label/);
});

test("labels by outcome are taken where there are such, and a token without one is in no cell of the matrix", () => {
  const both = { ...message(), outcome: "12010110" };
  const [outcome, published] = [unpack(both, "outcome"), unpack(both, "published")];
  assert.deepEqual([outcome.rule, outcome.rules], ["outcome", ["outcome", "published"]]);
  const drawn = (analysis) => analysis.curves("a").reliability.reduce((sum, row) => sum + row[4], 0);
  assert.deepEqual([drawn(outcome), drawn(published)], [7, 8]);
  assert.deepEqual([published.rule, [...published.label].join("")], ["published", LABEL]);
  assert.deepEqual(unpack(message(), "outcome").rules, ["published"]);
  assert.throws(() => unpack({ ...both, outcome: "1" }, "outcome"), /arrived damaged/);

  const view = viewOf({ analysis: outcome });
  const { llm, open, ...cells } = view.counts;
  assert.deepEqual(cells, { kept: 3, waste: 1, risk: 1, caught: 2 }); // 0.7 as float32 is below 0.7
  assert.deepEqual([llm, open, view.easyShare], [4, 1, 4 / 7]);
  assert.deepEqual(tokensIn(view, "open"), [1]);
  assert.equal(toCsv(view, [0, 1]).split("\r\n")[2].split(",")[4], '""');
  assert.match(toCsv(view, [0]), /,label_by_outcome,/);
  // What costs least knows nothing of it: at any tau it is neither a risk nor a waste.
  const { risk, waste } = bestThreshold(Float32Array.of(0.1, 0.2, 0.9), Uint8Array.of(2, 0, 1), 10);
  assert.deepEqual({ risk, waste }, { risk: 0, waste: 0 });
});

test("what two branches say of a label", () => {
  const said = (preferred, label) => conclusion({ preferred }, label);
  assert.match(said("slm", 1), /^The branches agree with the label: the SLM’s branch is right/);
  assert.match(said("slm", 0), /^The branches disagree with the label: the SLM’s branch is right/);
  assert.match(said("llm", 0), /^The branches agree with the label: only the LLM’s branch is right/);
  assert.match(said("llm", 1), /^The branches disagree with the label: only/);
  assert.match(said(null, 0), /^Undecided: .+ The token has label 0/);
  assert.match(said("llm", 2), /^The token has no label\. Here only/);
});
