/**
 * A lesson's bar: its question, what a person answers with, and the one action that comes next. Under the header, on a
 * phone at the foot of the window.
 *
 * Must not know the page or what is right; `lesson.js` tells it what to show.
 */

import { html, plainButton, setText } from "../viewer/dom.js";

const TEACHER_S = 300;
export const LESSON_STEPS = ["guess", "look", "find", "done"];

/** @typedef {import("../viewer/dom.js").Part} Part */

/** Words in which every second part is a number. @param {string[]} parts */
export const stressed = (parts) => parts.map((part, place) => (place % 2 ? html("b", {}, part) : part));

export class LessonBar {
  /**
   * @param {{title: string, place: string, isTeacher: boolean, links: Part[], onLeave: () => void}} how `links`: beside
   *   a teacher's notes
   */
  constructor({ title, place, isTeacher, links, onLeave }) {
    this.title = html("h2", { class: "ls-title", tabindex: "-1", id: "ls-title" }, title);
    this.steps = html("span", { class: "ls-steps", "aria-hidden": "true" }, [...LESSON_STEPS.map(() => html("i", {}))]);
    this.place = html("p", { class: "ls-place" });
    this.head = `${place}${isTeacher ? " · teacher" : ""}`;
    this.words = html("p", { class: "ls-words", "aria-live": "polite" });
    this.answer = html("div", { class: "ls-answer" });
    this.said = html("p", { class: "ls-said", role: "status" });
    this.act = html("div", { class: "ls-act" });
    this.notes = html("p", { class: "ls-note" });
    this.clock = html("span", { class: "ls-clock" });
    this.root = html("section", { class: "citer-lesson", "aria-labelledby": "ls-title" }, [
      html("div", { class: "ls-row" }, [
        html("div", { class: "ls-head" }, this.place, this.title, this.steps),
        html("div", { class: "ls-body" }, this.words, this.answer, this.said),
        this.act,
      ]),
      isTeacher ? this.#teacherRow(links) : null,
    ]);
    this.root.toggleAttribute("data-teacher", isTeacher);
    this.root.addEventListener("keydown", ({ key }) => key === "Escape" && onLeave());
    this.leave = plainButton("Leave lesson", "cx-tool ls-leave", onLeave);
    const began = performance.now();
    const tick = () => {
      const left = Math.max(0, TEACHER_S - Math.floor((performance.now() - began) / 1000));
      setText(this.clock, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`);
    };
    tick();
    this.timer = isTeacher ? setInterval(tick, 1000) : undefined;
  }

  /** @param {Part[]} links */
  #teacherRow(links) {
    const hide = plainButton("Hide note", "ls-link", () => {
      this.notes.hidden = !this.notes.hidden;
      setText(hide, this.notes.hidden ? "Show note" : "Hide note");
    });
    return html("div", { class: "ls-teacher" }, this.notes, html("p", { class: "ls-links" }, this.clock, links, hide));
  }

  /**
   * @param {string} step
   * @param {{words: Part[], answer?: Part[], actions: HTMLElement[], note?: string}} what its last action is the
   *   next one
   */
  show(step, { words, answer = [], actions, note = "" }) {
    const at = LESSON_STEPS.indexOf(step);
    const hadFocus = this.root.contains(document.activeElement);
    this.root.dataset.step = step;
    const spoken = `, step ${at + 1} of ${LESSON_STEPS.length}`;
    this.place.replaceChildren(this.head, html("span", { class: "cx-hidden" }, spoken));
    [...this.steps.children].forEach((mark, i) => mark.toggleAttribute("data-done", i <= at));
    this.words.replaceChildren(...words.filter((part) => part !== null && part !== undefined));
    this.answer.replaceChildren(...answer.filter((part) => part !== null && part !== undefined));
    this.act.replaceChildren(...actions);
    setText(this.said, "");
    this.notes.replaceChildren(html("b", {}, "Note. "), note);
    if (!hadFocus) return;
    const next = this.answer.querySelector("input") ?? actions.at(-1);
    if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  }

  /** @param {string} words */
  say(words) {
    setText(this.said, words);
  }

  remove() {
    clearInterval(this.timer);
    this.root.remove();
    this.leave.remove();
  }
}
