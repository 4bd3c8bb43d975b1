/**
 * Runs of the bundled pair in the visitor's own browser: Generate, branches, probes, and the text under moving dials.
 *
 * Glue between the page and `../transport`; the viewer draws as it does for the server's runs, whose messages these
 * are. Where a browser cannot, or a person does not want it, the server computes as for any other pair.
 *
 * @typedef {import("../engine/protocol.js").RunRequest} RunRequest
 * @typedef {import("../transport/engine_client.js").PairFacts} PairFacts
 * @typedef {"browser"|"server"} Where
 */

import { TRAINING_FREE } from "../engine/routers.js";
import { EngineClient, browserName, canCompute, isSamePair } from "../transport/engine_client.js";
import { LiveDials } from "../transport/live_dials.js";
import { textOf } from "../transport/pair_files.js";
import { solvedProblem, truthOf } from "../transport/run_truth.js";
import { checkAnswer } from "../tasks/answers.js";
import { ProblemBook, rowsOf } from "../tasks/book.js";
import { ProblemError, promptVersion } from "../tasks/problems.js";
import { settle } from "../run/decision.js";
import { isAtSameDials } from "../run/dials.js";
import { messageOf } from "../run/format.js";
import { nextTask } from "./when.js";
import { WhereControl } from "./where_control.js";

const FIRST_RUN_MS = 400;
const BOOK_FILES = ["datasets/math.jsonl", "datasets/mc.jsonl", "datasets/recorded-embedded.jsonl"];

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

export class PageBrowser {
  /** @type {Dials|null} where the dials stood when the pair was last waited for */
  wanted = null;
  /** @type {string|null} the run that this browser writes */
  run = null;
  /** A run is asked for here, or being written: a text under moved dials would end it. */
  isWriting = false;
  nAsked = 0;
  /** Routers of a person's own, by name. @type {Map<string, import("./own_routers.js").OwnRouter>} */
  own = new Map();
  /** @type {ProblemBook} */
  book = new ProblemBook(new Map(), []);

  /** @param {Page} page @param {PairFacts|null} facts null where the project's own pair is not served */
  constructor(page, facts) {
    this.page = page;
    const base = document.baseURI;
    this.facts = facts && canCompute() ? { ...facts, root: new URL(facts.root, base).href } : null;
    this.control = new WhereControl(this.facts?.bytes ?? 0, () => this.#chosen());
    if (!this.facts) return;
    const script = new URL(this.facts.script, base).href;
    this.client = new EngineClient({ ...this.facts, script }, { hardware: browserName(navigator.userAgent) });
    this.live = new LiveDials(this.client, {
      onText: (trace) => this.#showText(trace),
      onRefused: () => page.viewer.rewriting.setPending(false),
      judge: (completion, origin) => this.#judge(completion, origin.prompt, origin.answer?.true_answer ?? null),
    });
    if (this.facts.is_only) this.control.choose("browser");
    else this.control.show();
    // What is seen first comes first: the connection and the processor are its own until then. Beside a server nothing
    // is fetched for a visitor who only looks; a page that has none keeps its files for later times without a network.
    this.prepared = Promise.all([page.firstDrawn, this.facts.is_only || page.firstUse])
      .then(() => new Promise((resolve) => setTimeout(resolve, FIRST_RUN_MS)))
      .then(() => this.prepare());
  }

  /** Whether the bundled pair's runs are to be computed here. */
  get isOn() {
    return Boolean(this.facts) && this.control.where === "browser";
  }

  /** Whether what is generated is the bundled pair's: the server has that one, or none yet. */
  get #isServers() {
    const { facts, page } = this;
    if (!facts) return false;
    const { status } = page.pairs;
    if (status?.state === "ready") return Boolean(status.revision) && isSamePair(status.revision ?? "", facts.revision);
    return page.pairs.loaded === facts.name;
  }

  /** What was measured on this pair's routers; null where another pair is loaded, or nothing was. */
  get advice() {
    return this.#isServers ? (this.facts?.advice ?? null) : null;
  }

  /** Whether Generate asks this browser. */
  get generates() {
    return this.isOn && this.#isServers;
  }

