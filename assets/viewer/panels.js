/**
 * The viewer's panels, and where they stand on the page.
 *
 * Glue: each panel's callbacks lead back into the viewer. Must not draw or decide anything itself.
 */

import { Announcer } from "./announcer.js";
import { Answer } from "./answer.js";
import { Branching } from "./branching.js";
import { Chart } from "./chart.js";
import { Choices } from "./choices.js";
import { Closer } from "./closer.js";
import { Counters } from "./counters.js";
import { html } from "./dom.js";
import { Figures } from "./figures.js";
import { Head } from "./head.js";
import { Inspector } from "./inspector.js";
import { Legend } from "./legend.js";
import { largeButton } from "./large.js";
import { Minimap } from "./minimap.js";
import { stopFrom } from "../run/moves.js";
import { Pacing } from "./pacing.js";
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
  const legend = new Legend(
    (writer) => tokens.setFilter(writer),
    (isOn) => tokens.setCertainty(isOn),
  );
  const whatIf = new WhatIf({
    onBack: () => setTau(viewer.view.ownTau),
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
  const figures = new Figures((kept) => legend.keep(kept), options.glossary);
  const answer = new Answer();
  /** @param {number} index @param {Writer} source @param {number|null} tokenId */
  const onFlip = (index, source, tokenId) => branching.flip(viewer.view, index, source, tokenId);
  const choices = new Choices({
    onFlip,
    ask: (view, ...asked) => branching.askNext(view, ...asked),
    onChange: () => viewer.schedule("panels"),
  });
  const onProbe = () => branching.askProbe(viewer.view);
  const inspector = new Inspector(
    { onFlip, onProbe, onClose: () => viewer.pin(null), onInside: options.onInside, glossary: options.glossary },
    choices,
  );
  const closer = new Closer(onProbe);
  const playback = new Playback(
    (shown) => viewer.reveal(shown),
    (k) => viewer.view.ownSeries.totals(k).measuredS,
  );
  const pacing = new Pacing(viewer, playback, options);
  const tooltip = new Tooltip(viewer.root);
  const large = largeButton("The run");
  const time = html("div", { class: "cv-time" }, playback.toggleButton, minimap.root, pacing.root, large);
  viewer.root.classList.add("cv-panel");
  const layout = html(
    "div",
    { class: "cv-layout", "data-state": "empty" },
    html(
      "div",
      { class: "cv-main" },
      head.root,
      branching.strip.root,
      tokens.root,
      html("div", { class: "cv-run-line" }, head.statusRow, answer.root, head.origin),
      time,
      whatIf.root,
      legend.root,
    ),
  );
  const side = html("div", { class: "cv-side" }, figures.root, inspector.root);
  const ways = [branching.compare.root, playback.root, tools.root, whatIf.form];
  const lower = html("div", { class: "cv-lower" }, ...ways, counters.root, chart.root, head.provenance, closer.root);
  viewer.root.replaceChildren(layout, tooltip.root, announcer.root);
  (options.places?.side ?? layout).append(side);
  (options.places?.lower ?? layout).append(lower);
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
    closer,
    counters,
    figures,
    answer,
    inspector,
    pacing,
    playback,
    tooltip,
    layout,
  };
}
