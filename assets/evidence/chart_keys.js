/**
 * The chart's points for the keyboard: one stop of the Tab key, arrows from point to point, Enter opens.
 *
 * Works on what plotly has drawn: each point is an element of its picture. Must not know what a point means.
 *
 * @typedef {{customdata?: number[], visible?: boolean|string}} Trace
 * @typedef {HTMLElement & {data?: Trace[]}} DrawnPlot
 */

/** Drawn points in order, with the number that each stands for. @param {DrawnPlot} plot */
function drawnPoints(plot) {
  const numbers = (plot.data ?? [])
    .filter(({ visible }) => visible === undefined || visible === true)
    .flatMap(({ customdata }) => customdata ?? []);
  const drawn = [...plot.querySelectorAll(".scatterlayer .trace .points path.point")];
  return drawn.length === numbers.length ? drawn.map((node, k) => ({ node, number: numbers[k] })) : [];
}

/**
 * Makes the points of what is drawn now reachable; called after each drawing.
 * @param {DrawnPlot} plot
 * @param {{nameOf: (n: number) => string, onFocus: (n: number) => void, onOpen: (n: number) => void}} how
 */
export function reachable(plot, { nameOf, onFocus, onOpen }) {
  const points = drawnPoints(plot);
  points.forEach(({ node, number }, k) => {
    node.setAttribute("tabindex", k ? "-1" : "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", nameOf(number));
    if (!(node instanceof SVGElement) || node.dataset.reachable) {
      node.setAttribute("data-number", String(number));
      return;
    }
    node.dataset.reachable = "true";
    node.dataset.number = String(number);
    node.addEventListener("focus", () => onFocus(Number(node.dataset.number)));
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        onOpen(Number(node.dataset.number));
        return;
      }
      const all = drawnPoints(plot).map((one) => one.node);
      const next = all[nextPlace(all.indexOf(node), all.length, event.key)];
      if (!(next instanceof SVGElement)) return;
      event.preventDefault();
      for (const one of all) one.setAttribute("tabindex", one === next ? "0" : "-1");
      next.focus();
    });
  });
}

/** Where an arrow leads from a place; -1 nowhere. @param {number} from @param {number} n @param {string} key */
export function nextPlace(from, n, key) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (step !== undefined) return (from + step + n) % n;
  return { Home: 0, End: n - 1 }[key] ?? -1;
}
