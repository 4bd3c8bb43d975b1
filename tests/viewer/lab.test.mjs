import assert from "node:assert/strict";
import test, { after } from "node:test";

import { decode } from "../../assets/engine/decode.js";
import { Labelling, Continuations } from "../../assets/engine/labelling.js";
import { Measuring, firstTaus } from "../../assets/engine/measuring.js";
import { aucOf } from "../../assets/engine/router_metrics.js";
import { training } from "../../assets/engine/router_training.js";
import { CostModel, H100_SXM } from "../../assets/run/cost.js";
import { checkAnswer } from "../../assets/tasks/answers.js";
import { allOf, nodeWorker, openBench, openClient, problemsOf, routerIn, workOff } from "./lab_files.mjs";
import { fewOrAll } from "./sampling.mjs";

const opened = openBench();
const LIMITS = { max_new_tokens: 192, temperature: 0, top_p: 1, seed: 0 };
const HOW = { truth: "gold", rule: "outcome" };
const N_WRITTEN = fewOrAll(30, 60);
const UNTRIED = { truth: "gold", rule: "agreement" };

const bitsOf = (kernel, at, n) => new Uint32Array(kernel.memory.buffer, 4 * at, n).slice();
/** Problems of the training set, labelled in the cheapest way. */
const labelled = opened.then(async ({ pair, rows }) =>
  workOff(new Labelling(pair, rows, UNTRIED), await problemsOf("train", "math", fewOrAll(4, 8))),
);

/** All logits of a text, read alone. */
function alone(pair, model, ids) {
  const logits = [];
  const reading = model.readEach(ids);
  while (!reading.next().done) logits.push(bitsOf(pair.kernel, model.decoder.at.logits, pair.vocabSize));
  return logits;
}

test("a text reads the same to the bit beside others, behind a copied beginning and in a cache that grew", async () => {
  const { pair, rows } = await opened;
  const problems = [
    ...(await problemsOf("test", "math", fewOrAll(1, 3))),
    ...(await problemsOf("test", "mc", fewOrAll(1, 2))),
  ];
  const texts = problems.map(({ prompt, question }) => pair.tokenizer.encode(prompt + question.repeat(2)));
  assert.ok(
    texts.some((ids) => ids.length > 128),
    "one cache grows",
  );
  for (const [which, model] of Object.entries({ slm: pair.slm, llm: pair.llm })) {
    const expected = texts.map((ids) => alone(pair, model, ids));
    const found = texts.map(() => []);
    const own = rows[which];
    const first = own.open();
    const news = (i, row, ids) => ({
      row,
      ids,
      nWanted: ids.length,
      take: ({ distribution, greedyId }) => {
        const logits = bitsOf(pair.kernel, distribution.logits, pair.vocabSize);
        found[i].push(logits);
        distribution.update();
        assert.equal(greedyId, distribution.greedyId);
      },
    });
    allOf(own.read([news(0, first, texts[0].slice(0, 20))]));
    const again = own.open(first, 13);
    const opened = [first, ...texts.slice(1).map(() => own.open())];
    const left = texts.map((ids, i) => ids.slice(i === 0 ? 20 : 0));
    for (let at = 0; left.some((ids) => at < ids.length); at += 9) {
      allOf(own.read(left.flatMap((ids, i) => (at < ids.length ? [news(i, opened[i], ids.slice(at, at + 9))] : []))));
    }
    assert.deepEqual(found, expected);
    found[0].length = 13;
    allOf(own.read([news(0, again, texts[0].slice(13))]));
    assert.deepEqual(found[0], expected[0]);
    for (const row of [again, ...opened]) own.close(row);
  }
});

test("texts that are gone on with together are those that each model writes alone", async () => {
  const { pair, rows } = await opened;
  const prompts = (await problemsOf("test", "math", fewOrAll(2, 4))).map(({ prompt }) => pair.tokenizer.encode(prompt));
  for (const which of ["slm", "llm"]) {
    const running = new Continuations(rows[which], pair, N_WRITTEN);
    const found = [];
    for (const [i, ids] of prompts.entries()) running.add({ row: null, n: 0, ids }, (written) => (found[i] = written));
    while (running.size) allOf(running.step());
    const router = await pair.router(`always-${which}`);
    for (const [i, ids] of prompts.entries()) {
      const events = [...decode(pair, router, ids, { ...LIMITS, max_new_tokens: N_WRITTEN, threshold: 0.5 })];
      assert.deepEqual(
        found[i],
        events.map(({ token_id: id }) => id),
      );
    }
  }
});

