/**
 * What a page and a worker of the Lab say to each other. Types alone.
 *
 * A job is begun, may be given more to work off, and is over when nothing more comes. Each has one `over`, also one
 * that was cancelled.
 *
 * @typedef {import("../tasks/book.js").Problem} Problem
 * @typedef {import("./labelling.js").Labelled} Labelled
 * @typedef {{index: number, problem: Problem}} LabItem
 *
 * @typedef {{kind: "load", root: string, version: string, hardware: string, packed?: Record<string, string>}} LabLoad
 *   as a `LoadRequest` in `protocol.js`
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
