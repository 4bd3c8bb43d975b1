/** The browser's bounds; what it says of damaged traces is tested in tests/gate/test_trace_schema.py. */

import assert from "node:assert/strict";
import test from "node:test";

import { GateError, excerpt, parseJson, readKind } from "../../assets/run/gate.js";
import { recordOf, textUpTo } from "../../assets/run/kinds.js";
import { MAX_TRACE_CHARS } from "../../assets/run/trace_schema.js";

test("an excerpt is short, cleaned, and names what has parts", () => {
  assert.equal(excerpt("Paris"), '"Paris"');
  assert.equal(excerpt('say "no"'), "\"say 'no'\"");
  assert.equal(excerpt("a\nb\u001b[31m\u202ec\ud800"), '"a\ufffdb\ufffd[31m\ufffdc\ufffd"');
  assert.equal(excerpt({ path: "/etc/passwd" }), "an object");
  assert.equal(excerpt(["x"]), "a list of 1");
  assert.equal([...excerpt("🎉".repeat(500))].length, 40);
  assert.equal(excerpt(null), "nothing");
});

test("the worst texts take no longer than their length", () => {
  for (const pattern of ["[", '{"a":', "1a", `${"1".repeat(40)}x`, '"', '\\"', "\\", "[],", "e1", "}", '["', "a"]) {
    const text = `"${pattern.repeat(MAX_TRACE_CHARS / 4 / pattern.length)}`;
    for (const start of [0, 1]) {
      const began = performance.now();
      assert.throws(() => parseJson(text.slice(start), MAX_TRACE_CHARS), GateError);
      assert.ok(performance.now() - began < 1000, pattern);
    }
  }
  assert.throws(() => parseJson(" ".repeat(MAX_TRACE_CHARS + 1), MAX_TRACE_CHARS), /at most 12,000,000/);
});

test("a kind reads what it says and nothing else", () => {
  const kind = { ...textUpTo(2), wanted: "two" };
  assert.equal(readKind(kind, "🎉🎉", "x"), "🎉🎉");
  assert.throws(() => readKind(kind, "🎉🎉🎉", "x"), /x is "🎉🎉🎉"; it must be two/);
  assert.throws(() => readKind({ kind: "strange" }, 1, "x"), /no kind strange/);
  const record = recordOf({}, { a: kind });
  const found = readKind(record, JSON.parse('{"__proto__": {"a": 1}}'), "x");
  assert.equal(found.a, undefined);
});
