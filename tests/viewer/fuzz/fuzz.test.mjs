/** Each of the browser's readers fed with odd things: a few in every test run, 20,000 and more with `make fuzz`. */

import assert from "node:assert/strict";
import test from "node:test";

import fc from "fast-check";

import { TARGETS } from "./targets.mjs";

const RUNS = Number(process.env.FUZZ_EXAMPLES ?? 60);
const MOST_MS = 2000;

for (const { name, inputs, read, calm } of TARGETS) {
  test(`fuzz: ${name}`, async (t) => {
    let taken = 0;
    let refused = 0;
    let slowest = 0;
    await fc.assert(
      fc.asyncProperty(inputs, async (value) => {
        const began = performance.now();
        try {
          await read(value);
          taken++;
        } catch (error) {
          if (!calm.some((kind) => error instanceof kind)) throw error;
          assert.ok(error.message.length > 0 && error.message.length < 1000, error.message.slice(0, 300));
          refused++;
        }
        slowest = Math.max(slowest, performance.now() - began);
        assert.ok(slowest < MOST_MS);
      }),
      { numRuns: RUNS, seed: RUNS < 1000 ? 14 : undefined },
    );
    // A reader that takes nothing, or everything, is not being tested.
    assert.ok(taken > 0 && (refused > 0 || calm.length === 0));
    t.diagnostic(`${taken + refused} inputs, ${taken} taken, ${refused} refused, slowest ${slowest.toFixed(0)} ms`);
  });
}
