/**
 * The page's side of the worker that decodes: loads the bundled pair once, hands requests on, and gives what comes back
 * to the caller. Must not know the page, the viewer, or what a run is shown for.
 *
 * @typedef {import("../engine/protocol.js").EngineReply} EngineReply
 * @typedef {import("../engine/protocol.js").EngineRequest} EngineRequest
 * @typedef {import("../engine/protocol.js").RunRequest} RunRequest
 * @typedef {import("../engine/protocol.js").RunReply} RunReply
 * @typedef {(reply: RunReply) => void} TakeReply
 *
 * @typedef {Object} PairFacts what is known of the pair before any of it is here
 * @property {string} name
 * @property {string} revision of both models' weights
 * @property {string} root address of the folder that its files are in
 * @property {string} script address of the worker's script
 * @property {string} lab_script address of that of the Lab's workers, "" where there is none
 * @property {number} bytes of what has to be loaded before anything can be written
 * @property {string} version of this project
 * @property {number} one_file_bytes about how large that page is
 * @property {string[]} files paths below `root` of all that a page needs which holds the pair itself
 * @property {Record<string, string>} [packed] these files in base64, in such a page
 * @property {boolean} [is_only] there is no server that could compute
 * @property {{best: string, said: Record<string, string>, plane?: Plane|null}|null} advice which router to use, what
 *   speaks against others, what was measured of looking back
 * @property {Record<string, number>} thresholds a tau to start from, of each trained router; the default one first
 */

/** @param {string} one @param {string} other `sample.whole`, or the sample alone where a name is older */
function isSameModel(one, other) {
  const [[sample, whole], [otherSample, otherWhole]] = [one.split("."), other.split(".")];
  return sample === otherSample && (whole === otherWhole || !whole || !otherWhole);
}

/**
 * Whether two names of weights are of the same ones; the mirror of `citer_core/models/same_pair.py`.
 * @param {string} one revision of a pair @param {string} other
 */
export function isSamePair(one, other) {
  const [halves, others] = [one.split("-"), other.split("-")];
  return halves.length === others.length && halves.every((half, i) => isSameModel(half, others[i]));
}

/** A module of one function that makes a vector: whether this browser has them. */
const VECTORS = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11];

export const LOST = "The part of this browser that writes has stopped. Load the page again.";

/** Whether a run can be computed here at all. */
export function canCompute() {
  try {
    return typeof Worker === "function" && WebAssembly.validate(new Uint8Array(VECTORS));
  } catch {
    return false;
  }
}

/** Which browser this is, as traces name what computed them. @param {string} agent of `navigator` */
export function browserName(agent) {
  const known = [/Edg\/\d+/, /Firefox\/\d+/, /Chrome\/\d+/, /Version\/\d+(?=.*Safari)/];
  const found = known.map((pattern) => pattern.exec(agent)?.[0]).find(Boolean) ?? "unknown";
  const [name, version] = found.replace("Edg/", "Edge/").replace("Version/", "Safari/").split("/");
  return `a browser (${[name, version].filter(Boolean).join(" ")}, WebAssembly, 1 thread)`;
}

export class EngineClient {
  /** @type {"idle"|"loading"|"ready"|"failed"} */
  state = "idle";
  why = "";
  nRuns = 0;
  /** Routers in files, which the pair is given whenever it is loaded. @type {ArrayBuffer[]} */
  routerFiles = [];
  /** @type {Worker|null} */
  worker = null;
  /** @type {Promise<boolean>|null} */
  loading = null;
  /** @type {(isReady: boolean) => void} */
  #loaded = () => {};
  /** @type {Map<string, TakeReply>} */
  #runs = new Map();
  /** What was asked about a run, by the name of the question. @type {Map<string, (reply: any) => void>} */
  #asked = new Map();

  /**
   * @param {PairFacts} facts
   * @param {{hardware: string, makeWorker?: (url: string) => Worker}} how tests have workers of their own
   */
  constructor(facts, { hardware, makeWorker = (url) => new Worker(url) }) {
    this.facts = facts;
    this.hardware = hardware;
    this.makeWorker = makeWorker;
  }

  /** Loads the pair, if it is not here; what failed is tried again. @returns {Promise<boolean>} whether it is here */
  load() {
    const loading = this.loading ?? this.#load();
    // A worker that throws at once has failed by now; it is not what the next one waits for.
    this.loading = this.state === "failed" ? null : loading;
    return loading;
  }

