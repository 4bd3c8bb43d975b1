/**
 * Token ids to text, one delta at a time, never a broken character; the mirror of `citer_core/text.py`.
 *
 * Pure. Deltas join to exactly the text that the tokenizer decodes from all ids at once.
 *
 * @typedef {import("./tokenizer.js").Tokenizer} Tokenizer
 */

const REPLACEMENT_CHARACTER = "\ufffd";

export class TextStream {
  /** @param {Tokenizer} tokenizer */
  constructor(tokenizer) {
    this.tokenizer = tokenizer;
    /** @type {number[]} the ids of the last piece, which some tokenizers need to decode the next */
    this.context = [];
    this.contextText = "";
    /** @type {number[]} */
    this.pending = [];
  }

  /** The text that a token completes; empty while a character is incomplete. @param {number} id */
  push(id) {
    this.pending.push(id);
    const text = this.tokenizer.decode([...this.context, ...this.pending]);
    return text.endsWith(REPLACEMENT_CHARACTER) ? "" : this.#emit(text);
  }

  /** What is still held back at the end of the text. */
  flush() {
    return this.pending.length ? this.#emit(this.tokenizer.decode([...this.context, ...this.pending])) : "";
  }

  /** @param {string} text of context and pending tokens */
  #emit(text) {
    const delta = text.slice(this.contextText.length);
    [this.context, this.pending] = [this.pending, []];
    this.contextText = this.tokenizer.decode(this.context);
    return delta;
  }
}
