/** The run of a page across reloads, waits and lost connections: what is remembered, asked for and said. */

import assert from "node:assert/strict";
import test from "node:test";

import { CONNECTION_BACK, CONNECTION_LOST, PageRun, RUN_GONE } from "../../assets/app/page_run.js";

class Storage {
  kept = new Map();
  getItem = (key) => this.kept.get(key) ?? null;
  setItem = (key, value) => this.kept.set(key, value);
  removeItem = (key) => this.kept.delete(key);
}

/** A page that takes what it is given; `answers` are the server's, one for each question; a function is called. */
function made(answers, storage = new Storage()) {
  const page = { tokens: [], said: [], asked: [], resumedWith: null, lostWith: null };
  let now = 0;
  const own = new PageRun(page, { storage, now: () => now, pause: async (ms) => (now += ms) });
  Object.assign(page, {
    ask: async (what, request) => {
      assert.equal(what, "fetch_run");
      page.asked.push(request);
      const answer = answers.shift();
      return typeof answer === "function" ? answer() : answer;
    },
    take: (message) => {
      page.tokens.push(...(message.tokens ?? []));
      own.heard(message.run, Boolean(message.end));
    },
    nTokens: () => page.tokens.length,
    notice: (text) => page.said.push(text),
    resumed: (asked, message) => {
      page.resumedWith = asked;
      page.take(message);
    },
    lost: (why) => (page.lostWith = why),
  });
  return { page, own, storage };
}

const part = (base, tokens, end = null) => ({ run: "r", head: base ? null : {}, base, tokens, end });
const place = { run: "r", notice: "You are 2nd in line, about 9 s.", level: "wait", place: 2, seconds: 9 };

const asked = { question: "How much?", data_type: "math", router: null, settings: { threshold: 0.9 } };

test("a reload goes on with what was asked, token after token, to the end", async () => {
  const first = made([]);
  first.own.asking(asked);
  first.own.heard("r");
  const { page, own } = made(
    [place, place, part(0, ["a", "b"]), part(2, ["c"]), part(3, [], { finish_reason: "eos" })],
    first.storage,
  );
  assert.equal(await own.resume(), true);
  for (let i = 0; i < 50 && !own.isOver; i++) await null;
  assert.deepEqual(page.resumedWith, asked);
  assert.deepEqual(page.tokens, ["a", "b", "c"]);
  assert.deepEqual(
    page.asked.map((request) => request.base),
    [0, 0, 0, 2, 3],
  );
  assert.deepEqual(page.said, []);
  assert.equal(own.following, null);
});

test("a run that the server has forgotten is forgotten here too, silently", async () => {
  const first = made([]);
  first.own.heard("r");
  const { page, own, storage } = made([{ error: "The server no longer keeps this run." }], first.storage);
  assert.equal(await own.resume(), false);
  assert.equal(storage.kept.size, 0);
  assert.deepEqual(page.said, []);
});

test("what is no memory of ours is nothing", async () => {
  for (const text of ["", "{", "7", "null", '{"run": 7}', '{"run": "r", "search": "?other"}']) {
    const storage = new Storage();
    storage.setItem("citer-run", text);
    const { page, own } = made([], storage);
    assert.equal(await own.resume(), false);
    assert.deepEqual(page.asked, []);
  }
  const refusing = {
    getItem: () => null,
    setItem: () => {
      throw new Error("full");
    },
    removeItem: () => {
      throw new Error("no");
    },
  };
  const { own } = made([], refusing);
  own.heard("r");
  own.forget();
});

test("what a page from before an update had asked is passed over, its run is not", async () => {
  const storage = new Storage();
  storage.setItem("citer-run", '{"run": "r", "asked": {"question": "x", "tau": 0.5}, "search": ""}');
  const { page, own } = made([place, part(0, ["a"], { finish_reason: "eos" })], storage);
  assert.equal(await own.resume(), true);
  assert.equal(page.resumedWith, null);
});

test("a lost connection is said once it is sure, remembered, and its return is said", async () => {
  const { page, own, storage } = made([
    undefined,
    () => Promise.reject(new Error("away")),
    undefined,
    part(0, ["a"]),
    part(1, ["b"], { finish_reason: "eos" }),
  ]);
  own.heard("r");
  let seen = null;
  page.notice = (text) => {
    page.said.push(text);
    if (text === CONNECTION_LOST) queueMicrotask(() => (seen = JSON.parse(storage.getItem("citer-run")).isLost));
  };
  await own.follow("r");
  assert.deepEqual(page.said, [CONNECTION_LOST, CONNECTION_BACK]);
  assert.equal(seen, true);
  assert.deepEqual(page.tokens, ["a", "b"]);
});

test("one request that fails is not worth a word, and a server that stays away ends the wait", async () => {
  const short = made([undefined, part(0, ["a"], { finish_reason: "eos" })]);
  short.own.heard("r");
  await short.own.follow("r");
  assert.deepEqual(short.page.said, []);
  const long = made([]);
  long.own.heard("r");
  await long.own.follow("r");
  assert.deepEqual(long.page.said, [CONNECTION_LOST]);
  assert.equal(long.page.lostWith, RUN_GONE);
  assert.equal(long.storage.kept.size, 0);
});

test("where messages come by themselves again, nothing is asked any more", async () => {
  const { page, own } = made([part(0, ["a"]), part(1, ["b"])]);
  own.heard("r");
  own.pause = async () => own.heard("r"); // gradio's stream is alive
  await own.follow("r");
  assert.equal(page.asked.length, 1);
  assert.equal(page.lostWith, null);
});
