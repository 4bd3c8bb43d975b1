/**
 * A lesson on the page as it is: the address that it names is opened, what would tell the answer is hidden until a
 * person has guessed, then one number is to be found.
 *
 * Called by page.js where the address names a lesson. Must not know how a view draws: parts are hidden by
 * `lessons.css`, and while one guesses neither tau nor a token can be moved or pressed.
 */

import { allOf, html, part, plainButton, setText, stylesheet } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";
import { LESSON_STEPS, LessonBar, stressed } from "./lesson_bar.js";
import { isOnLabels, measuredFacts, runOnScreen } from "./lesson_facts.js";
import { filled } from "./lesson_file.js";
import { addressOfLesson, lessonNamed, lessonNames } from "./lesson_list.js";
import { LESSON_TRUTHS, isFound, truthOf, truthWords } from "./lesson_truths.js";
import { MarkedText } from "./marked_text.js";
import { byRouter, scoreMarks, whereChanged } from "./score.js";

/**
 * @typedef {import("./lesson_file.js").Lesson} Lesson
 * @typedef {import("./lesson_truths.js").LessonFacts} LessonFacts
 * @typedef {Object} LessonAnswer what a person answered
 * @property {string} lesson
 * @property {number|number[]} guess a number, or the tokens that were marked, counted from 0
 * @property {number|null} number the last one that was typed, if any
 */

/** What a token, a figure or a picture of the run listens to. */
const HEARD = ["click", "dblclick", "pointerdown", "pointermove", "pointerover", "keydown"];
const MARKED = { router: byRouter, changed: whereChanged };

class LessonPlay {
  /** @type {LessonAnswer} */
  answer;

  /** @param {Page} page @param {Lesson} lesson @param {string[]} names of all lessons @param {boolean} isTeacher */
  constructor(page, lesson, names, isTeacher) {
    this.page = page;
    this.lesson = lesson;
    this.isTeacher = isTeacher;
    this.answer = { lesson: lesson.id, guess: [], number: null };
    const place = names.indexOf(lesson.id);
    this.next = names[place + 1];
    const handout = html("a", { href: addressOfLesson(lesson.id, "handout"), class: "ls-link" }, "Handout");
    this.copied = plainButton("Copy link", "ls-link", () => this.#copy());
    this.bar = new LessonBar({
      title: lesson.title,
      place: place < 0 ? "Lesson" : `Lesson ${place + 1} of ${names.length}`,
      isTeacher,
      links: [this.copied, handout],
      onLeave: () => this.leave(),
    });
    this.marks = new MarkedText(() => this.#marked(), lesson.guess.kind === "marks" ? lesson.guess.most : 1);
    this.go = this.#button("Show me", () => this.#reveal());
    this.abort = new AbortController();
    const { signal } = this.abort;
    /** @param {Event} event */
    const held = (event) => {
      const isRun = event.target instanceof Element && event.target.closest(".citer-look") !== null;
      if (document.body.dataset.lesson === "guess" && isRun && /** @type {any} */ (event).key !== "Tab")
        event.stopImmediatePropagation();
    };
    for (const kind of HEARD) document.addEventListener(kind, held, { signal, capture: true });
    part(document, "#cx-header").after(this.bar.root);
    part(document, ".cx-header").append(this.bar.leave);
    document.body.classList.add("cx-lesson");
    document.body.dataset.hides = lesson.hide.join(" ");
    this.resize = new ResizeObserver(() => this.#measure());
    this.resize.observe(this.bar.root);
    this.#show("guess", { words: ["One moment."], actions: [] });
  }

  /** The bar covers the foot of a phone's window, where tau stands. */
  #measure() {
    document.body.style.setProperty("--ct-height", `${this.bar.root.offsetHeight}px`);
  }

  /** @param {string} step @param {Parameters<LessonBar["show"]>[1]} what */
  #show(step, what) {
    const { body } = document;
    body.dataset.lesson = step;
    const isHeld = step === "guess" || step === "look";
    part(document, ".cx-tau-group").toggleAttribute("inert", isHeld);
    body.classList.toggle("cx-touring", !isHeld);
    const note = this.facts
      ? filled(this.lesson.notes[Math.min(2, LESSON_STEPS.indexOf(step))], this.facts).join("")
      : "";
    this.bar.show(step, { ...what, note });
  }

  /** @param {string} label @param {() => void} act */
  #button(label, act) {
    return plainButton(label, "ls-go", act);
  }

