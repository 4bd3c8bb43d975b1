/**
 * What a page and its workers say to each other, first the one that decodes. Types alone.
 *
 * A run's messages are those of the server (`run/stream.js`) with a kind, so the same receiver takes them. The first
 * has the trace's head; a run that could not begin has none, only an end that says why. Every run has an end, also one
 * that a later run replaced.
 *
 * @typedef {Object} RunRequest
 * @property {string} router
 * @property {Settings} settings
 * @property {{data_type: string, question: string, text: string, version: number}} prompt `text` is what models read
 * @property {import("./fork.js").Fork|null} [fork]
 * @property {{key: string, fork: number}|null} [parent] of a branch, for its trace
 *
 * @typedef {{kind: "load", root: string, version: string, hardware: string, router?: string,
 *   packed?: Record<string, string>}} LoadRequest
 *   the address of `assets`; what traces say of this project's version and of the machine; a router to have at once;
 *   files that the page holds itself, in base64 by their path below that address
 * @typedef {{kind: "start", run: string, request: RunRequest}} StartRequest
 * @typedef {{kind: "move", run: string, base: string, dials: Dials}} MoveRequest
 *   write run `base` again under other dials, as `run`, from the first decision that is another one; told when it is
 *   whole
 * @typedef {{kind: "know", run: string, request: RunRequest, events: TokenEvent[]}} KnownRun a finished run that was
 *   written elsewhere, over which the dials may move; has no reply
 * @typedef {{kind: "cancel", run: string}} CancelRequest
 * @typedef {{kind: "probe", probe: string, text: string, tokenIds: number[], solution?: string|null}} ProbeOrder
 *   `text` of the prompt; the known solution to compare the tokens with, with the space that follows a prompt
 * @typedef {{kind: "ask", probe: string, what: keyof typeof import("./answers.js").ANSWERS, asked: any}} AskOrder
 * @typedef {LoadRequest|StartRequest|MoveRequest|KnownRun|CancelRequest|ProbeOrder|AskOrder} EngineRequest
 *
 * @typedef {{kind: "ready", pair: import("./pair.js").BrowserPair["info"], routers: string[]}} ReadyReply
 * @typedef {{kind: "failed", error: string}} FailedReply nothing can be decoded here; why
 * @typedef {{kind: "run", run: string, head?: TraceHead, base: number, tokens: TokenEvent[],
 *   end?: RunEnd|null}} RunReply
 * @typedef {{kind: "probe", probe: string, tokens: ProbedToken[], error: string|null,
 *   cases?: import("./run_labels.js").RunCases|{why: string}|null}} ProbeReply `cases` where a solution was given
 * @typedef {{kind: "ask", probe: string, answer: any, error: string|null}} AnswerReply
 * @typedef {ReadyReply|FailedReply|RunReply|ProbeReply|AnswerReply} EngineReply
 */

/**
 * What a page and a worker of the Lab say to each other.
 *
 * A job is begun, may be given more to work off, and is over when nothing more comes. Each has one `over`, also one
 * that was cancelled.
 *
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {import("./labelling.js").Labelled} Labelled
 * @typedef {{index: number, problem: Problem}} LabItem
 *
 * @typedef {{kind: "load", root: string, version: string, hardware: string, packed?: Record<string, string>}} LabLoad
 *   as a `LoadRequest`
 * @typedef {{kind: "begin", job: number, what: keyof typeof import("./lab_desk.js").JOBS, asked: any, items: LabItem[],
 *   isWhole: boolean}} LabBegin `isWhole` where no more items come
 * @typedef {{kind: "more", job: number, items: LabItem[], isWhole: boolean}} LabMore
 * @typedef {{kind: "cancel", job: number}} LabCancel
 * @typedef {LabLoad|LabBegin|LabMore|LabCancel} LabOrder
 *
 * @typedef {{kind: "ready"}} LabReady
 * @typedef {{kind: "failed", error: string}} LabFailed nothing can be computed here; why
 * @typedef {{kind: "news", job: number, value: any}} LabNews
 * @typedef {{kind: "over", job: number, error: string|null}} LabOver
 * @typedef {LabReady|LabFailed|LabNews|LabOver} LabReply
 */

export {};
