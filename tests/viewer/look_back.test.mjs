/** Tokens that the LLM took back: what a run counts, what stays on the screen, what a sentence says. */

import assert from "node:assert/strict";
import test from "node:test";

import { CostModel } from "../../assets/run/cost.js";
import { splitStep } from "../../assets/run/cost_split.js";
import { isForced, replay, runFacts } from "../../assets/run/decision.js";
import { looksWords } from "../../assets/run/looks.js";
import { RunView } from "../../assets/run/run_view.js";
import { DEVICE, LLM, PROMPT_LENGTH, SLM, makeEvents } from "./fixtures.mjs";

const HEAD = { pair: { slm: SLM, llm: LLM }, router: { n_params: 7 }, settings: { threshold: 0.5, take_back: 0.2 } };

/** Five tokens of the SLM; at the sixth the LLM is called, takes back three of them and writes; the SLM goes on. */
function told() {
  const first = makeEvents([0.9, 0.9, 0.8, 0.7, 0.9], 0.5);
  const gone = [...first.slice(2), { token_id: 99, text: " t5", slm_confidence: 0.3 }];
  const look = {
    ...first[2],
    token_id: 50,
    source: "llm",
    forced: false,
    llm_tokens_fed: PROMPT_LENGTH + 5,
    discarded: gone.map((event) => [event.token_id, event.text, event.slm_confidence]),
    read: [[0.9, 0.9], [0.8, 0.8], [0.01, 0.9], ...gone.slice(1).map(() => [0.5, 0.5])],
  };
  const after = makeEvents([0.9, 0.9, 0.9, 0.95], 0.5)[3];
  return { first, look, after };
}

function viewOf(...batches) {
  const view = new RunView(1, HEAD, { device: DEVICE, pricing: null });
  for (const batch of batches) view.append(batch);
  return view;
}

test("what is taken back leaves the run, and what comes instead is counted as if it had never been there", () => {
  const { first, look, after } = told();
  const view = viewOf(first, [look, after]);
  assert.deepEqual(view.events, [first[0], first[1], look, after]);
  assert.equal(view.redrawFrom, 2);
  assert.equal(view.n, 4);
  const fresh = viewOf([first[0], first[1], look, after]);
  assert.deepEqual(view.own, fresh.own);
  for (let k = 0; k <= 4; k++) assert.deepEqual(view.series.totals(k), fresh.series.totals(k));
});

test("each pass for what was taken back is paid for, and the LLM's reads to its end", () => {
  const { look } = told();
  const model = new CostModel({ slm: SLM, llm: LLM, device: DEVICE, routerParams: 7 });
  const slm = [0, 1, 2, 3].map((place) => model.modelForward(SLM, 1, PROMPT_LENGTH + 2 + place - 1).bytes);
  const llm = model.modelForward(LLM, PROMPT_LENGTH + 5, 0).bytes;
  const passes = slm.reduce((sum, bytes) => sum + bytes + model.routerStep().bytes, 0);
  assert.equal(model.step(look).bytes, passes + llm);
  assert.equal(model.spentOnGone(look), passes);
  const parts = splitStep(model, look, look.llm_tokens_fed).filter(({ within }) => !within);
  assert.equal(
    parts.reduce((sum, { bytes }) => sum + bytes, 0),
    passes + llm,
  );
  assert.match(looksWords(model, [look]), /^The LLM looked 1 time and took 4 tokens back; .* was for these\.$/);
  assert.equal(looksWords(model, told().first), "");
});

test("a token that was taken back is no choice by hand, and stays until another tau looks elsewhere", () => {
  const { first, look, after } = told();
  const events = [first[0], first[1], look, after];
  assert.equal(isForced(look), false);
  const facts = runFacts(HEAD, events, null);
  assert.equal(replay(events, 0.4, facts).doubt, null);
  const { nExact, doubt } = replay(events, 0.2, facts);
  assert.deepEqual([nExact, doubt], [2, "look"]);
});
