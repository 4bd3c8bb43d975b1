/**
 * The viewer in its place on the page, and what it calls back. The page comes after it: each is a task of its own, so
 * that a slow machine answers between them.
 */

import { part } from "../viewer/dom.js";
import { mountViewer } from "../viewer/viewer.js";

const SHOWN_PER_S = 20; // tokens a second: the bundled pair's run is over before one has seen it begin

/** @param {PageProps} props @param {() => Page} pageOf called once the page is there */
export function viewerOf(props, pageOf) {
  return mountViewer(part(document, ".cx-viewer"), {
    fetchRun: (run, base) => pageOf().fetchRun(run, base),
    onDialsSuggest: (dials) => pageOf().form.setDials(dials),
    onRunEnd: () => pageOf().ended(),
    onBranch: (request) => pageOf().branches.run(request),
    onProbe: (request) => pageOf().branches.probe(request),
    // A page in one file has nowhere to fetch it from, as it has no charts.
    onInside: props.plotly ? async () => (await import("../inside/inside.js")).showInside(pageOf()) : undefined,
    onNext: (request, waits) => pageOf().branches.ask("next_tokens", request, waits),
    canProbe: () => pageOf().pairs.status?.llm_is_here !== false,
    livePace: SHOWN_PER_S,
    onShowing: () => pageOf().shown(),
    onShow: (trace) => pageOf().recorded.showMode(trace),
    onPin: (index) => (pageOf().pinned = index),
    places: { side: part(document, "#cx-figures"), lower: part(document, "#cx-more") },
    device: props.pricing.device,
    glossary: "?view=learn",
    stylesheet: false,
  });
}
