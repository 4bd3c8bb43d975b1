import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { drawRound, nRounds, scoreWords, scored } from "../../assets/compare/blind.js";
import { chosenColumns, columnsOf, firstDifference, standAt } from "../../assets/compare/columns.js";
import { buildCompareLink, readCompareLink } from "../../assets/compare/compare_link.js";
import { checkComparison, parseComparison } from "../../assets/compare/comparison_file.js";
import { findings } from "../../assets/compare/findings.js";
import { grown } from "../../assets/compare/live_form.js";
import { H100_SXM } from "../../assets/run/cost.js";

const FOLDER = new URL("../../assets/comparisons/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name !== "index.json");
const textOf = (file) => readFileSync(new URL(file, FOLDER), "utf8");
const CHAIR = parseComparison(textOf("chair.json"));
const COLUMNS = columnsOf(CHAIR, H100_SXM);
const of = (way) => COLUMNS.find((column) => column.way === way);

test("every stored comparison opens, and its columns hold the runs' own tokens and text", () => {
  assert.ok(FILES.length >= 6);
  for (const file of FILES) {
    const comparison = parseComparison(textOf(file));
    const columns = columnsOf(comparison, H100_SXM);
    assert.equal(columns.length, comparison.runs.length + 1);
    comparison.runs.forEach((run, k) => {
      assert.deepEqual(
        columns[k].ids,
        run.events.map((event) => event.token_id),
      );
      assert.equal(columns[k].cells.map(({ text }) => text).join(""), run.events.map((event) => event.text).join(""));
    });
    const drafted = columns.at(-1);
    const llm = columns.find(({ way }) => way === "llm");
    assert.deepEqual(drafted.ids, llm.ids, "speculative decoding writes the LLM's own text");
    const written = drafted.cells.filter(({ kind }) => kind !== "rejected").map(({ text }) => text);
    assert.equal(written.join(""), llm.cells.map(({ text }) => text).join(""));
    assert.equal(drafted.total.tokens, drafted.ids.length);
  }
});

test("a model alone is priced alone, a routed run with both, a draft by each of its passes", () => {
  const weights = ({ n_params: n, bytes_per_element: each }) => n * each;
  const { slm, llm } = CHAIR.runs[0].pair;
  const near = (value, expected) =>
    assert.ok(value >= expected && value < 1.2 * expected, `${value} is not ${expected}`);
  near(of("slm").total.bytes, weights(slm) * of("slm").ids.length);
  near(of("llm").total.bytes, weights(llm) * of("llm").ids.length);
  const { passes } = CHAIR.speculative;
  const nDrafted = passes.reduce((sum, pass) => sum + pass.drafted.length, 0);
  near(of("speculative").total.bytes, weights(slm) * nDrafted + weights(llm) * passes.length);
  assert.ok(of("routed").total.bytes > of("slm").total.bytes && of("routed").total.bytes < of("llm").total.bytes);
  const seconds = CHAIR.runs.at(-1).events.reduce((sum, event) => sum + event.llm_s, 0);
  assert.ok(Math.abs(of("llm").total.seconds - seconds) < 1e-9);
});

test("the clock shows what had come by then, and settles a draft when the LLM has read it", () => {
  for (const clock of ["bytes", "seconds", "tokens"]) {
    for (const column of COLUMNS) {
      assert.deepEqual(standAt(column, clock, 0).shown, 0);
      const end = column.cells.length;
      assert.deepEqual(standAt(column, clock, column.total[clock]), { shown: end, settled: end });
      for (let k = 0; k <= 20; k++) {
        const time = (column.total[clock] * k) / 20;
        const byHand = {
          shown: column.cells.filter(({ at }) => at[clock] <= time).length,
          settled: column.cells.filter(({ at, settled }) => (settled ?? at)[clock] <= time).length,
        };
        assert.deepEqual(standAt(column, clock, time), byHand);
        assert.ok(byHand.settled <= byHand.shown);
      }
    }
  }
  const drafted = of("speculative");
  const inDraft = drafted.cells[0].at.bytes;
  assert.deepEqual(standAt(drafted, "bytes", inDraft), { shown: 1, settled: 0 });
});

test("the first difference is a place, the shorter text's end, or nowhere", () => {
  assert.equal(firstDifference([1, 2, 3], [1, 2, 3]), -1);
  assert.equal(firstDifference([1, 9, 3], [1, 2, 3]), 1);
  assert.equal(firstDifference([1, 2], [1, 2, 3]), 2);
  assert.equal(firstDifference([], [1]), 0);
});

test("a page opens with SLM, routed and LLM, or with what a link asks for as far as it is there", () => {
  const routed = COLUMNS.find(({ way }) => way === "routed").id;
  assert.deepEqual(chosenColumns(COLUMNS, []), ["slm", routed, "llm"]);
  assert.deepEqual(chosenColumns(COLUMNS, ["speculative", "nobody", "slm"]), ["speculative", "slm"]);
  assert.deepEqual(chosenColumns(COLUMNS, ["nobody"]), ["slm", routed, "llm"]);
});

test("what speaks against routing is said first, and only what follows from the numbers", () => {
  const said = findings(COLUMNS);
  assert.match(said[0], /^Speculative decoding moved \d+% less than citer at τ 0\.93 here/);
  const share = 1 - of("speculative").total.bytes / of("routed").total.bytes;
  assert.ok(said[0].includes(`${Math.round(share * 100)}%`));
  assert.ok(said.some((text) => text.includes("keeps the LLM's distribution") && text.includes("Routing does not")));
  const routed = COLUMNS.filter(({ way }) => way === "routed");
  for (const column of routed) assert.equal(said.filter((text) => text.startsWith(`${column.name} `)).length, 1);
  const wrong = routed.find(({ answer }) => !answer.is_correct);
  assert.ok(said.some((text) => text.startsWith(wrong.name) && text.includes("wrong where the LLM's is right")));
  const dear = { ...of("speculative"), total: { ...of("llm").total } };
  assert.ok(!findings([of("routed"), dear])[0].includes("less than"));
});

test("a blind round takes two ways whose texts differ, in random order, and is counted for both", () => {
  const seen = new Set();
  for (let i = 0; i < 200; i++) {
    const { pair } = drawRound(COLUMNS, Math.random);
    const [one, other] = pair.map((id) => COLUMNS.find((column) => column.id === id));
    assert.notDeepEqual(one.ids, other.ids);
    assert.notEqual(one.way, other.way);
    seen.add(pair.join());
  }
  assert.ok(seen.has(`slm,llm`) && seen.has(`llm,slm`));
  assert.equal(drawRound([of("llm"), of("speculative")], Math.random), null);
  let score = scored({}, of("slm"), of("llm"), "second");
  score = scored(score, of("llm"), of("routed"), "tie");
  score = scored(score, of("routed"), of("slm"), "first");
  assert.equal(nRounds(score), 3);
  assert.equal(
    scoreWords(score),
    "So far you preferred SLM alone in 0 of 2, routed in 1 of 2 (1 even), LLM alone in 1 of 2 (1 even).",
  );
  assert.equal(scoreWords({}), "");
});

test("a link says problem, columns and clock, and what it does not know is left out", () => {
  const state = { problem: "chair", columns: ["slm", "citer@0.93", "speculative"], clock: "seconds" };
  const link = buildCompareLink("https://example.org/", state);
  assert.deepEqual(readCompareLink(new URL(link).search), state);
  assert.equal(new URL(link).searchParams.get("view"), "compare");
  assert.deepEqual(readCompareLink("?clock=moon&columns=,,a,a,b,c,d,e"), {
    problem: null,
    columns: ["a", "b", "c"],
    clock: null,
  });
  assert.deepEqual(readCompareLink(""), { problem: null, columns: [], clock: null });
});

test("documents that could not have been are refused", () => {
  const whole = JSON.parse(textOf("chair.json"));
  const pass = whole.speculative.passes[0];
  const damaged = [
    { ...whole, schema: "citer-trace" },
    { ...whole, schema_version: 2 },
    { ...whole, runs: [] },
    { ...whole, runs: [{}] },
    { ...whole, title: 5 },
    ...[{ n_accepted: 64 }, { texts: [] }, { context_len: 1 }, { drafted: [[1, "a", 2]] }].map((change) => ({
      ...whole,
      speculative: { ...whole.speculative, passes: [{ ...pass, ...change }, ...whole.speculative.passes.slice(1)] },
    })),
  ];
  for (const document of damaged) assert.throws(() => checkComparison(document), Error);
  assert.equal(checkComparison({ ...whole, speculative: null }).speculative, null);
});

test("what is new of a live comparison is put behind what is there, and nothing else", () => {
  const empty = {
    ...CHAIR,
    runs: CHAIR.runs.map((run) => ({ ...run, events: [] })),
    speculative: { ...CHAIR.speculative, passes: [] },
  };
  const [slm] = CHAIR.runs;
  const nRuns = CHAIR.runs.length;
  let now = grown(empty, [{ column: 0, base: 0, items: slm.events.slice(0, 2) }]);
  now = grown(now, [
    { column: 0, base: 2, items: slm.events.slice(2, 3) },
    { column: nRuns, base: 0, items: CHAIR.speculative.passes.slice(0, 1) },
  ]);
  assert.equal(now.runs[0].events.length, 3);
  assert.equal(now.speculative.passes.length, 1);
  now = grown(now, [
    { column: 0, base: 9, items: slm.events.slice(9, 10) },
    { column: 77, base: 0, items: [{}] },
  ]);
  assert.equal(now.runs[0].events.length, 3);
  assert.equal(empty.runs[0].events.length, 0);
});
