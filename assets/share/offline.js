/**
 * The one-file page: the viewer, a tau slider and the downloads, for the trace in this document. No server, no network.
 *
 * The entry that `citer_core/offline.py` joins with everything it imports into one script.
 */

import { html, part, setText } from "../viewer/dom.js";
import { formatTau, messageOf } from "../run/format.js";
import { drawHistogram, mountViewer } from "../viewer/viewer.js";
import { exportBar } from "./export_bar.js";
import { parseTrace } from "../run/trace_file.js";
import { readView, restoreView } from "./saved_view.js";

/** @param {(tau: number) => void} onTau */
function offlineSlider(onTau) {
  const range = html("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.01,
    id: "co-tau",
    "aria-describedby": "co-tau-help",
    oninput: () => {
      set(Number(range.value));
      onTau(Number(range.value));
    },
  });
  const value = html("output", { for: "co-tau", class: "co-tau-value" });
  const histogram = html("div", { class: "co-histogram" });
  const root = html("section", { class: "co-tau", "aria-label": "Threshold" }, [
    html("div", { class: "co-tau-head" }, html("label", { for: "co-tau" }, "Threshold τ"), value),
    histogram,
    range,
    html("p", { class: "co-small", id: "co-tau-help" }, [
      "The LLM writes a token when the router's confidence in the SLM is below τ. Moving it replays " +
        "the run’s decisions; the text stays as it was written.",
    ]),
  ]);
  // The range rounds to its steps; a tau for a budget may lie between two.
  let current = 0;
  /** @param {number} tau */
  const set = (tau) => {
    current = tau;
    range.value = String(tau);
    setText(value, formatTau(Number(tau)));
  };
  return { root, histogram, set, read: () => current };
}

function themeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
  const onclick = () => node.setAttribute("aria-pressed", String(document.documentElement.classList.toggle("dark")));
  const node = html("button", { type: "button", class: "co-theme", "aria-pressed": String(dark), onclick }, "Dark");
  return node;
}

const NOT_RESTORED = "The run is shown as it was written; what was kept beside it is left out:";

function openOffline() {
  const root = part(document, "#citer-offline");
  let trace;
  try {
    trace = parseTrace(document.getElementById("citer-trace")?.textContent ?? "");
  } catch (error) {
    root.append(html("p", { role: "alert" }, messageOf(error)));
    return;
  }
  const place = html("div", {});
  const slider = offlineSlider((tau) => {
    viewer.setThreshold(tau);
    drawHistogram(slider.histogram, viewer.events, tau);
  });
  const title = trace.title || "A routed answer";
  document.title = `${title} · CITER`;
  root.append(
    html("header", { class: "co-header" }, html("h1", {}, title), themeButton()),
    place,
    slider.root,
    html("p", { class: "co-small" }, [
      "A small model (SLM) wrote; where a router expected it to fail, a large one (LLM, underlined) " +
        "wrote the token. This page is one file and asks no server for anything.",
    ]),
  );
  const viewer = mountViewer(place, {
    fetchRun: () => Promise.reject(new Error("There is no server.")),
    onDialsSuggest: ({ threshold: tau = viewer.view.ownTau }) => {
      slider.set(tau);
      drawHistogram(slider.histogram, viewer.events, tau);
    },
    stylesheet: false,
  });
  viewer.showTrace(trace);
  let tau = trace.settings.threshold;
  try {
    const saved = readView(document.getElementById("citer-view")?.textContent ?? "null");
    if (saved) restoreView(viewer, saved);
    if (saved?.pricing) viewer.setPricing(saved.pricing);
    tau = saved?.threshold ?? tau;
    viewer.setThreshold(tau);
  } catch (error) {
    place.before(html("p", { role: "alert" }, `${NOT_RESTORED} ${messageOf(error)}`));
  }
  slider.set(tau);
  drawHistogram(slider.histogram, viewer.events, tau);
  root.append(exportBar({ viewer }));
  window.citerOffline = viewer;
}

openOffline();