  /** What the server has decides whether where is a choice, and whether this browser's own thresholds hold too. */
  serverChanged() {
    this.control.offer(this.#isServers);
    if (this.generates) this.page.thresholds = { ...this.facts?.thresholds, ...this.page.thresholds };
  }

  /** Loads the pair before it is needed, unless the visitor's connection is to be spared. */
  prepare() {
    const connection = /** @type {{connection?: {saveData?: boolean}}} */ (navigator).connection;
    return this.generates && !connection?.saveData ? this.load() : null;
  }

  /** Loads the pair now. @returns {Promise<boolean>} whether it is here */
  async load() {
    if (!this.client || !this.facts) return false;
    if (this.client.state === "ready") return true;
    const { facts } = this;
    const [isReady] = await Promise.all([this.client.load(), this.book.rows.size ? null : this.#readBook(facts)]);
    return isReady;
  }

  /** Without it a run's answer is not known to be right, and nothing else is lost. @param {PairFacts} facts */
  async #readBook(facts) {
    try {
      const texts = await Promise.all(BOOK_FILES.map((file) => textOf(facts, file)));
      await nextTask();
      const [math, mc, recorded] = texts.map(rowsOf);
      await nextTask();
      this.book = new ProblemBook(
        new Map([
          ["math", math],
          ["mc", mc],
        ]),
        recorded,
      );
    } catch {
      // as when a file is not there
    }
  }

  /** @param {string} completion @param {Prompt} prompt @param {string|null} answer @returns {Answer|null} */
  #judge(completion, prompt, answer) {
    try {
      return checkAnswer(completion, this.book.problem(prompt.question, prompt.data_type, answer ?? ""));
    } catch {
      return null; // a question of another time, which is none of this form
    }
  }

  // ------------------------------------------------------------ runs

  /**
   * One thing of each router of a person's own.
   * @template {keyof import("./own_routers.js").OwnRouter} T
   * @param {T} what
   */
  ofOwn(what) {
    /** @type {Record<string, import("./own_routers.js").OwnRouter[T]>} */
    const found = {};
    for (const [name, router] of this.own) found[name] = router[what];
    return found;
  }

  /** A person's own router is asked, which this browser alone has. @returns {string} what is said of that */
  writesOwn() {
    const isOther = !this.#isServers;
    if (!isOther && this.isOn) return "";
    this.control.choose("browser");
    const pair = isOther ? ", with the bundled pair" : "";
    return `Your router is in this browser alone, so this browser writes${pair}.`;
  }

  /** @param {Asked} asked @returns {boolean} whether this browser takes it */
  generate(asked) {
    const { facts } = this;
    const stored = Object.keys(facts?.thresholds ?? {});
    const router = asked.router || stored[0];
    const isOwn = this.own.has(router);
    if (!isOwn && !(this.generates && (stored.includes(router) || TRAINING_FREE.has(router)))) return false;
    if (isOwn) this.page.notice(this.writesOwn(), { tone: "calm" });
    this.#write(
      () => {
        const problem = this.book.problem(asked.question, asked.data_type, asked.true_answer);
        const { data_type, question, prompt: text, true_answer: answer } = problem;
        const prompt = { data_type, question, text, version: promptVersion(data_type) };
        return { request: { router, settings: asked.settings, prompt }, answer };
      },
      router,
      asked,
    );
    return true;
  }

  /** @param {BranchRequest} asked @returns {boolean} whether this browser takes it */
  branch(asked) {
    if (!this.has(asked)) return false;
    const { router, settings, events, source, token_id: tokenId, prompt, parent } = asked;
    const { data_type, question, text } = prompt;
    /** @type {RunRequest} */
    const request = {
      router,
      settings,
      prompt: { data_type, question, text, version: prompt.version ?? promptVersion(data_type) },
      fork: { events, source, tokenId },
      parent: { key: parent, fork: events.length },
    };
    this.#write(() => ({ request, answer: asked.true_answer }), router, null);
    return true;
  }

  /** Whether this browser writes a pair's runs. @param {{pair_revision: string, router?: string}} about */
  has({ pair_revision: revision, router = "" }) {
    return this.facts !== null && (this.isOn || this.own.has(router)) && isSamePair(revision, this.facts.revision);
  }