  /** @returns {Promise<boolean>} */
  #load() {
    this.state = "loading";
    return new Promise((resolve) => {
      this.#loaded = resolve;
      try {
        this.worker = this.makeWorker(this.facts.script);
      } catch (error) {
        this.#failed(error instanceof Error ? error.message : String(error));
        return;
      }
      this.worker.onmessage = ({ data }) => this.#take(data);
      this.worker.onerror = () => this.#failed(LOST);
      const { root, version, thresholds, packed } = this.facts;
      const [router] = Object.keys(thresholds);
      this.#post({ kind: "load", root, version, hardware: this.hardware, router, ...(packed ? { packed } : {}) });
    });
  }

  /** @param {string} why */
  #failed(why) {
    this.state = "failed";
    this.why = why;
    this.loading = null;
    this.worker?.terminate();
    this.worker = null;
    this.#loaded(false);
    const end = /** @type {RunEnd} */ ({ finish_reason: "error", answer: null, error: why });
    for (const [run, take] of [...this.#runs]) take({ kind: "run", run, base: 0, tokens: [], end });
    for (const take of [...this.#asked.values()]) take({ tokens: [], answer: null, error: why });
    this.#runs.clear();
    this.#asked.clear();
  }

  /** @param {EngineRequest} request */
  #post(request) {
    this.worker?.postMessage(request);
  }

  /** @param {EngineReply} reply */
  #take(reply) {
    switch (reply.kind) {
      case "ready":
        this.state = "ready";
        for (const file of this.routerFiles) this.ask("add_router", file);
        this.#loaded(true);
        break;
      case "failed":
        this.#failed(reply.error);
        break;
      case "run": {
        const take = this.#runs.get(reply.run);
        if (reply.end) this.#runs.delete(reply.run);
        take?.(reply);
        break;
      }
      case "ask":
      case "probe": {
        const take = this.#asked.get(reply.probe);
        this.#asked.delete(reply.probe);
        take?.(reply);
        break;
      }
      default: // a worker of another version
    }
  }

  /** A name that no other run of this page has, nor one of the server's. */
  newName() {
    return `here-${++this.nRuns}-${Math.random().toString(36).slice(2)}`;
  }

  /**
   * Writes a run; any other one ends.
   * @param {RunRequest} request @param {TakeReply} take
   * @returns {string} its name
   */
  start(request, take) {
    const run = this.newName();
    this.#runs.set(run, take);
    this.#post({ kind: "start", run, request });
    return run;
  }

  /**
   * Tells of a finished run, over which the dials may move.
   * @param {RunRequest} request @param {TokenEvent[]} events
   * @returns {string} the name that it has here
   */
  know(request, events) {
    const run = this.newName();
    this.#post({ kind: "know", run, request, events });
    return run;
  }

  /**
   * Writes a known run again under other dials; any other one ends.
   * @param {string} base @param {Dials} dials @param {TakeReply} take
   * @returns {string} its name
   */
  move(base, dials, take) {
    const run = this.newName();
    this.#runs.set(run, take);
    this.#post({ kind: "move", run, base, dials });
    return run;
  }

  /** Ends a run between two tokens; its end is told. @param {string} run */
  cancel(run) {
    this.#post({ kind: "cancel", run });
  }

  /**
   * What both models say at every token of a text.
   * @param {string} text of the prompt @param {number[]} tokenIds
   * @param {string|null} [solution] to compare them with
   * @returns {Promise<import("../engine/protocol.js").ProbeReply>}
   */
  probe(text, tokenIds, solution = null) {
    return this.#ask({ kind: "probe", text, tokenIds, solution });
  }

  /**
   * One position of a finished run, or to take in a router.
   * @param {string} what of `ANSWERS` in `../engine/answers.js` @param {object} asked
   * @returns {Promise<import("../engine/protocol.js").AnswerReply>}
   */
  ask(what, asked) {
    return this.#ask({ kind: "ask", what, asked });
  }

  /** @param {any} order without its name @returns {Promise<any>} */
  #ask(order) {
    return new Promise((resolve) => {
      const probe = this.newName();
      this.#asked.set(probe, resolve);
      this.#post({ ...order, probe });
    });
  }
}
