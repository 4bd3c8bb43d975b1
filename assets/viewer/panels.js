/**
 * The viewer's panels, and where they stand on the page.
 *
 * Glue: each panel's callbacks lead back into the viewer. Must not draw or decide anything itself.
 */

import { Announcer } from "./announcer.js";
import { Answer } from "./answer.js";
import { Branching } from "./branching.js";
import { Chart } from "./chart.js";
import { Counters } from "./counters.js";
import { html } from "./dom.js";
import { Head } from "./head.js";
import { Inspector } from "./inspector.js";
import { Legend } from "./legend.js";
import { Minimap } from "./minimap.js";
import { stopFrom } from "../run/moves.js";
import { Playback } from "./playback.js";
import { TokenPanel } from "./tokens.js";
import { ToolsRow } from "./tools_row.js";
import { Tooltip } from "./tooltip.js";
import { WhatIf } from "./what_if.js";

/**
 * @param {Viewer} viewer
 * @param {import("./viewer.js").ViewerOptions} options
 * @returns the panels by name, and `layout`, the element around them; all of it stands in `viewer.root`
 */
export function buildPanels(viewer, options) {
  /** @type {{onHover: (index: number|null) => void, onPick: (index: number) => void}} */
  const links = { onHover: (index) => viewer.hover(index, false), onPick: (index) => viewer.pin(index) };
  /** @param {number} tau */
  const setTau = (tau) => {
    viewer.setThreshold(tau);
    options.onThresholdSuggest?.(tau);
  };
  const announcer = new Announcer();
  const head = new Head();
  const tokens = new TokenPanel();
  const branching = new Branching(viewer, options);
  const legend = new Legend((writer) => tokens.setFilter(writer));
  const whatIf = new WhatIf({
    onBack: () => setTau(viewer.view.runTau),
    onContinue: () => branching.goOn(viewer.view),
    onTau: setTau,
  });
  const tools = new ToolsRow({
    onJump: (kind, step) => {
      const { view } = viewer;
      const index = stopFrom(view, kind, step, view.pinned, view.pinned !== null);
      if (index !== null) viewer.pin(index);
    },
    onMatch: (index) => viewer.reach(index),
    onMatches: () => tokens.repaint(viewer.view),
  });
  const minimap = new Minimap(links);
  const chart = new Chart({ ...links, onMetric: () => chart.update(viewer.view) });
  const counters = new Counters();
  const answer = new Answer();
  const inspector = new Inspector({
    onFlip: (index, source, tokenId) => branching.flip(viewer.view, index, source, tokenId),
    onProbe: () => branching.askProbe(viewer.view),
  });
  const playback = new Playback(
    (shown) => viewer.reveal(shown),
    (k) => viewer.view.ownSeries.totals(k).measuredS,
  );
  const tooltip = new Tooltip(viewer.root);
  const time = html("div", { class: "cv-time" }, minimap.root, playback.root);
  const layout = html(
    "div",
    { class: "cv-layout", "data-state": "empty" },
    html(
      "div",
      { class: "cv-main" },
      head.root,
      branching.strip.root,
      legend.root,
      whatIf.root,
      head.statusRow,
      tokens.root,
      answer.root,
      time,
      tools.root,
      whatIf.form,
    ),
    html("div", { class: "cv-side" }, inspector.root),
    html("div", { class: "cv-lower" }, branching.compare.root, counters.root, chart.root, head.provenance),
  );
  viewer.root.replaceChildren(layout, tooltip.root, announcer.root);
  return {
    announcer,
    head,
    tokens,
    branching,
    legend,
    whatIf,
    tools,
    minimap,
    chart,
    counters,
    answer,
    inspector,
    playback,
    tooltip,
    layout,
  };
}
