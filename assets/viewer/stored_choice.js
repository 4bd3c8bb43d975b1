/**
 * A choice among files that are stored beside the page, grouped by their pair, and the text of the one that is wanted
 * last. Must not know what the texts are.
 *
 * @typedef {{file: string, url: string, title: string, pair: string}} StoredFile
 */

import { html, options } from "./dom.js";

/** @template {StoredFile} F */
export class StoredChoice {
  #asked = 0;

  /**
   * @param {F[]} files
   * @param {string} own what is shown where it is none of these
   * @param {(file: string) => void} onChoose
   * @param {Record<string, string>} attributes of the control
   */
  constructor(files, own, onChoose, attributes) {
    this.files = files;
    const groups = new Map(files.map(({ pair }) => [pair, html("optgroup", { label: pair })]));
    for (const { file, title, pair } of files) groups.get(pair)?.append(...options([[file, title]]));
    this.root = html("select", { ...attributes, onchange: () => onChoose(this.root.value) }, [
      html("option", { value: "", hidden: true }, own),
      ...groups.values(),
    ]);
  }

  /** The one that is shown; undefined where it is none of these. */
  get shown() {
    return this.files.find(({ file }) => file === this.root.value);
  }

  /** The name of the one that is shown, in links; null where it is none of these. */
  get name() {
    return this.shown?.file.replace(/\.json$/, "") ?? null;
  }

  /** Something else is shown, and what is on its way comes too late. */
  leave() {
    this.#asked++;
    this.root.value = "";
  }

  /**
   * Fetches one, the first where there is none of that name, and hands over its text unless another one is wanted by
   * then.
   * @param {string} file
   * @param {(text: string, file: F) => void} onText
   * @param {(error: unknown) => void} onError where it cannot be read, or `onText` throws
   */
  async open(file, onText, onError) {
    const wanted = this.files.find((one) => one.file === file) ?? this.files[0];
    const number = ++this.#asked;
    this.root.value = wanted.file;
    try {
      const answer = await fetch(new URL(wanted.url, document.baseURI));
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const text = await answer.text();
      if (number === this.#asked) onText(text, wanted);
    } catch (error) {
      if (number === this.#asked) onError(error);
    }
  }
}
