/**
 * The lessons that come with the page, and their list in Learn. A lesson is a link: it opens the page anew.
 *
 * Fetches files; what is in one is checked by `lesson_file.js`.
 */

import { html } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";
import { parseJson, readKind } from "../run/gate.js";
import { listOf } from "../run/kinds.js";
import { LESSON_ID, readLesson } from "./lesson_file.js";

const LESSONS = new URL("../lessons/", import.meta.url);
const MOST_LESSONS = 100;

/** @param {string} file */
async function textOf(file) {
  const response = await fetch(new URL(file, LESSONS));
  if (!response.ok) throw new Error(`there is no ${file} here`);
  return response.text();
}

/** @param {string} name */
export async function lessonNamed(name) {
  readKind(LESSON_ID, name, "lesson");
  return readLesson(await textOf(`${name}.json`));
}

/** In their order. @returns {Promise<string[]>} */
export async function lessonNames() {
  const wanted = `a list of at most ${MOST_LESSONS} names`;
  const kind = { ...listOf(LESSON_ID, MOST_LESSONS), wanted };
  return /** @type {string[]} */ (readKind(kind, parseJson(await textOf("index.json"), 10_000), "index.json"));
}

/** @param {string} name @param {"teacher"|"handout"|""} [as] */
export const addressOfLesson = (name, as = "") => `?lesson=${name}${as && `&${as}=1`}`;

/** All of them, each a way in for a student, a teacher, and paper. */
export function lessonCard() {
  const list = html("ol", { class: "cx-lessons" });
  const root = html("section", { class: "cx-learn-card", "aria-labelledby": "cx-learn-lessons" }, [
    html("h2", { id: "cx-learn-lessons" }, "Lessons"),
    html("p", { class: "cx-learn-small" }, [
      "Five minutes each: one run, a guess before the answer, and one number to find. A teacher’s link has notes; " +
        "the handout is two pages to print, with solutions on a third.",
    ]),
    list,
    html("p", {}, html("a", { href: "?view=class" }, "The class’s answers on one page")),
  ]);
  lessonNames()
    .then((names) => Promise.all(names.map(lessonNamed)))
    .then((lessons) => list.replaceChildren(...lessons.map(lessonRow)))
    .catch((error) => list.replaceChildren(html("li", {}, `They could not be read (${messageOf(error)}).`)));
  return root;
}

/** @param {import("./lesson_file.js").Lesson} lesson */
const lessonRow = ({ id, title }) =>
  html("li", {}, [
    html("a", { href: addressOfLesson(id), class: "cx-lesson-name" }, title),
    html("a", { href: addressOfLesson(id, "teacher"), "aria-label": `${title}, for a teacher` }, "Teach"),
    html("a", { href: addressOfLesson(id, "handout"), "aria-label": `${title}, handout` }, "Handout"),
  ]);
