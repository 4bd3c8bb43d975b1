/**
 * The view Class, for a teacher: what many people answered, on one page, before and after the truth is shown.
 *
 * Puts the panels together. Answers are gone with the page unless they are saved. No names are read. Without a room on
 * a server nothing is sent.
 *
 * @typedef {import("./answer_code.js").ClassAnswer} ClassAnswer
 * @typedef {import("../learn/lesson_file.js").Lesson} Lesson
 */

import { html, plainButton, setText, stylesheet } from "../viewer/dom.js";
import { messageOf, plural } from "../run/format.js";
import { lessonNamed, lessonNames } from "../learn/lesson_list.js";
import { recordedFacts, recordedRun } from "../learn/lesson_facts.js";
import { LESSON_TRUTHS, isFound, truthOf, truthWords } from "../learn/lesson_truths.js";
import { byRouter } from "../learn/score.js";
import { paperCurves } from "../learn/handout_numbers.js";
import { download } from "../share/page_export.js";
import { visibleText } from "../viewer/text.js";
import { AddAnswers } from "./adding.js";
import { LAB, exerciseName } from "./answer_card.js";
import { curvesChart, foundBar, guessChart, heatText, heatWords } from "./class_charts.js";
import { RoomPanel } from "./room.js";
import { bySubject, heatOf, marksAgainst, median } from "./class_totals.js";
import { lineOf, readAnswers } from "./read_answers.js";

class ClassView {
  /** @type {ClassAnswer[]} */
  answers = [];
  isTold = false;
  /** @type {Map<string, Lesson>} */
  lessons = new Map();

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.count = html("b", { class: "cc-count" }, "0");
    this.about = html("p", { class: "cc-small" }, "");
    this.body = html("div", { class: "cc-body" });
    this.adding = new AddAnswers((text) => this.add(text));
    this.tell = plainButton("Show the truth", "cc-button", () => this.#tell(), { "aria-pressed": "false" });
    const save = plainButton("Save all", "cc-button", () => this.#save());
    const add = plainButton("Add answers", "cc-button cc-first", () => this.adding.show());
    this.needed = [this.tell, save];
    this.room = new RoomPanel(page.transport, (codes) => this.add(codes));
    this.root = html("div", { class: "citer-class" }, [
      html("div", { class: "cc-bar" }, [
        html("p", { class: "cc-total" }, this.count, html("span", {}, "answers", this.about)),
        html("div", { class: "cc-row" }, this.room.button, this.tell, save, add),
      ]),
      this.room.root,
      this.body,
      html("p", { class: "cc-small cc-foot" }, [
        "Codes are read on this device and forgotten when the page closes, unless they are saved. No names are read.",
      ]),
      this.adding.root,
    ]);
  }

  /** What this page knows of. */
  get subjects() {
    const runs = this.page.recorded.cards.map((card) => exerciseName(card.dataset.file ?? ""));
    return [...this.lessons.keys(), ...runs, LAB];
  }

  async open() {
    const names = await lessonNames();
    for (const lesson of await Promise.all(names.map(lessonNamed))) this.lessons.set(lesson.id, lesson);
    await this.draw();
  }

  /** @param {string} text */
  add(text) {
    const found = readAnswers(text, this.subjects, this.answers);
    this.answers.push(...found.answers);
    this.draw();
    return { ...found, total: this.answers.length };
  }

  #tell() {
    this.isTold = !this.isTold;
    setText(this.tell, this.isTold ? "Hide the truth" : "Show the truth");
    this.tell.setAttribute("aria-pressed", String(this.isTold));
    this.draw();
  }

