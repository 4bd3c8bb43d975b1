import assert from "node:assert/strict";
import test from "node:test";

import { RunReceiver } from "../../assets/run/stream.js";
import { answerOf } from "../../assets/transport/server.js";

const HEAD = { schema: "citer-trace" };
const END = { finish_reason: "eos", answer: null, error: null };

/** A receiver that writes down what happens, and a server that knows `total` tokens. */
function setup({ total = 10, fetchRun } = {}) {
  const log = { starts: 0, tokens: [], ends: 0, asked: [], lost: 0 };
  const message = (base, to, more = {}) => ({
    run: "r1",
    head: null,
    base,
    tokens: Array.from({ length: to - base }, (_, i) => base + i),
    end: null,
    ...more,
  });
  const receiver = new RunReceiver(
    {
      start: () => log.starts++,
      append: (tokens) => log.tokens.push(...tokens),
      end: () => log.ends++,
      lost: () => log.lost++,
      fetchRun:
        fetchRun ??
        (async (run, base) => {
          log.asked.push(base);
          return message(base, total, { head: base === 0 ? HEAD : null });
        }),
    },
    [1, 1],
  );
  return { log, receiver, message };
}
/** Short turns, not one long wait: on a busy machine that one would end before the receiver's own short ones. */
const settle = async () => {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
};
const upTo = (n) => Array.from({ length: n }, (_, i) => i);

test("messages in order are appended once", () => {
  const { log, receiver, message } = setup();
  receiver.receive(message(0, 3, { head: HEAD }));
  receiver.receive(message(3, 5));
  receiver.receive(message(3, 5));
  receiver.receive(message(2, 7));
  receiver.receive(message(7, 7, { end: END }));
  receiver.receive(message(7, 7, { end: END }));
  assert.deepEqual(log, { starts: 1, tokens: upTo(7), ends: 1, asked: [], lost: 0 });
});

test("a gap is repaired from the first missing token, and what came meanwhile is not lost", async () => {
  const { log, receiver, message } = setup({ total: 8 });
  receiver.receive(message(0, 2, { head: HEAD }));
  receiver.receive(message(5, 8));
  receiver.receive(message(8, 11));
  receiver.receive(message(11, 12, { end: END }));
  await settle();
  assert.deepEqual(log, { starts: 1, tokens: upTo(12), ends: 1, asked: [2], lost: 0 });
});

test("a page that joins in the middle asks for the whole run", async () => {
  const { log, receiver, message } = setup({ total: 6 });
  receiver.receive(message(4, 6));
  await settle();
  assert.deepEqual([log.starts, log.tokens, log.asked], [1, upTo(6), [0]]);
});

test("a late message of a replaced run does not bring it back", async () => {
  const { log, receiver, message } = setup();
  receiver.receive(message(0, 2, { head: HEAD }));
  receiver.receive({ ...message(0, 1, { head: HEAD }), run: "r2" });
  receiver.receive(message(2, 4));
  await settle();
  assert.deepEqual([log.starts, log.tokens, log.asked], [2, [0, 1, 0], []]);
});

test("a repair that fails is tried again, then reported, and the next message starts over", async () => {
  let calls = 0;
  const { log, receiver, message } = setup({
    fetchRun: async (run, base) => {
      calls++;
      if (calls <= 3) throw new Error("offline");
      return message(base, 9);
    },
  });
  receiver.receive(message(0, 2, { head: HEAD }));
  receiver.receive(message(5, 6));
  await settle();
  assert.deepEqual([log.lost, calls, log.tokens], [1, 3, [0, 1]]);
  receiver.receive(message(8, 9));
  await settle();
  assert.deepEqual(log.tokens, upTo(9));
});

test("a repair that ends after the page moved on changes nothing", async () => {
  const { log, receiver, message } = setup();
  receiver.receive(message(4, 6));
  receiver.retire();
  await settle();
  assert.deepEqual([log.starts, log.tokens, log.lost], [0, [], 0]);
});

test("an answer of one message is read to its end, so that its connection is free again", async () => {
  let isRead = false;
  const transport = (...messages) => ({
    async *ask() {
      yield* messages;
      isRead = true;
    },
  });
  assert.equal(await answerOf(transport("first", "second"), "any"), "first");
  assert.ok(isRead);
  await assert.rejects(answerOf(transport(), "any"), /was empty/);
});
