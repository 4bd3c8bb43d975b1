/** Look-back as a plane: places and dials, their words, and the areas that are drawn. */

import assert from "node:assert/strict";
import test from "node:test";

import { areaAbove, dialsAt, placeOf, placeWords, usualDials } from "../../assets/app/plane.js";
import { isAtSameDials } from "../../assets/run/dials.js";
import { dialsWords } from "../../assets/viewer/what_if.js";

const PLANE = {
  router: "citer-outcome",
  final_doubt: 0.02,
  budgets: [0, 3, 1.5, 0.7, 0.35, 0.15, 0.05],
  ratios: [0, 0.02, 0.1, 0.2, 0.4, 0.7, 1],
  points: {},
};
const places = Array.from({ length: 8 * 7 }, (_, i) => [i % 8, Math.floor(i / 8)]);

test("every place has dials of its own, which lead back to it", () => {
  for (const place of places) assert.deepEqual(placeOf(PLANE, dialsAt(PLANE, place)), place);
  const looks = { doubt_budget: 0, look_every: 0, final_doubt: 0.02 };
  const alone = { threshold: 1, take_back: 0.1, take_back_below: 1, take_back_absolute: 0, ...looks };
  assert.deepEqual(dialsAt(PLANE, [7, 2]), alone);
  assert.deepEqual(usualDials(PLANE), { ...alone, threshold: 0, take_back: 0.2, doubt_budget: 0.35 });
});

test("dials off the grid stand at the nearest place, and a small budget is not the end alone", () => {
  const near = (budget, ratio, threshold = 0) => placeOf(PLANE, { threshold, take_back: ratio, doubt_budget: budget });
  assert.deepEqual(near(0.4, 0.25), [4, 3]);
  assert.deepEqual(near(0.001, 0.9), [6, 6]);
  assert.deepEqual(near(100, 0), [1, 0]);
  assert.deepEqual(near(0, 0.0075), [0, 0]);
  assert.deepEqual(near(0.35, 0.2, 0.3), [4, 3]);
  assert.equal(isAtSameDials(dialsAt(PLANE, [4, 3]), { threshold: 0.3, take_back: 0.2, doubt_budget: 0.35 }), false);
});

test("each column and each row has words of its own", () => {
  const words = places.map((place) => placeWords(PLANE, place));
  assert.equal(new Set(words.map(([when]) => when)).size, 8);
  assert.equal(new Set(words.map(([, what]) => what)).size, 7);
  assert.deepEqual(placeWords(PLANE, [4, 3]), ["when doubts add up", "clear slips"]);
  assert.deepEqual(placeWords(PLANE, [0, 0]), ["only at the end", "nothing"]);
  assert.deepEqual(placeWords(PLANE, [7, 6]), ["at every token", "any difference"]);
  assert.equal(dialsWords({ threshold: 0.3 }), "τ 0.30");
  const usual = "τ 0.00, take back 0.2, doubt budget 0.35, final look above 0.02";
  assert.equal(dialsWords(usualDials(PLANE)), usual);
});

test("an area is where the number, linear between the places, is above the level", () => {
  const rows = (columns, level) =>
    [...areaAbove(columns, level).matchAll(/M([\d.]+) (\d+)H([\d.]+)/g)].map(([, from, row, to]) => [
      Number(row),
      Number(to) - Number(from),
    ]);
  const [none, some, much] = [
    [0, 0],
    [2, 2],
    [4, 4],
  ];
  assert.deepEqual(rows([none, none], 1), []);
  const whole = rows([some, some], 1);
  assert.ok(whole.length > 100 && whole.every(([, width]) => width === 100));
  // Places stand in the middle of their columns: from 25% to 75% the number rises from 0 to 4.
  for (const [, width] of rows([none, much], 1)) assert.equal(width, 62.5);
  const upper = rows(
    [0, 0].map(() => [0, 4]),
    2,
  ); // 0 below, 4 at the top
  assert.deepEqual([upper[0][0], upper.length], [0, whole.length / 2]);
  assert.equal(rows([some, none, some], 1).length, 2 * whole.length); // a valley between two hills
});
