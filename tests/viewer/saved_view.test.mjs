import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { BranchBook, MOST_BRANCHES } from "../../assets/run/branch_book.js";
import { traceKey } from "../../assets/run/branch_diff.js";
import { GateError } from "../../assets/run/gate.js";
import { fillTemplate } from "../../assets/share/offline_file.js";
import { readView, viewOf } from "../../assets/share/saved_view.js";
import { DEVICE, LLM, SLM } from "./fixtures.mjs";

const RECORDED = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../assets/traces/capital.json", import.meta.url)), "utf8"),
);
const PRICE = { pair: "Large", bandwidth: 935.5, compute: null };

/** A page's viewer with a run and `n` branches, each of the one before. */
function viewerOf(n) {
  const book = new BranchBook();
  book.reset(RECORDED);
  for (let i = 0; i < n; i++) {
    const trace = structuredClone(RECORDED);
    Object.assign(trace, { parent: { key: traceKey(book.shown.trace), fork: i } });
    trace.events[i].text = `</script> ${i}`;
    book.add(trace, book.shown);
  }
  return {
    view: { live: false, origin: null, whatIf: 0.25, pinned: 3, trace: () => book.shown.trace },
    branching: { book },
    legend: { look: { filter: "llm", certainty: true } },
    pricing: { label: "Large", slm: SLM, llm: LLM, routerParams: 5, device: { ...DEVICE, memory_bytes: null } },
  };
}

test("what stands beside a run comes back through a page's element", () => {
  const viewer = viewerOf(MOST_BRANCHES);
  viewer.branching.book.shownId = 2;
  const { json, nLeft } = viewOf(viewer, PRICE);
  const page = fillTemplate("<a>CITER-TRACE-GOES-HERE</a><b>CITER-VIEW-GOES-HERE</b>", "{}", json);
  const held = page.slice("<a>{}</a><b>".length, -"</b>".length);
  assert.ok(!held.includes("<") && nLeft === 0);
  const { branches, traces, pricing, ...rest } = readView(held);
  assert.deepEqual(rest, {
    schema: "citer-view",
    threshold: 0.25,
    token: 3,
    filter: "llm",
    certainty: true,
    price: PRICE,
    shown: 2,
  });
  assert.deepEqual([pricing.label, pricing.slm.n_params, pricing.routerParams], ["Large", SLM.n_params, 5]);
  const { entries } = viewer.branching.book;
  assert.deepEqual(
    branches,
    entries.map(({ name, parentId: parent, fork }) => ({ name, parent, fork })),
  );
  assert.deepEqual(
    traces,
    entries.map(({ trace }, i) => (i === 2 ? null : trace)),
  );
  const again = new BranchBook();
  again.restore(
    branches,
    traces.map((trace) => trace ?? entries[2].trace),
    2,
  );
  assert.deepEqual(again.entries, entries);
  assert.equal(readView("null"), null);
});

test("a run alone, or one that is being written, keeps no branches", () => {
  const alone = viewerOf(0);
  const writing = viewerOf(2);
  writing.view.live = true;
  for (const viewer of [alone, writing]) assert.deepEqual(readView(viewOf(viewer).json).branches, []);
});

test("the text under a moved tau is one more branch of the run that it was written from", () => {
  const viewer = viewerOf(2);
  const moved = { ...structuredClone(RECORDED), settings: { ...RECORDED.settings, threshold: 0.4 } };
  Object.assign(viewer.view, { origin: viewer.branching.book.shown.trace, trace: () => moved });
  const { branches, traces, shown } = readView(viewOf(viewer).json);
  assert.deepEqual([shown, branches[3]], [3, { name: "At τ 0.4", parent: 2, fork: 0 }]);
  assert.deepEqual(
    traces.map((trace) => trace === null),
    [false, false, false, true],
  );
});

test("branches that are too much are left out, those without which the shown one says nothing last", () => {
  const viewer = viewerOf(3);
  const { book } = viewer.branching;
  const room = (n) => n * JSON.stringify(RECORDED).length * 1.1;
  const names = (mostChars) => {
    const { json, nLeft } = viewOf(viewer, PRICE, mostChars);
    return [readView(json).branches.map(({ name }) => name), nLeft];
  };
  book.shownId = 1;
  assert.deepEqual(names(room(1)), [["Original", "Branch 1"], 2]);
  assert.deepEqual(names(room(2)), [["Original", "Branch 1", "Branch 2"], 1]);
  book.shownId = 3;
  assert.deepEqual(names(room(1)), [[], 4]);
  assert.deepEqual(names(room(3)), [["Original", "Branch 1", "Branch 2", "Branch 3"], 0]);
});

test("what is damaged is refused, and what is wrong is named", () => {
  const { json } = viewOf(viewerOf(2), PRICE);
  const cases = [
    [(view) => void (view.schema = "citer-trace"), /schema is "citer-trace"/],
    [(view) => void (view.threshold = 2), /threshold is 2; it must be a number from 0 to 1, or nothing/],
    [(view) => void (view.token = -1), /token is -1/],
    [(view) => void (view.filter = "both"), /filter is "both"/],
    [(view) => void (view.certainty = 1), /certainty is 1/],
    [(view) => void (view.price.bandwidth = 0), /price\.bandwidth is 0/],
    [(view) => void (view.pricing.device.bandwidth = "x"), /pricing\.device\.bandwidth is "x"/],
    [(view) => void (view.branches[1].fork = 1e9), /branches\[1\]\.fork is 1000000000/],
    [(view) => void (view.branches = Array(26).fill(view.branches[0])), /a list of at most 25/],
    [(view) => void (view.branches[1].parent = 1), /do not belong together/],
    [(view) => void (view.branches[0].parent = 0), /do not belong together/],
    [(view) => void view.traces.pop(), /do not belong together/],
    [(view) => void (view.shown = 0), /do not belong together/],
    [(view) => void delete view.traces, /do not belong together/],
    [(view) => void (view.traces[1].events[0].source = "both"), /source is "both"/],
  ];
  for (const [damage, message] of cases) {
    const view = JSON.parse(json);
    damage(view);
    assert.throws(
      () => readView(JSON.stringify(view)),
      (error) => error instanceof GateError && message.test(error.message),
      String(message),
    );
  }
  assert.throws(() => readView("{"), GateError);
  assert.throws(() => readView("[]"), GateError);
});
