import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { drawRound, nRounds, readScore, scoreWords, scored } from "../../assets/compare/blind_panel.js";
import { askedOf, isThere, shortened } from "../../assets/compare/carried_run.js";
import { chosenColumns, columnsOf, firstDifference, standAt } from "../../assets/compare/columns.js";
import { comparisonInAddress, readCompareLink } from "../../assets/compare/compare_link.js";
import { checkComparison, parseComparison } from "../../assets/compare/comparison_file.js";
import { EQUAL_COSTS, pointAt, readCost } from "../../assets/compare/equal_cost.js";
import { findings } from "../../assets/compare/findings.js";
import { grown } from "../../assets/compare/live_form.js";
import { SHARED, readWay, wayInLink, wayOf } from "../../assets/compare/ways.js";
import { LOOKING_BACK } from "../../assets/run/dials.js";
import { CostModel, H100_SXM } from "../../assets/run/cost.js";
import { NEWER } from "./engine_files.mjs";

const FOLDER = new URL("../../assets/comparisons/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name !== "index.json");
const textOf = (file) => readFileSync(new URL(file, FOLDER), "utf8");
const FIRST = JSON.parse(textOf("index.json"))[0].file;
const RECORDED = parseComparison(textOf(FIRST));
/** Without the way that looks back, which has tests of its own. */
const SHOWN = { ...RECORDED, runs: RECORDED.runs.filter(({ settings }) => !settings.take_back) };
const COLUMNS = columnsOf(SHOWN, H100_SXM);
const of = (way) => COLUMNS.find((column) => column.way === way);
const NEWER_SHARED = Object.fromEntries(Object.entries(NEWER).filter(([name]) => SHARED.includes(name)));
const LOOK = wayOf("citer-outcome", LOOKING_BACK);

/** The routed run as one that looked back: at its fifth token the LLM took back what was the text from the third on. */
function lookedBack() {
  const run = SHOWN.runs[1];
  const events = run.events.map((event) => ({ ...event, source: "slm", llm_tokens_fed: 0 }));
  const discarded = events.slice(2, 5).map((event) => [event.token_id, event.text, event.slm_confidence]);
  const look = { ...events[2], source: "llm", llm_tokens_fed: events[2].context_len + 2, slm_s: 0.3, router_s: 0.03 };
  events[2] = {
    ...look,
    discarded,
    read: [
      [0.9, 0.9],
      [0.9, 0.9],
      [0.1, 0.9],
      [0.5, 0.9],
      [0.5, 0.9],
    ],
  };
  const settings = { ...run.settings, ...LOOKING_BACK };
  return { ...run, router: { ...run.router, name: "citer-outcome" }, events, settings };
}

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
      const kept = columns[k].cells.filter(({ kind }) => kind !== "rejected").map(({ text }) => text);
      assert.equal(kept.join(""), run.events.map((event) => event.text).join(""));
    });
    const drafted = columns.at(-1);
    const llm = columns.find(({ way }) => way === "llm");
    const written = drafted.cells.filter(({ kind }) => kind !== "rejected").map(({ text }) => text);
    // In bfloat16 rounding can turn a close choice; the page says so (`findings`).
    if (comparison.runs[0].pair.dtype === "float32") {
      assert.deepEqual(drafted.ids, llm.ids, "speculative decoding writes the LLM's own text");
      assert.equal(written.join(""), llm.cells.map(({ text }) => text).join(""));
    }
    assert.equal(written.length, drafted.ids.length);
    assert.equal(drafted.total.tokens, drafted.ids.length);
  }
});

