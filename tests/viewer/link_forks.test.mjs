import assert from "node:assert/strict";
import test from "node:test";

import { BranchBook } from "../../assets/run/branch_book.js";
import { traceKey } from "../../assets/run/branch_diff.js";
import { buildLink, readLink } from "../../assets/app/link.js";
import { forksOf } from "../../assets/app/link_forks.js";

/** A run of these tokens; the forced one, if any, was chosen by hand. */
function traceOf(ids, { parent = null, threshold = 0.5, forced = -1, source = "llm", llmFirst = null } = {}) {
  const events = ids.map((token_id, index) => ({ index, token_id, text: `${token_id}`, source, slm_token_id: 1 }));
  if (forced >= 0)
    Object.assign(events[forced], { forced: true, llm_top: llmFirst === null ? [] : [[llmFirst, "", 1]] });
  return {
    prompt: { text: "p", question: "q", data_type: "math" },
    router: {},
    settings: { threshold },
    parent,
    events,
  };
}
const bookOf = () => {
  const book = new BranchBook();
  book.reset(traceOf([1, 2, 3]));
  return book;
};
/** A branch of an entry, put into the book. */
function branch(book, from, fork, ids, how = {}) {
  book.shownId = from.id;
  return book.add(traceOf(ids, { parent: { key: traceKey(from.trace), fork }, ...how }), from);
}
const linkOf = (branches) =>
  buildLink("http://h/", { preset: "a", problem: null, dials: {}, token: null, branches }).split("?preset=a")[1];

test("branches come back from a link as they were made", () => {
  const book = bookOf();
  const [root] = book.entries;
  const flipped = branch(book, root, 1, [1, 9, 4], { forced: 1, llmFirst: 9 });
  branch(book, flipped, 2, [1, 9, 7], { forced: 2, source: "slm" });
  branch(book, root, 0, [5, 6], { threshold: 0.25 });
  const found = forksOf(book.entries, flipped);
  assert.deepEqual(found, {
    forks: [
      { parent: 0, at: 1, writer: "llm", token: null, tau: null },
      { parent: 1, at: 2, writer: "slm", token: 7, tau: null },
      { parent: 0, at: 0, writer: "go", token: null, tau: 0.25 },
    ],
    shown: 1,
  });
  assert.equal(linkOf(found), "&br=0_2_llm&br=1_3_slm_7&br=0_1_go__0.25&on=1");
  for (const shown of [0, 1, 2, 3])
    assert.deepEqual(readLink(`?preset=a${linkOf({ ...found, shown })}`).branches, { ...found, shown });
});

test("a link holds four branches, the shown one and what it comes from first", () => {
  const book = bookOf();
  const [root] = book.entries;
  for (let i = 0; i < 5; i++) branch(book, root, 1, [1, 10 + i, 3]);
  const last = branch(book, book.entries[5], 2, [1, 14, 8]);
  const { forks, shown } = forksOf(book.entries, last);
  assert.deepEqual(
    [forks.map(({ parent, at }) => [parent, at]), shown],
    [
      [
        [0, 1],
        [0, 1],
        [0, 1],
        [3, 2],
      ],
      4,
    ],
  );
  // One whose parent is gone does not say how it came about.
  book.remove(book.entries[5].id);
  assert.equal(forksOf(book.entries, last), null);
  assert.equal(forksOf(book.entries, root).forks.length, 4);
});

test("branches of a link that are none are left out, and what is wrong is named", () => {
  const cases = [
    ["br=x_1_llm", /br\[0\]\.parent is "x"; it must be a whole number from 0 to 4/],
    ["br=0_0_llm", /br\[0\]\.at is 0; it must be a whole number from 1 to 4,096/],
    ["br=0_1_both", /br\[0\]\.writer is "both"; it must be "slm" or "llm" or "go"/],
    ["br=0_1_llm_-2", /br\[0\]\.token is -2/],
    ["br=0_1_go__2", /br\[0\]\.tau is 2; it must be a number from 0 to 1, or nothing/],
    ["br=", /br\[0\]\.parent is nothing/],
    ["br=1_1_llm", /comes after it/],
    [Array(5).fill("br=0_1_llm").join("&"), /br is a list of 5; it must be a list of at most 4/],
  ];
  for (const [query, message] of cases) {
    const { branches, refused } = readLink(`?preset=a&${query}`);
    assert.equal(branches, null, query);
    assert.match(refused.join(), message);
  }
  const { branches, refused } = readLink("?preset=a&br=0_1_llm&on=2");
  assert.deepEqual([branches.shown, refused.length], [1, 1]);
});
