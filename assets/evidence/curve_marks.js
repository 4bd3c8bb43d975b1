/**
 * What tells one curve from another without its colour: its points' mark and its line's dash, by plotly's names.
 *
 * Each with the same in SVG, so that the chart and its key are of one table. Pure.
 */

/**
 * A path around (0, 0): corners, and again, each time turned on by the same angle, until it is closed.
 * @param {[number, number][]} corners
 * @param {number} n times
 * @param {number} [turn] degrees at which it begins
 */
function around(corners, n, turn = 0) {
  const places = Array.from({ length: n }, (_, k) => (((k * 360) / n + turn) * Math.PI) / 180).flatMap((angle) =>
    corners.map(([x, y]) =>
      [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)]
        .map((place) => place.toFixed(2))
        .join(","),
    ),
  );
  return `M${places.join("L")}Z`;
}

const TOP = /** @type {[number, number]} */ ([0, -5]);
const ARM = /** @type {[number, number][]} */ ([
  [1.6, -1.6],
  [4.8, -1.6],
  [4.8, 1.6],
]);

/** In the order in which curves take them. @type {Record<string, string>} */
export const MARKS = {
  circle: "M4.2,0A4.2,4.2 0 1 1 -4.2,0A4.2,4.2 0 1 1 4.2,0Z",
  square: around([TOP], 4, 45),
  diamond: around([TOP], 4),
  "triangle-up": around([TOP], 3),
  "triangle-down": around([TOP], 3, 180),
  cross: around(ARM, 4),
  x: around(ARM, 4, 45),
  star: around([TOP, [1.23, -1.7]], 5),
  pentagon: around([TOP], 5),
};

/** `stroke-dasharray` of a line two pixels wide. @type {Record<string, string>} */
export const DASHES = { solid: "none", dash: "7 3", dot: "2 2", dashdot: "6 2 2 2" };