test("a model alone is priced alone, a routed run with both, a draft by each of its passes", () => {
  const weights = ({ n_params: n, bytes_per_element: each }) => n * each;
  const { slm, llm } = SHOWN.runs[0].pair;
  const near = (value, expected) =>
    assert.ok(value >= expected && value < 1.2 * expected, `${value} is not ${expected}`);
  near(of("slm").total.bytes, weights(slm) * of("slm").ids.length);
  near(of("llm").total.bytes, weights(llm) * of("llm").ids.length);
  const { passes } = SHOWN.speculative;
  const nDrafted = passes.reduce((sum, pass) => sum + pass.drafted.length, 0);
  near(of("speculative").total.bytes, weights(slm) * nDrafted + weights(llm) * passes.length);
  assert.ok(of("routed").total.bytes > of("slm").total.bytes && of("routed").total.bytes < of("llm").total.bytes);
  const seconds = SHOWN.runs.at(-1).events.reduce((sum, event) => sum + event.llm_s, 0);
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
  const both = COLUMNS.filter(({ way }) => way === "routed").map(({ id }) => id);
  assert.deepEqual(chosenColumns(COLUMNS, [], 2), ["slm", ...both.slice(0, 2), "llm"], "each router that was asked");
});

test("another problem's router at its tau gives its column to one that this problem has", () => {
  const routed = COLUMNS.filter(({ way }) => way === "routed").map(({ id }) => id);
  assert.deepEqual(chosenColumns(COLUMNS, ["slm", "citer@0.111", "llm"]), ["slm", routed[0], "llm"]);
  assert.deepEqual(chosenColumns(COLUMNS, ["citer@0.111", routed[0]]), [routed[1], routed[0]].filter(Boolean));
  const many = ["a@0.1", "a@0.2", "a@0.3", "a@0.4", "llm"];
  assert.deepEqual(chosenColumns(COLUMNS, many), [...routed, "llm"].slice(-5));
});

test("what looks back is a column of its own, with what was taken back in its place, its clock and its bytes", () => {
  const run = lookedBack();
  const column = columnsOf({ ...SHOWN, runs: [run] }, H100_SXM)[0];
  assert.deepEqual([column.way, column.name], ["look-back", "Look-back by citer-outcome"]);
  assert.equal(column.id, "citer-outcome@0;back=0.2;doubt=0.35;final=0.02");
  assert.deepEqual(readWay(column.id), LOOK);
  assert.equal(wayInLink(LOOK), column.id);
  const looks =
    /^The LLM looked 1 time and took 3 tokens back; .* was for these\. \d+% of the tokens by the LLM, with /;
  assert.match(column.about, looks);
  assert.equal(column.about.split("with ")[1], "take back 0.2, doubt budget 0.35, final look above 0.02.");
  const gone = column.cells.filter(({ kind }) => kind === "rejected");
  assert.deepEqual(gone, column.cells.slice(2, 5));
  assert.deepEqual(
    gone.map(({ text }) => text),
    run.events[2].discarded.map(([, text]) => text),
  );
  assert.deepEqual(
    gone.map(({ place }) => place),
    [2, 3, 4],
  );
  assert.deepEqual(
    column.ids,
    run.events.map((event) => event.token_id),
  );
  const { slm, llm } = run.pair;
  const costs = new CostModel({ slm, llm, device: H100_SXM, routerParams: run.router.n_params });
  const bytes = run.events.reduce((sum, event) => sum + costs.step(event).bytes, 0);
  assert.ok(Math.abs(column.total.bytes / bytes - 1) < 1e-12);
  assert.ok(Math.abs(gone[2].at.seconds - gone[0].at.seconds - 0.22) < 1e-9);
  // All that the SLM wrote waits for the LLM, which read five tokens in one look; the rest is settled at the end.
  const look = column.cells[5];
  assert.equal(look.kind, "llm");
  assert.deepEqual(standAt(column, "bytes", gone[2].at.bytes), { shown: 5, settled: 0 });
  assert.deepEqual(standAt(column, "bytes", look.at.bytes), { shown: 6, settled: 6 });
  for (const clock of ["bytes", "seconds", "tokens"]) {
    const n = column.cells.length;
    assert.deepEqual(standAt(column, clock, column.total[clock]), { shown: n, settled: n });
  }
  assert.ok(findings([column, of("llm")]).some((text) => text.startsWith("Look-back by citer-outcome ")));
});

