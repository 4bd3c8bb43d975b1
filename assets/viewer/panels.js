/**
 * The viewer's panels, and where they stand on the page.
 *
 * Glue: each panel's callbacks lead back into the viewer, which is one of these. Must not draw or decide anything.
 */

import { Announcer } from "./announcer.js";
import { Branching } from "./branching.js";
import { Chart } from "./chart.js";
import { Choices } from "./choices.js";
import { Closer } from "./closer.js";
import { Counters, Figures } from "./counters.js";
import { html } from "./dom.js";
import { Head, Answer } from "./head.js";
import { Inspector } from "./inspector.js";
import { Legend, Rule } from "./legend.js";
import { largeButton } from "./large.js";
import { Minimap } from "./minimap.js";
import { stopFrom } from "../run/navigate.js";
import { Playback, Pacing } from "./playback.js";
import { TimeStrip } from "./time_strip.js";
import { TokenPanel } from "./tokens.js";
import { ToolsRow } from "./tools_row.js";
import { Tooltip } from "./tooltip.js";
import { WhatIf } from "./what_if.js";

/** What a viewer has on the page; all of it stands in its root, or in the places that the page gives it. */
export class Panels {
  /** @param {HTMLElement} root @param {import("./viewer.js").ViewerOptions} options */
  constructor(root, options) {
    const viewer = /** @type {Viewer} */ (/** @type {unknown} */ (this));
    /** @type {{onHover: (index: number|null) => void, onPick: (index: number) => void}} */
    const links = { onHover: (index) => viewer.hover(index, false), onPick: (index) => viewer.pin(index) };
    /** @param {Partial<Dials>} dials */
    const setDials = (dials) => {
      viewer.setThreshold(dials.threshold ?? null);
      options.onDialsSuggest?.(dials);
    };
    /** @param {number} index @param {Writer} source @param {number|null} tokenId */
    const onFlip = (index, source, tokenId) => this.branching.flip(viewer.view, index, source, tokenId);
    const onProbe = () => this.branching.askProbe(viewer.view);
    this.announcer = new Announcer();
    this.head = new Head();
    this.tokens = new TokenPanel();
    this.branching = new Branching(viewer, options);
    this.legend = new Legend(
      (writer) => this.tokens.setFilter(writer),
      (isOn) => this.tokens.setCertainty(isOn),
    );
    this.whatIf = new WhatIf({
      onBack: () => setDials(viewer.view.ownDials),
      onContinue: () => this.branching.goOn(viewer.view),
      onTau: (threshold) => setDials({ threshold }),
    });
    this.tools = new ToolsRow({
      onJump: (kind, step) => {
        const { view } = viewer;
        const index = stopFrom(view, kind, step, view.pinned, view.pinned !== null);
        if (index !== null) viewer.pin(index);
      },
      onMatch: (index) => viewer.reach(index),
      onMatches: () => this.tokens.repaint(viewer.view),
    });
    this.rule = new Rule();
    this.minimap = new Minimap(links);
    this.inTime = new TimeStrip({
      ...links,
      onGone: (index, place) => {
        viewer.flush(); // which lets go of the one before
        this.tokens.takenBack.get(index)?.openAt(place);
      },
    });
    this.chart = new Chart({ ...links, onMetric: () => this.chart.update(viewer.view) });
    this.counters = new Counters();
    this.figures = new Figures((kept) => this.legend.keep(kept), options.glossary);
    this.answer = new Answer();
    const choices = new Choices({
      onFlip,
      ask: (view, ...asked) => this.branching.askNext(view, ...asked),
      onChange: () => viewer.schedule("panels"),
    });
    this.inspector = new Inspector(
      { onFlip, onProbe, onClose: () => viewer.pin(null), onInside: options.onInside, glossary: options.glossary },
      choices,
    );
    this.closer = new Closer(onProbe);
    this.playback = new Playback(
      (shown) => viewer.reveal(shown),
      (k) => viewer.view.ownSeries.totals(k).measuredS,
    );
    this.pacing = new Pacing(viewer, this.playback, options);
    this.tooltip = new Tooltip(root);
    const { toggleButton } = this.playback;
    const maps = [this.minimap.root, this.inTime.root];
    const time = [toggleButton, ...maps, this.pacing.root, largeButton("The run")];
    root.classList.add("cv-panel");
    /** The element around what stands in the root. */
    this.layout = html("div", { class: "cv-layout", "data-state": "empty" }, [
      html("div", { class: "cv-main" }, [
        this.head.root,
        this.branching.strip.root,
        this.rule.root,
        this.tokens.root,
        html("div", { class: "cv-run-line" }, this.head.statusRow, this.answer.root, this.head.origin),
        html("div", { class: "cv-time" }, ...time),
        this.whatIf.root,
        this.legend.root,
      ]),
    ]);
    const side = html("div", { class: "cv-side" }, this.figures.root, this.inspector.root);
    const lower = html("div", { class: "cv-lower" }, [
      ...[this.branching.compare.root, this.playback.root, this.tools.root, this.whatIf.form],
      ...[this.counters.root, this.chart.root, this.head.provenance, this.closer.root],
    ]);
    root.replaceChildren(this.layout, this.tooltip.root, this.announcer.root);
    (options.places?.side ?? this.layout).append(side);
    (options.places?.lower ?? this.layout).append(lower);
  }
}
