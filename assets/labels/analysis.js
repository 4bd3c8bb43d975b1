/**
 * An analysis as the server sends it, unpacked: one entry per ground-truth token in typed columns.
 *
 * Pure: must not know the DOM. See `citer_core/ui/label_messages.py` for the message.
 *
 * @typedef {Object} Analysis
 * @property {string} id
 * @property {string} title
 * @property {number} n tokens of all problems
 * @property {{id: string|null, kind: string, question: string, answer: string, n: number, start: number}[]} problems
 * @property {{name: string, label: string, tau: number, prior: string}[]} routers
 * @property {string[]} text the pieces; joined they are the ground truth
 * @property {(string|null)[]} slm each model's greedy token; null is the end of text
 * @property {(string|null)[]} llm
 * @property {Uint8Array} caseOf
 * @property {Uint8Array} label
 * @property {Uint32Array} problemOf
 * @property {Record<string, Float32Array>} confidence by router
 * @property {Record<string, Object>} curves by router
 */

/** Little-endian float32 in base64. */
export function floats(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** @returns {Analysis} */
export function unpack(message) {
  const word = (index) => (index < 0 ? null : message.words[index]);
  const n = message.text.length;
  const problemOf = new Uint32Array(n);
  let start = 0;
  const problems = message.problems.map((problem, number) => {
    problemOf.fill(number, start, start + problem.n);
    const placed = { ...problem, start };
    start += problem.n;
    return placed;
  });
  return {
    id: message.analysis,
    title: message.title,
    n,
    problems,
    routers: message.routers,
    text: message.text.map(word),
    slm: message.slm.map(word),
    llm: message.llm.map(word),
    caseOf: Uint8Array.from(message.case, Number),
    label: Uint8Array.from(message.label, Number),
    problemOf,
    slmProbability: floats(message.slm_probability),
    llmProbability: floats(message.llm_probability),
    slmTruthProbability: floats(message.slm_truth_probability),
    llmTruthProbability: floats(message.llm_truth_probability),
    confidence: Object.fromEntries(Object.entries(message.confidence).map(([name, text]) => [name, floats(text)])),
    curves: message.curves,
  };
}

/** Is this the end-of-text token of its problem? */
export function isEnd(analysis, index) {
  const problem = analysis.problems[analysis.problemOf[index]];
  return index === problem.start + problem.n - 1;
}