  /** @param {LessonFacts} facts */
  begin(facts) {
    this.facts = facts;
    const { guess } = this.lesson;
    const most = guess.kind === "marks" ? String(guess.most) : "";
    const words = stressed(filled(guess.ask, facts, { most }));
    if (guess.kind === "marks") {
      const trace = /** @type {Trace} */ (facts.view?.trace());
      this.text = html("section", { class: "ls-marks cx-learn", "aria-label": "The text" }, [
        html("p", { class: "cx-learn-question" }, trace.prompt.question),
        this.marks.root,
      ]);
      part(document, "#cx-run").append(this.text);
      this.count = html("output", { class: "ls-count" });
      this.#show("guess", { words, answer: [this.count], actions: [this.go] });
      this.marks.show(trace.events, trace.prompt.data_type === "math");
    } else this.#show("guess", { words, answer: this.#scale(guess), actions: [this.go] });
    if (this.isTeacher) {
      setText(this.go, "Show the answer");
      this.go.disabled = false;
    }
    this.bar.title.focus({ preventScroll: true });
  }

  /** @param {import("./lesson_file.js").NumberGuess} guess */
  #scale({ truth, low, high }) {
    if (this.isTeacher) return [];
    const unit = LESSON_TRUTHS[truth].unit === "%" ? "%" : "";
    const said = html("output", { class: "ls-guess" }, "?");
    const input = html("input", { type: "range", min: low, max: high, step: 1, "aria-label": "Your guess" });
    input.value = String(Math.round((low + high) / 2));
    input.setAttribute("aria-valuetext", "no guess yet");
    this.go.disabled = true;
    input.addEventListener("input", () => {
      this.answer.guess = Number(input.value);
      setText(said, `${input.value}${unit}`);
      input.removeAttribute("aria-valuetext");
      input.style.setProperty("--range_progress", `${(100 * (Number(input.value) - low)) / (high - low)}%`);
      this.go.disabled = false;
    });
    return [html("span", { class: "ls-scale" }, input, said)];
  }

  #marked() {
    const { guess } = this.lesson;
    if (guess.kind !== "marks" || !this.count) return;
    this.answer.guess = [...this.marks.order].sort((a, b) => a - b);
    setText(this.count, `${this.marks.nMarked} of ${guess.most} marked`);
    this.go.disabled = !this.isTeacher && this.marks.nMarked < guess.most;
  }

  /** The answer and the guess, as they are printed. @returns {Record<string, string>} */
  #said() {
    const { guess } = this.lesson;
    const facts = /** @type {LessonFacts} */ (this.facts);
    if (guess.kind === "marks") {
      const { hits, missed } = scoreMarks(this.marks.marked, this.marks.truth ?? []);
      return { guess: String(hits), truth: String(hits + missed) };
    }
    const truth = truthOf(guess.truth, facts);
    const yours = typeof this.answer.guess === "number" ? truthWords(guess.truth, this.answer.guess) : "–";
    if (guess.truth === "run.bytesShare" && typeof this.answer.guess === "number")
      document.body.style.setProperty("--ls-guess", `${(100 * this.answer.guess) / Math.max(100, truth)}%`);
    return { guess: yours, truth: truthWords(guess.truth, truth) };
  }

  #reveal() {
    const { guess, look } = this.lesson;
    const facts = /** @type {LessonFacts} */ (this.facts);
    if (guess.kind === "marks") this.marks.reveal(MARKED[guess.truth](/** @type {any} */ (this.marks.tokens)));
    document.body.dataset.hides = "";
    // Of a teacher nobody guessed: the sentence on it is left out.
    const words = this.isTeacher ? look.replace(/, and you said \{guess\}|^\{guess\} of /, "") : look;
    const actions = [this.#button("One number to find", () => this.#find())];
    this.#show("look", { words: stressed(filled(words, facts, this.#said())), actions });
    if (this.lesson.hide.includes("bytes")) part(document, ".cv-moved-list").scrollIntoView({ block: "nearest" });
  }

  #find() {
    this.text?.remove();
    document.body.style.removeProperty("--ls-guess");
    const { find } = this.lesson;
    const facts = /** @type {LessonFacts} */ (this.facts);
    const truth = truthOf(find.truth, facts);
    const field = html("input", { type: "number", step: "any", "aria-label": "The number", inputmode: "decimal" });
    const give = plainButton("Show it", "ls-link", () => this.#done(false), { hidden: !this.isTeacher });
    const check = () => {
      if (field.value === "") return this.bar.say("Type the number that you found.");
      this.answer.number = Number(field.value);
      if (isFound(find.truth, Number(field.value), truth)) return this.#done(true);
      give.hidden = false;
      return this.bar.say("That is not it. Look again.");
    };
    field.addEventListener("keydown", ({ key }) => key === "Enter" && check());
    const words = stressed(filled(find.ask, facts));
    this.#show("find", { words, answer: [field, give], actions: [this.#button("Check", check)] });
  }

  /** @param {boolean} isFoundNow */
  #done(isFoundNow) {
    const { truth } = this.lesson.find;
    const facts = /** @type {LessonFacts} */ (this.facts);
    const number = truthWords(truth, truthOf(truth, facts));
    const words = stressed(isFoundNow ? ["Found: ", number, ". That was the lesson."] : ["It is ", number, "."]);
    const more = this.next
      ? html("a", { class: "ls-go", href: addressOfLesson(this.next, this.isTeacher ? "teacher" : "") }, "Next lesson")
      : html("a", { class: "ls-go", href: "?view=learn" }, "All lessons");
    this.#show("done", { words, actions: [more] });
    if (!this.isTeacher) this.#giveCode();
  }

  /** The answer, to be taken to a class. */
  async #giveCode() {
    const { lesson, guess, number } = this.answer;
    const given = typeof guess === "number" ? { guess } : { marks: guess };
    const { answerCard } = await import("../class/answer_card.js");
    if (document.body.dataset.lesson === "done")
      this.bar.answer.replaceChildren(answerCard({ of: lesson, ...given, number }));
  }

  async #copy() {
    const link = new URL(addressOfLesson(this.lesson.id), document.baseURI).href;
    try {
      await navigator.clipboard.writeText(link);
      setText(this.copied, "Link copied");
    } catch {
      this.bar.say(`Copy this link: ${link}`);
    }
  }

  /** What is on the screen stays. */
  leave() {
    this.abort.abort();
    this.resize.disconnect();
    this.text?.remove();
    this.bar.remove();
    const { body } = document;
    body.classList.remove("cx-lesson", "cx-touring");
    for (const name of ["lesson", "hides"]) delete body.dataset[name];
    for (const name of ["--ct-height", "--ls-guess"]) body.style.removeProperty(name);
    part(document, ".cx-tau-group").removeAttribute("inert");
    const address = new URL(location.href);
    for (const name of ["lesson", "teacher"]) address.searchParams.delete(name);
    history.replaceState(null, "", address);
    // Where the keyboard was is gone: to the open view, or to the button that shows the views.
    const stops = allOf("#cx-menu, .cx-views a[aria-current]");
    stops.find((stop) => stop.offsetParent)?.focus({ preventScroll: true });
  }
}