  /**
   * @param {() => {request: RunRequest, answer: string|null}} make once the problems are here
   * @param {string} router
   * @param {Asked|null} asked for the server, where this browser cannot after all; null where it may not
   */
  async #write(make, router, asked) {
    const { page } = this;
    const number = ++this.nAsked;
    this.isWriting = true;
    this.live?.rest();
    if (this.client?.state !== "ready") {
      const size = megabytes(this.facts?.bytes ?? 0);
      page.viewer.setStatus(`Loading the bundled pair into this browser: ${size}, once.`, { busy: true });
    }
    const isReady = await this.load();
    if (number !== this.nAsked) return;
    try {
      if (!isReady && (this.facts?.is_only || this.own.has(router))) throw new ProblemError(this.client?.why ?? "");
      if (!isReady) {
        this.control.choose("server");
        if (asked) {
          this.isWriting = false;
          page.notice(`This browser could not load the pair (${this.client?.why}) The server writes.`, {
            tone: "calm",
          });
          page.branches.askServer(asked);
          return;
        }
        throw new ProblemError(`${this.client?.why ?? ""} Try again: the server writes now.`);
      }
      const { request, answer } = make();
      this.#start(request, answer, number);
    } catch (error) {
      this.#giveUp();
      page.notice(error instanceof ProblemError ? error.message : `This run could not begin (${messageOf(error)}).`);
    }
  }

  /** No run comes after all: what is on the screen follows the dials again. */
  #giveUp() {
    const { page } = this;
    this.isWriting = false;
    page.giveUp();
    page.showRunning(false);
    page.dialsMoved();
  }

  /**
   * @param {RunRequest} request @param {string|null} answer that is known to be right
   * @param {number} number of what was asked
   */
  #start(request, answer, number) {
    /** @type {TokenEvent[]} */
    const events = [];
    const run = this.client?.start(request, (reply) => {
      const isLatest = number === this.nAsked;
      if (!isLatest && this.page.run !== reply.run) return; // it was stopped before anything of it was here
      settle(events, reply.tokens);
      const { end } = reply;
      if (end && isLatest) this.isWriting = false;
      if (end && !reply.head && reply.base === 0 && this.page.run !== reply.run) {
        this.#giveUp();
        if (end.error) this.page.notice(end.error);
        return;
      }
      const completion = end && events.map((event) => event.text).join("");
      const judged = end && { ...end, answer: this.#judge(completion ?? "", request.prompt, answer) };
      this.page.take(/** @type {PageMessage} */ (/** @type {unknown} */ ({ ...reply, end: judged })));
    });
    this.run = run ?? null;
  }

  /** Whether a run is this browser's. @param {string|null} run */
  owns(run) {
    return run !== null && run === this.run;
  }

  /** Ends the run that is written here, or that is asked for. @returns {boolean} whether there was one */
  stop() {
    const { page } = this;
    if (page.isLive && this.owns(page.run)) {
      this.isWriting = false;
      this.client?.cancel(page.run ?? "");
      return true;
    }
    if (!page.isStarting || !this.isWriting) return false;
    this.nAsked++;
    if (this.run) this.client?.cancel(this.run);
    this.#giveUp();
    return true;
  }

  // ------------------------------------------------------------ what is asked of a finished run

  /** @param {ProbeRequest} asked @returns {boolean} whether this browser takes it */
  probe(asked) {
    if (!this.has(asked)) return false;
    this.#probe(asked);
    return true;
  }

  /** @param {ProbeRequest} asked */
  async #probe({ prompt, token_ids: ids, key }) {
    const isReady = await this.load();
    const problem = solvedProblem(this.book, prompt);
    const reply = isReady ? await this.client?.probe(prompt.text, ids, problem?.solution) : null;
    const error = reply ? reply.error : (this.client?.why ?? "");
    if (!reply || error !== null) this.page.branches.receiveProbe({ probe: null, notice: error ?? "" });
    else this.page.branches.receiveProbe({ probe: key, tokens: reply.tokens, truth: truthOf(reply.cases, problem) });
  }

  /**
   * One position of a finished run.
   * @param {string} what @param {NextRequest|InsideRequest} asked
   * @returns {Promise<{answer: any, error: string|null}|null>} null where this browser does not take it
   */
  async ask(what, asked) {
    if (!this.has(asked)) return null;
    const reply = (await this.load()) ? await this.client?.ask(what, asked) : null;
    return reply ?? { answer: null, error: this.client?.why ?? "" };
  }

  /** The dials stand here over the run on the screen. @param {Dials} dials */
  async dialsMoved(dials) {
    const { page, live, facts } = this;
    const { rewriting, view } = page.viewer;
    const { origin } = rewriting;
    if (this.isWriting || !live || !facts || !this.isOn || !origin || !isSamePair(origin.pair.revision, facts.revision))
      return;
    if (isAtSameDials(dials, origin.settings)) {
      live.rest();
      rewriting.back();
      page.drawHistogram();
      return;
    }
    if (view.origin !== null && view.head && isAtSameDials(dials, view.head.settings)) {
      live.rest(); // it is shown
      return;
    }
    if (this.client?.state !== "ready" && !(await this.#loadFor(dials))) return;
    rewriting.setPending(live.move(origin, dials) && live.isBusy);
  }

  /** @param {Dials} dials @returns {Promise<boolean>} whether they still stand there when the pair is here */
  async #loadFor(dials) {
    const { viewer } = this.page;
    const { runKey } = viewer.view;
    this.wanted = dials;
    const isReady = await this.load();
    return isReady && !this.isWriting && this.wanted === dials && viewer.view.runKey === runKey;
  }

  /** @param {Trace} trace */
  #showText(trace) {
    const { page, live } = this;
    const { rewriting } = page.viewer;
    if (!live || rewriting.origin !== live.origin) return; // another run is on the screen by now
    rewriting.show(trace);
    page.replayTau();
    rewriting.setPending(live.isBusy);
    page.drawHistogram();
  }

  /** A person chose where. */
  #chosen() {
    const { page } = this;
    if (this.isOn) this.prepare();
    else {
      this.live?.rest();
      page.viewer.rewriting.back();
    }
    page.dialsMoved();
  }
}
