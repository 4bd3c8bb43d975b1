/**
 * What a person has the loaded pair read instead of recorded labels: a bundled problem, a whole set, a row, a file.
 *
 * Must not know what comes of it. A file is read here, in the browser: the server takes texts, no files.
 */

import { messageOf } from "../run/format.js";
import { problemTitle } from "../tasks/book.js";
import { html, plainButton } from "../viewer/dom.js";
import { SearchBox } from "../viewer/search_box.js";

const MAX_FILE_BYTES = 4_000_000;
const PASTE_HINT = '{"problem": "What is 2 + 3?", "solution": "$2+3=5$. The final answer is $\\\\boxed{5}$."}';
const PASTE_INFO =
  "math: problem, solution with a final \\boxed{}. mc: question, choices {text, label}, answerKey, cot. The format " +
  "is seen from the fields.";
const SETS = [
  ["math", "All 200 math problems"],
  ["mc", "All 200 questions"],
];

/** @param {string} id @param {string} words @param {() => void} act */
const action = (id, words, act) => plainButton(words, "cx-quiet", act, { id });

export class OwnRows {
  /**
   * @param {Page} page
   * @param {{onRead: (asked: object) => void, onError: (message: string) => void}} on `onRead` is given what the
   *   server is asked for
   */
  constructor(page, { onRead, onError }) {
    const file = html("input", {
      type: "file",
      accept: ".jsonl,.json",
      hidden: true,
      tabindex: "-1",
      "aria-label": "A file of rows",
      class: "cl-file",
      onchange: async () => {
        const [chosen] = file.files ?? [];
        if (!chosen) return;
        try {
          onRead({ file: { name: chosen.name, text: await textOf(chosen) } });
        } catch (error) {
          onError(`${chosen.name} ${messageOf(error)}`);
        }
        file.value = "";
      },
    });
    /** @type {SearchBox<{key: string}>} */
    const picker = new SearchBox("cx-labels-problems", "", ({ key }) => onRead({ problem: key }));
    const paste = html("textarea", { rows: 3, placeholder: PASTE_HINT });
    this.root = html("details", { id: "cx-labels-own" }, [
      html("summary", {}, "Read something else with the loaded pair"),
      html("div", { id: "cx-labels-pick", class: "cx-row" }, [
        html("label", { id: "cx-labels-picker" }, "A bundled problem with its solution (type to search)", picker.root),
        ...SETS.map(([set, words]) => action(`cx-labels-${set}`, words, () => onRead({ set }))),
      ]),
      html("label", { id: "cx-labels-paste" }, [
        "A row of your own, in JSON",
        paste,
        html("span", { class: "info-text" }, PASTE_INFO),
      ]),
      html("div", { id: "cx-labels-own-buttons", class: "cx-row" }, [
        action("cx-labels-read", "Read this row", () => onRead({ text: paste.value })),
        action("cx-labels-open", "Open JSON Lines, up to 200 rows", () => file.click()),
      ]),
      file,
    ]);
    this.root.addEventListener("toggle", () => fill(page, picker), { once: true });
  }
}

/**
 * @param {File} file
 * @throws {Error} what is wrong with it, after its name
 */
async function textOf(file) {
  if (file.size > MAX_FILE_BYTES) {
    const [size, most] = [(file.size / 1e6).toFixed(1), MAX_FILE_BYTES / 1e6];
    throw new Error(`has ${size} MB; the page takes up to ${most} MB. Cut it into parts.`);
  }
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("is not UTF-8: save it with that encoding.");
  }
}

/** @param {Page} page @param {SearchBox<{key: string}>} picker */
async function fill(page, picker) {
  /** @type {{problems: {key: string, question: string}[]}} */
  const { problems } = await page.ask("offered", { bundled: true }).catch(() => ({ problems: [] }));
  picker.offer(new Map(problems.map((problem) => [problemTitle(problem), problem])));
}
