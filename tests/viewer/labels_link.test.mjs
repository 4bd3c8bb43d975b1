import assert from "node:assert/strict";
import test from "node:test";

import { labelsInAddress, readLabelsLink } from "../../assets/labels/labels_link.js";

const NOTHING = { source: null, rule: "outcome", router: null, tau: null, problem: null, token: null };

test("a link of Labels opens the set, problem and token that were looked at, counted as people count", () => {
  const state = { source: "math", rule: "published", router: "citer-outcome", tau: 0.625, problem: 4, token: 0 };
  const query = labelsInAddress(state);
  assert.equal(`${query}`, "labels=math&rule=published&router=citer-outcome&tau=0.625&problem=5&tok=1");
  assert.deepEqual(readLabelsLink(`?${query}`), state);
  assert.equal(`${labelsInAddress({ ...NOTHING, router: "citer" })}`, "router=citer");
});

test("what is no place and no tau is left out", () => {
  for (const search of ["?rule=best&tau=1.5&problem=0&tok=-1", "?tau=x&problem=1e9&tok=1.5", "?problem=9999999", ""])
    assert.deepEqual(readLabelsLink(search), NOTHING);
});