test("what is measured of many problems is what single runs come to, at every tau", async () => {
  const { pair, rows } = await opened;
  const n = fewOrAll(1, 2);
  const problems = [...(await problemsOf("test", "math", n)), ...(await problemsOf("test", "mc", n))];
  const taus = [0.3, 0.9, 0.45].slice(0, fewOrAll(2, 3));
  const { slm, llm } = pair.info;
  for (const name of fewOrAll(["citer-outcome"], ["citer-outcome", "bidirectional-entropy", "query-level"])) {
    const router = await pair.router(name);
    const costs = new CostModel({ slm, llm, device: H100_SXM, routerParams: router.nParams });
    const measured = workOff(new Measuring(pair, rows, router, { taus, withConfidences: true }), problems);
    assert.equal(measured.length, problems.length);
    let nLlm = 0;
    for (const [i, { results, confidences }] of measured.entries()) {
      const prompt = pair.tokenizer.encode(problems[i].prompt);
      for (const [k, threshold] of taus.entries()) {
        const events = [...decode(pair, router, prompt, { ...LIMITS, threshold })];
        assert.deepEqual(results[k], {
          right: checkAnswer(events.map(({ text }) => text).join(""), problems[i]).is_correct,
          nTokens: events.length,
          nLlm: events.filter(({ source }) => source === "llm").length,
          bytes: events.reduce((sum, event) => sum + costs.step(event).bytes, 0),
        });
        assert.deepEqual(
          confidences[k],
          events.map((event) => event.slm_confidence),
        );
        nLlm += results[k].nLlm;
      }
    }
    assert.ok(nLlm > 0);
  }
});

test("training is seeded, keeps its best pass, and its file says what the network said", async () => {
  const bench = await opened;
  const { pair } = bench;
  const some = await labelled;
  const ask = (seed) => allOf(training(bench, { labelled: some, network: fewOrAll("linear", "mlp-32"), seed }));
  const [passes, again, other] = [ask(1), ask(1), ask(2)].map((told) => ({ trained: told.at(-1), told }));
  assert.deepEqual(passes.trained.file, again.trained.file);
  assert.notDeepEqual(passes.trained.file, other.trained.file);
  const steps = passes.told.slice(0, -1);
  const best = steps.reduce((least, step) => (step.validationLoss < least.validationLoss ? step : least));
  assert.equal(passes.trained.best, best.pass);
  assert.ok(steps.at(-1).loss < steps[0].loss);
  assert.equal(
    passes.trained.nPreferSlm + passes.trained.nPreferLlm,
    some.flatMap(({ labels }) => labels.filter((one) => one !== null)).length,
  );
  const [taus] = [firstTaus(pair, await routerIn(pair, passes.trained.file), some, [0, 0.1, 0.5])];
  assert.ok(taus[0] < taus[1] && taus[1] < taus[2]);
});

test("AUC counts ties half, and says nothing of labels that are all the same", () => {
  assert.equal(aucOf([0.1, 0.4, 0.4, 0.9], [0, 1, 0, 1]), 0.875);
  assert.equal(aucOf([0.1, 0.4], [1, 1]), null);
});

test("what cannot be trained or read is refused in words", async () => {
  const bench = await opened;
  const { pair, rows } = bench;
  const some = await labelled;
  const ask = (changes) => allOf(training(bench, { labelled: some, network: "linear", seed: 0, ...changes }));
  const same = some.map((one) => ({ ...one, labels: one.labels.map(() => 1) }));
  assert.throws(() => ask({ labelled: same }), /All labels are the same.*label more problems/);
  assert.throws(
    () => ask({ labelled: some.slice(0, 1).map((one) => ({ ...one, labels: [0, ...one.labels.slice(1)] })) }),
    /at least 2 problems/,
  );
  assert.throws(() => ask({ network: "constructor" }), /no such network/);
  assert.throws(() => new Labelling(pair, rows, { ...HOW, rule: "toString" }), /no such way to label/);
  const disagreement = await pair.router("disagreement");
  assert.throws(() => new Measuring(pair, rows, disagreement, { taus: [0.5] }), /reads the large model/);
  const { file } = ask({}).at(-1);
  for (const [damaged, words] of [
    [file.slice(0, file.length - 4), /not a whole safetensors file/],
    [file.slice(0, 5), /not a whole safetensors file/],
    [withCard(file, (card) => ({ ...card, pair_revision: "other" })), /other weights/],
    [withCard(file, (card) => ({ ...card, kind: "other" })), /kind/],
    [withCard(file, () => undefined), /no card/],
  ]) {
    assert.throws(() => pair.addRouter(damaged.slice().buffer), words);
  }
  assert.equal((await routerIn(pair, file)).nParams, 20009);
});