/**
 * The lesson on paper; its run as it was recorded, whatever tau the lesson begins with.
 * @param {Page} page @param {Lesson} lesson @param {RunView} view
 * @param {Awaited<ReturnType<typeof measuredFacts>>} measured
 */
async function printed(page, lesson, view, { evidence, analysis, ...rest }) {
  const [{ showHandout }, { labelledTokens }] = await Promise.all([
    import("./handout.js"),
    import("./handout_numbers.js"),
    stylesheet(new URL("./handout.css", import.meta.url).href),
  ]);
  view.setWhatIf(null);
  const [regime] = evidence.regimes;
  showHandout(lesson, {
    view,
    lesson: { view, ...rest },
    evidence: { title: regime.title, points: regime.kinds.math.points },
    labelled: labelledTokens(analysis),
    other: page.pricing.pairs[0],
  });
}

/**
 * Opens a lesson's address in place of the page's, and its bar.
 * @param {Page} page @param {string} name
 */
export async function openLesson(page, name) {
  const query = new URLSearchParams(location.search);
  const as = query.has("handout") ? "handout" : query.has("teacher") ? "teacher" : "";
  try {
    const [lesson, names] = await Promise.all([
      lessonNamed(name),
      lessonNames(),
      ...["./learn.css", "./lessons.css"].map((name) => stylesheet(new URL(name, import.meta.url).href)),
    ]);
    const address = new URL(location.href);
    const own = [["lesson", lesson.id], ...(as ? [[as, "1"]] : [])];
    address.search = String(new URLSearchParams([...new URLSearchParams(lesson.open), ...own]));
    history.replaceState(null, "", address);
    page.views.show(page.views.named());
    const play = as === "handout" ? null : new LessonPlay(page, lesson, names, as === "teacher");
    Promise.all([runOnScreen(page), measuredFacts(page, play === null || isOnLabels(lesson))])
      .then(([view, measured]) => (play ? play.begin({ view, ...measured }) : printed(page, lesson, view, measured)))
      .catch((error) => {
        const said = `This lesson could not begin: ${messageOf(error)}`;
        if (play) play.bar.say(said);
        else page.notice(said);
      });
  } catch (error) {
    page.notice(`The lesson of this link could not be opened: ${messageOf(error)}`);
  }
}
