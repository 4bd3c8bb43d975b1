/**
 * The dialog in which a teacher adds answers: pasted, from files, or by the camera where the browser reads QR codes.
 *
 * Must not know what an answer means. Nothing leaves the device.
 *
 * @typedef {import("./read_answers.js").ReadAnswers} ReadAnswers
 */

import { html, plainButton, setText } from "../viewer/dom.js";
import { messageOf, plural } from "../run/format.js";

const LOOK_EVERY_MS = 250;
const MOST_SAID = 6;
const MOST_BYTES = 2e6;

export class AddAnswers {
  /** @type {MediaStream|null} */
  stream = null;

  /** @param {(text: string) => ReadAnswers & {total: number}} read adds what it finds */
  constructor(read) {
    this.read = read;
    this.text = html("textarea", { rows: 6, spellcheck: "false", "aria-label": "Codes or lines, one answer a line" });
    this.said = html("div", { class: "cc-said-list", role: "status" });
    this.files = html("input", { type: "file", multiple: true, hidden: true, onchange: () => this.#open() });
    this.video = html("video", { class: "cc-video", playsinline: true, muted: true, hidden: true });
    const canSee = "BarcodeDetector" in globalThis && Boolean(navigator.mediaDevices);
    this.camera = plainButton("Read QR with the camera", "cc-button", () => this.#look(), { hidden: !canSee });
    this.root = html("dialog", { class: "cc-dialog", "aria-labelledby": "cc-add", onclose: () => this.#dark() }, [
      html("h2", { id: "cc-add" }, "Add answers"),
      html("p", { class: "cc-small" }, [
        "Paste what they sent, one code or line each. Names around a code are not read. Nothing leaves this device.",
      ]),
      this.text,
      html(
        "div",
        { class: "cc-row" },
        plainButton("Open files", "cc-button", () => this.files.click()),
        this.camera,
      ),
      this.files,
      this.video,
      this.said,
      html("div", { class: "cc-row cc-end" }, [
        plainButton("Read them", "cc-button", () => this.#take(this.text.value)),
        plainButton("Show the class", "cc-button cc-first", () => this.#close()),
      ]),
    ]);
    this.root.addEventListener("dragover", (event) => event.preventDefault());
    this.root.addEventListener("drop", (event) => this.#dropped(event));
  }

  show() {
    this.root.showModal();
    this.text.focus();
  }

  #close() {
    if (this.text.value.trim() && !this.#take(this.text.value)) return;
    this.root.close();
  }

  /** @param {DragEvent} event */
  #dropped(event) {
    event.preventDefault();
    this.#readFiles(event.dataTransfer?.files ?? null);
  }

  #open() {
    this.#readFiles(this.files.files);
    this.files.value = "";
  }

  /** @param {FileList|null} files */
  async #readFiles(files) {
    const texts = await Promise.all([...(files ?? [])].map((file) => (file.size > MOST_BYTES ? "{" : file.text())));
    if (texts.length) this.#take(texts.join("\n"));
  }

  /** @param {string} text @returns {boolean} whether nothing was wrong in it */
  #take(text) {
    const { answers, nTwice, wrong, total } = this.read(text);
    const more = wrong.length - MOST_SAID;
    const lines = [
      [`✓ ${plural(answers.length, "answer")} read, ${total} in all.`, ""],
      ...(nTwice ? [[`· ${nTwice} came twice and count once.`, ""]] : []),
      ...wrong.slice(0, MOST_SAID).map((words) => [words, "cc-wrong"]),
      ...(more > 0 ? [[`${more} more lines could not be read.`, "cc-wrong"]] : []),
    ];
    this.said.replaceChildren(...lines.map(([words, look]) => html("p", { class: look }, words)));
    this.text.value = "";
    return wrong.length === 0;
  }

  async #look() {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch (error) {
      this.said.replaceChildren(html("p", { class: "cc-wrong" }, `There is no camera (${messageOf(error)}).`));
      return;
    }
    Object.assign(this.video, { hidden: false, srcObject: this.stream });
    await this.video.play();
    setText(this.camera, "Hold a code before the camera");
    const Detector = /** @type {any} */ (globalThis).BarcodeDetector;
    const detector = new Detector({ formats: ["qr_code"] });
    let last = "";
    while (this.stream) {
      const [found] = await detector.detect(this.video).catch(() => []);
      if (found && found.rawValue !== last) this.#take((last = found.rawValue));
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** The camera goes off. */
  #dark() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.video.hidden = true;
    setText(this.camera, "Read QR with the camera");
  }
}
