/**
 * A hidden file input whose file is read here, in the browser: the server takes texts, no files.
 *
 * Must not know what the text means.
 */

import { messageOf } from "../run/format.js";
import { html } from "../viewer/dom.js";

const MAX_FILE_BYTES = 4_000_000;

export class FileInput {
  /** @param {{onFile: (file: {name: string, text: string}) => void, onError: (message: string) => void}} on */
  constructor(on) {
    this.on = on;
    this.root = html("input", {
      type: "file",
      accept: ".jsonl,.json",
      hidden: true,
      tabindex: "-1",
      "aria-label": "A file of rows",
      class: "cl-file",
    });
    this.root.addEventListener("change", () => this.#read());
  }

  async #read() {
    const chosen = this.root.files?.[0];
    if (!chosen) return;
    try {
      if (chosen.size > MAX_FILE_BYTES)
        throw new Error(
          `has ${(chosen.size / 1e6).toFixed(1)} MB; the page takes up to ${MAX_FILE_BYTES / 1e6} MB. Cut ` +
            "it into parts.",
        );
      const bytes = await chosen.arrayBuffer();
      let text;
      try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch {
        throw new Error("is not UTF-8: save it with that encoding.");
      }
      this.on.onFile({ name: chosen.name, text });
    } catch (error) {
      this.on.onError(`${chosen.name} ${messageOf(error)}`);
    }
    this.root.value = "";
  }
}