test("a page opens with what looks back beside the others, and a link's way gives its column to one alike", () => {
  const back = columnsOf({ ...SHOWN, runs: [lookedBack()], speculative: null }, H100_SXM)[0];
  const offered = [...COLUMNS.slice(0, -2), back, ...COLUMNS.slice(-2)];
  const routed = COLUMNS.filter(({ way }) => way === "routed").map(({ id }) => id);
  assert.deepEqual(chosenColumns(offered, []), ["slm", routed[0], back.id, "llm"]);
  assert.deepEqual(chosenColumns(offered, ["a@0.1", "b@0;back=0.5"]), [routed[0], back.id]);
  assert.deepEqual(chosenColumns(COLUMNS, ["a@0.1", "b@0;back=0.5"]), routed.slice(0, 2));
  assert.ok(drawRound([back, { ...of("routed"), ids: [1] }], Math.random), "two ways");
});

test("what speaks against routing is said first, and only what follows from the numbers", () => {
  const drafted = of("speculative");
  const priced = (column, bytes, more = {}) => ({ ...column, total: { ...column.total, bytes }, ...more });
  const wrong = { answer: { true_answer: "1", predicted_answer: "2", is_correct: false } };
  const right = { answer: { true_answer: "1", predicted_answer: "1", is_correct: true } };
  const routed = priced(of("routed"), 400, wrong);
  const said = findings([routed, priced(of("llm"), 1000, right), priced(drafted, 100)]);
  assert.ok(said[0].startsWith(`Speculative decoding moved 75% less than ${routed.name} here`));
  assert.ok(said.some((text) => text.includes("keeps the LLM's distribution") && text.includes("Routing does not")));
  const ours = said.filter((text) => text.startsWith(`${routed.name} `));
  assert.equal(ours.length, 1);
  assert.match(ours[0], /its answer is wrong where the LLM's is right; it moved 40% of the LLM's bytes\.$/);
  const verdicts = said.filter((text) => text.startsWith("Right: "));
  assert.equal(verdicts.length, 1);
  assert.match(verdicts[0], new RegExp(`^Right: .*LLM alone.*\\. Wrong: .*${routed.name}`));
  assert.ok(!findings([routed, priced(drafted, 500)])[0].includes("less than"));
  const stored = findings(COLUMNS);
  for (const { name } of COLUMNS.filter(({ way }) => way === "routed"))
    assert.equal(stored.filter((text) => text.startsWith(`${name} `)).length, 1);
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
  const state = { problem: "chair", columns: ["slm", "citer@0.93", "speculative"], clock: "seconds", live: null };
  const link = `https://example.org/?view=compare&${comparisonInAddress(state)}`;
  assert.deepEqual(readCompareLink(new URL(link).search), state);
  assert.equal(new URL(link).searchParams.get("view"), "compare");
  assert.deepEqual(readCompareLink("?clock=moon&columns=,,a,a,b,c,d,e,f,g"), {
    problem: null,
    columns: ["a", "b", "c", "d", "e"],
    clock: null,
    live: null,
  });
  assert.deepEqual(readCompareLink(""), { problem: null, columns: [], clock: null, live: null });
});

const ASKED = {
  question: "What is 2 + 3?\n& more, 50%",
  data_type: "math",
  routers: [{ router: "citer", threshold: 0.9123 }, { router: "max-probability", threshold: 0.5 }, LOOK],
  together: true,
  settings: { max_new_tokens: 99, temperature: 0.8, top_p: 0.9, seed: -4, ...NEWER_SHARED },
};

test("a link of a live comparison says all that it was asked with, each value in its range", () => {
  const state = { problem: null, columns: ["llm"], clock: null, live: ASKED };
  const link = `https://example.org/?${comparisonInAddress(state)}`;
  assert.deepEqual(readCompareLink(new URL(link).search), {
    problem: null,
    columns: ["llm"],
    clock: null,
    live: ASKED,
  });
  assert.equal(new URL(link).searchParams.has("q"), false, "which Explore would take for its own");
  const { live } = readCompareLink(
    "?live_question=1&live_type=song&live_routers=citer@2,a@b,@0.5,x@0.5,y@0,y@0.6;back=7;wind=3,z@0;doubt=3,q@0.8" +
      "&live_temp=9&live_top_p=0&live_seed=x&live_n=1e9",
  );
  assert.deepEqual(live, {
    question: "1",
    data_type: "math",
    routers: [
      { router: "x", threshold: 0.5 },
      { router: "y", threshold: 0.6 },
      { router: "z", threshold: 0, doubt_budget: 3 },
    ],
    together: false,
    settings: { max_new_tokens: 256, temperature: 0, top_p: 1, seed: 0, ...NEWER_SHARED },
  });
  assert.equal(readCompareLink(`?live_question=${"a".repeat(5000)}`).live, null);
});

