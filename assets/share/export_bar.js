/**
 * The row of buttons that take a run away or bring one in. Must not know Gradio: it is given a viewer and a few
 * callbacks, and the same row stands in the page and in the one-file page.
 */

import { html, setText } from "../viewer/dom.js";
import { download, fileStem, traceToCsv } from "./page_export.js";
import { drawPicture, pictureToPng, pictureToSvg } from "./picture.js";
import { viewOf } from "./saved_view.js";
import { MAX_TRACE_BYTES, TraceFileError, parseTrace, traceToJson } from "../run/trace_file.js";
import { messageOf, plural } from "../run/format.js";

/**
 * @param {Object} how
 * @param {Viewer} how.viewer
 * @param {(trace: Trace) => void} [how.onImport] a checked trace that a person opened
 * @param {() => import("../run/run_look.js").PriceChoice} [how.price] what the page's controls price runs as
 * @param {(json: string, view: string) => Promise<string>} [how.offlinePage] makes the one-file page of a trace and of
 *   what is kept beside it
 * @param {{bytes: number, make: (json: string, view: string) => Promise<string>}} [how.livePage] the same with the
 *   bundled pair and its decoder in it, and about how large that file is
 * @returns {HTMLElement}
 */
export function exportBar({ viewer, onImport, price, offlinePage, livePage }) {
  const said = html("span", { class: "cx-export-said", role: "status" });
  const row = html("div", { class: "cx-export", role: "group", "aria-label": "Take this run away" });
  /** @param {string} label @param {string} title @param {(trace: Trace, stem: string) => unknown} make */
  const add = (label, title, make) => {
    const onclick = async () => {
      const trace = viewer.trace();
      if (!trace) return;
      setText(said, "");
      try {
        await make(trace, fileStem(trace));
      } catch (error) {
        setText(said, `${label} could not be made: ${messageOf(error)}`);
      }
    };
    row.append(html("button", { type: "button", title, onclick }, label));
  };
  /** @param {Trace} trace @param {string} stem @param {(json: string, view: string) => Promise<string>} make */
  const saveAs = async (trace, stem, make) => {
    const { json, nLeft } = viewOf(viewer, price?.());
    download(`${stem}.html`, "text/html", await make(traceToJson(trace), json));
    setText(said, nLeft ? `Too long for one file: ${plural(nLeft, "run")} of the branches left out.` : "");
  };
  row.append(html("span", { class: "cx-export-label" }, "Save as"));
  add("Trace (JSON)", "The run with everything that was measured; can be opened here again", (trace, stem) =>
    download(`${stem}.json`, "application/json", traceToJson(trace)),
  );
  add("Table (CSV)", "One row per token", (trace, stem) => download(`${stem}.csv`, "text/csv", traceToCsv(trace)));
  add("Picture (SVG)", "Text and cost line, to be scaled", (_, stem) =>
    download(`${stem}.svg`, "image/svg+xml", pictureToSvg(drawPicture(viewer))),
  );
  add("Picture (PNG)", "Text and cost line, for slides", async (_, stem) =>
    download(`${stem}.png`, "image/png", await pictureToPng(drawPicture(viewer))),
  );
  if (offlinePage)
    add("Page (HTML)", "This viewer with this run in one file; needs no server", (trace, stem) =>
      saveAs(trace, stem, offlinePage),
    );
  if (livePage)
    add(
      `Page that writes (HTML, about ${(livePage.bytes / 1e6).toFixed(0)} MB)`,
      "This page with this run and the bundled pair in one file: it generates from a disk, without a network",
      async (trace, stem) => {
        setText(said, "Putting the pair into the page.");
        await saveAs(trace, `${stem}-live`, livePage.make);
      },
    );
  if (onImport) row.append(...importButton(onImport, said));
  row.append(said);
  return row;
}

/** @param {(trace: Trace) => void} onImport @param {HTMLElement} said */
function importButton(onImport, said) {
  const file = html("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    tabindex: "-1",
    "aria-label": "A trace file",
    id: "cx-import-file",
    onchange: async () => {
      const chosen = file.files?.[0];
      file.value = "";
      if (!chosen) return;
      setText(said, "");
      try {
        if (chosen.size > MAX_TRACE_BYTES)
          throw new TraceFileError(
            `This file has ${Math.round(chosen.size / 1e6)} MB; a trace has at most ${MAX_TRACE_BYTES / 1e6}.`,
          );
        onImport(parseTrace(await chosen.text()));
      } catch (error) {
        const isOurs = error instanceof TraceFileError;
        setText(said, isOurs ? error.message : `This file could not be read (${messageOf(error)}).`);
      }
    },
  });
  const how = { type: "button", id: "cx-import", title: "Show a run that was saved as JSON" };
  return [html("button", { ...how, onclick: () => file.click() }, "Open a trace"), file];
}