/** The same file with another card. */
function withCard(file, change) {
  const n = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + n)));
  const card = change(JSON.parse(header.__metadata__.card));
  header.__metadata__ = card ? { card: JSON.stringify(card) } : {};
  const text = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(new BigUint64Array([BigInt(text.length)]).buffer);
  return Uint8Array.from([...size, ...text, ...file.subarray(8 + n)]);
}

const orders = [];
const workers = [];
/** One client for all tests of clients, what its workers were told, and the workers. */
const client = openClient(2, () => {
  const worker = nodeWorker();
  const post = worker.postMessage;
  worker.postMessage = (order) => {
    orders.push(order);
    post(order);
  };
  workers.push(worker);
  return worker;
});
const collected = async (answers) => {
  const found = [];
  for await (const one of answers) found.push(one);
  return found;
};
after(() => client.end());

test("a client labels, trains, measures and writes on its workers", async () => {
  assert.ok(await client.load());
  const problems = await problemsOf("train", "math", fewOrAll(3, 10));
  const known = await collected(client.label(problems, fewOrAll(UNTRIED, HOW)));
  assert.deepEqual(
    known.map(({ index }) => index).sort((a, b) => a - b),
    [...problems.keys()],
  );
  assert.ok(known.every(({ index, problem }) => problem === problems[index]));
  const { file } = (await collected(client.train(known, { network: "linear", seed: 0 }))).at(-1);
  const unseen = await problemsOf("test", "math", fewOrAll(2, 8));
  for (const router of fewOrAll([file], [file, "max-probability"])) {
    const asked = { labelled: known, problems: unseen, shares: [0.05, 0.2] };
    const [{ taus }, ...results] = await collected(client.measure(router, asked));
    assert.ok(taus[0] < taus[1]);
    assert.equal(new Set(results.map(({ index }) => index)).size, unseen.length);
    const shares = [0, 1].map(
      (k) =>
        results.reduce((sum, one) => sum + one.results[k].nLlm, 0) /
        results.reduce((sum, one) => sum + one.results[k].nTokens, 0),
    );
    assert.ok(shares[0] < shares[1]);
    assert.ok(fewOrAll(true, shares[0] > 0.01 && shares[0] < 0.12 && shares[1] > 0.12 && shares[1] < 0.3), `${shares}`);
    const { tokens, answer } = await client.write(router, unseen[0], taus[1]);
    const first = results.find(({ index }) => index === 0).results[1];
    assert.equal(tokens.length, first.nTokens);
    assert.equal(tokens.filter(({ source }) => source === "llm").length, first.nLlm);
    assert.equal(answer.is_correct, first.right);
  }
  await assert.rejects(client.label(problems, { truth: "gold", rule: "none" }).next(), /no such way to label/);
});

test("what is aborted stops at once, and the next job is done; a worker that is lost is said in words", async () => {
  const problems = await problemsOf("train", "math", 40);
  const stop = new AbortController();
  const labelling = client.label(problems, UNTRIED, stop.signal);
  for (let n = 0; n < 3; n++) assert.equal((await labelling.next()).done, false);
  const nBefore = orders.length;
  stop.abort();
  const waited = performance.now();
  assert.equal((await labelling.next()).done, true);
  assert.ok(performance.now() - waited < 100);
  assert.equal(orders.slice(nBefore).filter(({ kind }) => kind === "cancel").length, 2);
  const nOrders = orders.length;
  const { job } = orders.at(-1);
  assert.equal((await collected(client.label(problems.slice(0, 2), UNTRIED))).length, 2);
  assert.ok(orders.slice(nOrders).every((order) => order.job === job + 1));
  assert.equal((await client.label(problems, UNTRIED, AbortSignal.abort()).next()).done, true);

  const broken = client.label(problems, UNTRIED);
  await broken.next();
  workers[0].onerror(new Error("lost"));
  await assert.rejects(broken.next(), /has stopped/);
  assert.ok(await client.load(), "it is loaded again");
  const none = openClient(1, () => {
    throw new Error("no workers here");
  });
  assert.deepEqual([await none.load(), none.why], [false, "no workers here"]);
});