test("Explore's run is asked as it is, and not offered where it stands already", () => {
  const routed = SHOWN.runs.find(({ settings }) => settings.threshold > 0 && settings.threshold < 1);
  const { question, data_type } = routed.prompt;
  const { threshold, temperature, top_p, seed, max_new_tokens } = routed.settings;
  const routers = [{ router: routed.router.name, threshold }];
  const settings = { max_new_tokens, temperature, top_p, seed, ...NEWER_SHARED };
  assert.deepEqual(askedOf(routed), { question, data_type, routers, settings });
  assert.deepEqual(askedOf(lookedBack()), { question, data_type, routers: [LOOK], settings });
  assert.equal(isThere(lookedBack(), routed.prompt, COLUMNS), false);
  assert.deepEqual(askedOf(SHOWN.runs[0]).routers, []);
  assert.equal(isThere(routed, SHOWN.runs[0].prompt, COLUMNS), true);
  const other = { ...routed, settings: { ...routed.settings, threshold: 0.123 } };
  assert.equal(isThere(other, SHOWN.runs[0].prompt, COLUMNS), false);
  assert.equal(isThere(routed, { ...routed.prompt, question: "Another?" }, COLUMNS), false);
  assert.equal(isThere(routed, undefined, []), false);
  assert.equal(shortened("one\ntwo"), "one");
  assert.match(shortened("a ".repeat(60)), /^[a ]{59}…$/);
});

test("a kept score is read as it was, and what is none is none", () => {
  const score = scored(scored({}, of("slm"), of("llm"), "second"), of("llm"), of("routed"), "tie");
  assert.deepEqual(readScore(JSON.stringify(score)), score);
  for (const text of [null, "", "{", "5", "null", '{"slm": 3}', '{"slm": {"wins": -1, "losses": 0, "ties": 0}}', "[]"])
    assert.deepEqual(readScore(text), {});
});

test("documents that could not have been are refused", () => {
  const whole = JSON.parse(textOf(FIRST));
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
    ...SHOWN,
    runs: SHOWN.runs.map((run) => ({ ...run, events: [] })),
    speculative: { ...SHOWN.speculative, passes: [] },
  };
  const [slm] = SHOWN.runs;
  const nRuns = SHOWN.runs.length;
  let now = grown(empty, [{ column: 0, base: 0, items: slm.events.slice(0, 2) }]);
  now = grown(now, [
    { column: 0, base: 2, items: slm.events.slice(2, 3) },
    { column: nRuns, base: 0, items: SHOWN.speculative.passes.slice(0, 1) },
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

test("two routers are made equal in bytes between measured points, and nowhere else", () => {
  const point = (router, share_wanted, bytes_share, tau) => ({ router, share_wanted, bytes_share, tau, n: 1000 });
  const points = [
    point("a", 0.2, 0.3, 0.8),
    point("a", 0.1, 0.2, 0.4),
    point("a", null, 0.25, 0),
    point("b", 0.1, 0.2, 1),
  ];
  assert.deepEqual(pointAt(points, "a", "bytes", 0.2), { tau: 0.4, n: 1000 });
  assert.ok(Math.abs(pointAt(points, "a", "bytes", 0.275).tau - 0.7) < 1e-12);
  assert.deepEqual(pointAt(points, "b", "bytes", 0.2), { tau: 1, n: 1000 });
  for (const [router, wanted] of [
    ["a", 0.15],
    ["a", 0.4],
    ["b", 0.25],
    ["c", 0.2],
  ])
    assert.equal(pointAt(points, router, "bytes", wanted), null);
  assert.equal(pointAt(points, "a", "share", 0.2).tau, 0.8);
  assert.equal(pointAt(points, "a", "share", 0.3), null);
  assert.deepEqual(
    EQUAL_COSTS.map(([value]) => readCost(value)).find(([measure]) => measure === "bytes"),
    ["bytes", 0.15],
  );
});