  #save() {
    download("citer-class.jsonl", "application/jsonl", `${this.answers.map(lineOf).join("\n")}\n`);
  }

  async draw() {
    setText(this.count, String(this.answers.length));
    for (const button of this.needed) button.disabled = !this.answers.length;
    /** Texts come first, curves last. @param {[string, ClassAnswer[]]} group */
    const rank = ([, [{ marks, curve }]]) => (marks ? 0 : curve ? 2 : 1);
    const groups = [...bySubject(this.answers)].sort((a, b) => rank(a) - rank(b));
    setText(this.about, groups.map(([of]) => this.#titleOf(of)).join(" · "));
    const isTold = this.isTold;
    const panels = await Promise.all(groups.map(([of, answers]) => this.#panel(of, answers)));
    if (isTold !== this.isTold) return; // drawn anew meanwhile
    this.body.replaceChildren(...(groups.length ? panels : [this.#empty()]));
  }

  #empty() {
    return html("p", { class: "cc-empty" }, [
      "When a lesson or an exercise ends, it gives each person a code and a QR picture. Add them here: the page " +
        "shows where the class marked, what it guessed, and then the truth.",
    ]);
  }

  /** @param {string} of */
  #titleOf(of) {
    if (of === LAB) return "Lab";
    const card = this.page.recorded.cards.find(({ dataset }) => exerciseName(dataset.file ?? "") === of);
    return this.lessons.get(of)?.title ?? card?.querySelector(".cx-preset-title")?.textContent ?? of;
  }

  /** @param {string} of @param {ClassAnswer[]} answers */
  async #panel(of, answers) {
    const heading = html("h2", {}, this.#titleOf(of), html("small", {}, plural(answers.length, "answer")));
    try {
      const lesson = this.lessons.get(of);
      const parts =
        of === LAB
          ? await this.#curves(answers)
          : lesson
            ? await this.#lesson(lesson, answers)
            : await this.#marks(answers, await recordedRun(of.slice(of.indexOf("/") + 1)));
      return html("section", { class: "cc-panel" }, heading, ...parts);
    } catch (error) {
      return html(
        "section",
        { class: "cc-panel" },
        heading,
        html("p", {}, `It cannot be shown (${messageOf(error)}).`),
      );
    }
  }

  /** @param {Lesson} lesson @param {ClassAnswer[]} answers */
  async #lesson(lesson, answers) {
    const { guess, find } = lesson;
    const facts = await recordedFacts(this.page, lesson);
    const shown = [];
    if (guess.kind === "marks") shown.push(...(await this.#marks(answers, facts.view)));
    const guesses = answers.map((answer) => answer.guess).filter((one) => one !== null);
    if (guess.kind === "number" && guesses.length) {
      const unit = LESSON_TRUTHS[guess.truth].unit === "%" ? "%" : "";
      const truth = this.isTold ? truthOf(guess.truth, facts) : null;
      const half = `Half of you said ${Math.round(median(guesses))}${unit} or less.`;
      shown.push(guessChart(guesses, { ...guess, unit, truth }), html("p", {}, half));
    }
    const wanted = truthOf(find.truth, facts);
    const nFound = answers.filter(({ number }) => number !== null && isFound(find.truth, number, wanted)).length;
    const said = this.isTold ? `The number: ${truthWords(find.truth, wanted)}. ` : "The number to find. ";
    shown.push(html("p", {}, html("b", {}, said), `${nFound} of ${answers.length} found it.`));
    return [...shown, foundBar(answers.length, nFound)];
  }

  /** @param {ClassAnswer[]} answers @param {RunView|null} run */
  async #marks(answers, run) {
    if (!run) throw new Error("its run is not here");
    const heat = heatOf(answers, run.n);
    const truth = byRouter(run.events);
    const isMath = run.head?.prompt.data_type === "math";
    const most = Math.max(0, ...heat);
    const { mean, marks, blind, wasted } = marksAgainst(answers, truth);
    const key = html("p", { class: "cc-small cc-key" }, [
      "0",
      html("i", { class: "cc-scale" }),
      `${most} of ${answers.length} marked it`,
      ...(this.isTold ? [html("i", { class: "cc-underlined" }), "written by the LLM"] : []),
    ]);
    const right = ` marks were right. Marks put down blindly would have ${blind.toFixed(1)}.`;
    const told = [html("p", {}, html("b", {}, `${mean.toFixed(1)} of ${marks.toFixed(1)}`), right)];
    if (wasted !== null) {
      const words = `“${visibleText(run.events[wasted].text.trim())}”, token ${wasted + 1}`;
      const count = `${heat[wasted]} of ${answers.length}`;
      told.push(html("p", {}, `Most marked for nothing: ${words}, ${count}. The SLM wrote it by itself.`));
    }
    return [
      html("p", { class: "cc-question" }, run.head?.prompt.question ?? ""),
      heatText(run.events, heat, this.isTold ? truth : null, isMath),
      html("p", { class: "cx-hidden" }, `Marks: ${heatWords(run.events, heat)}`),
      key,
      ...(this.isTold ? told : []),
    ];
  }

  /** @param {ClassAnswer[]} answers */
  async #curves(answers) {
    const { evidence } = await this.page.ask("evidence");
    const { curves, llm } = paperCurves(evidence.regimes[0].kinds.math);
    const known = curves
      .filter(({ name }) => name !== "citer")
      .map((curve) => ({
        ...curve,
        look: curve.name === "max-probability" ? "cc-baseline" : "cc-shipped",
      }));
    const theirs = answers.map(({ curve }) =>
      (curve?.points ?? []).map(([share, right]) => /** @type {[number, number]} */ ([share, right / (curve?.n ?? 1)])),
    );
    return [
      curvesChart(theirs, known, llm),
      html("p", { class: "cc-small" }, [
        `Solid: ${known.find(({ look }) => look === "cc-shipped")?.label}, as shipped. Dashed: the free baseline. ` +
          "Dotted: the LLM alone.",
      ]),
    ];
  }
}

/** Called when the view is first opened. @param {HTMLElement} panel @param {Page} page */
export async function mountClass(panel, page) {
  await stylesheet(new URL("./class.css", import.meta.url).href);
  const view = new ClassView(page);
  panel.replaceChildren(view.root);
  await view.open();
}
