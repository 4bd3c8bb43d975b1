/**
 * Text to token ids and back, as `tokenizer.json` says: byte-level BPE behind a list of splits.
 *
 * The parts of the format that the bundled pair uses are read; a file with others is refused, not read wrongly. The ids
 * are those of the tokenizers library. Pure.
 *
 * @typedef {{id: number, content: string, isSpecial: boolean}} AddedToken
 * @typedef {{pattern: RegExp}} Split pieces that match stand alone; what lies between them is a piece as well
 */

import { ModelFileProblem } from "./safetensors.js";

/** GPT-2's pieces; `\p{White_Space}` is what the library's `\s` is, and JavaScript's own is not. */
const WORDS = new RegExp(
  ["'s|'t|'re|'ve|'m|'ll|'d", " ?\\p{L}+", " ?\\p{N}+", " ?[^\\p{White_Space}\\p{L}\\p{N}]+"]
    .concat("\\p{White_Space}+(?!\\P{White_Space})", "\\p{White_Space}+")
    .join("|"),
  "gu",
);
const EACH_NUMERAL = /\p{N}/gu;
const NUMERALS = /\p{N}+/gu;
const MOST_KNOWN_PIECES = 10_000;

/** The characters that stand for bytes 0 to 255 in a byte-level vocabulary: printable ones for themselves. */
function byteCharacters() {
  const [plain, others] = [/[!-~¡-¬®-ÿ]/, 256];
  let next = others;
  return Array.from({ length: 256 }, (_, byte) => {
    const char = String.fromCharCode(byte);
    return plain.test(char) ? char : String.fromCharCode(next++);
  });
}

export class Tokenizer {
  /** @param {any} file `tokenizer.json` @throws {ModelFileProblem} */
  constructor(file) {
    const model = file?.model ?? {};
    /** @param {boolean} fits @param {string} what */
    const need = (fits, what) => {
      if (!fits) throw new ModelFileProblem(`tokenizer.json asks for what the browser does not do: ${what}.`);
    };
    need(
      model.type === "BPE" && !model.dropout && !model.byte_fallback && !model.ignore_merges,
      "another model than BPE",
    );
    need(!model.continuing_subword_prefix && !model.end_of_word_suffix, "marks at the ends of words");
    need(file.normalizer === null, "a normalizer");
    need(!file.truncation && !file.padding, "truncation or padding");
    need(file.decoder?.type === "ByteLevel", "a decoder that is not byte-level");
    need(!addsTokens(file.post_processor), "tokens around a text");
    /** @type {AddedToken[]} */
    this.added = (file.added_tokens ?? []).map((/** @type {any} */ token) => {
      need(
        !token.single_word && !token.lstrip && !token.rstrip && !token.normalized,
        "added tokens that strip or fold",
      );
      return { id: token.id, content: token.content, isSpecial: token.special === true };
    });
    this.splits = splitsOf(file.pre_tokenizer, need);
    /** @type {Map<string, number>} */
    this.ids = new Map(Object.entries(model.vocab));
    /** @type {(string|string[])[]} */
    const merges = model.merges;
    /** @type {Map<string, number>} of "left right" */
    this.ranks = new Map(merges.map((merge, rank) => [typeof merge === "string" ? merge : merge.join(" "), rank]));
    /** @type {string[]} by id */
    this.tokens = [];
    for (const [token, id] of this.ids) this.tokens[id] = token;
    for (const { id, content } of this.added) this.tokens[id] = content;
    this.byteChars = byteCharacters();
    this.bytesOf = new Map(this.byteChars.map((char, byte) => [char, byte]));
    /** @type {Map<string, number[]>} */
    this.known = new Map();
    const longestFirst = [...this.added].sort((a, b) => b.content.length - a.content.length);
    const escaped = longestFirst.map(({ content }) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    this.addedPattern = escaped.length ? new RegExp(escaped.join("|"), "gu") : null;
    this.addedIds = new Map(this.added.map(({ content, id }) => [content, id]));
    this.specialIds = new Set(this.added.filter(({ isSpecial }) => isSpecial).map(({ id }) => id));
  }

  /** Tokens that there are. */
  get size() {
    return new Set([...this.ids.values(), ...this.added.map(({ id }) => id)]).size;
  }

  /** @param {string} text @returns {number[]} ids */
  encode(text) {
    /** @type {number[]} */
    const ids = [];
    const found = this.addedPattern ? text.matchAll(this.addedPattern) : [];
    let end = 0;
    for (const { 0: content, index } of found) {
      this.#encodePlain(text.slice(end, index), ids);
      ids.push(/** @type {number} */ (this.addedIds.get(content)));
      end = index + content.length;
    }
    this.#encodePlain(text.slice(end), ids);
    return ids;
  }

  /** @param {string} text @param {number[]} ids */
  #encodePlain(text, ids) {
    const pieces = this.splits.reduce((parts, { pattern }) => parts.flatMap((part) => cut(part, pattern)), [text]);
    for (const piece of pieces) {
      let merged = this.known.get(piece);
      if (!merged) {
        merged = this.#merge(piece);
        if (this.known.size < MOST_KNOWN_PIECES) this.known.set(piece, merged);
      }
      for (const id of merged) ids.push(id);
    }
  }

  /** Merges the bytes of a piece, the earliest learned pair first. @param {string} piece @returns {number[]} */
  #merge(piece) {
    const parts = [...new TextEncoder().encode(piece)].map((byte) => this.byteChars[byte]);
    while (parts.length > 1) {
      let [best, at] = [Infinity, 0];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (best === Infinity) break;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
    return parts.flatMap((part) => this.ids.get(part) ?? []);
  }

  /**
   * @param {number[]} ids
   * @param {boolean} [withSpecial] special tokens by name instead of not at all
   */
  decode(ids, withSpecial = false) {
    const bytes = [];
    const wanted = withSpecial ? ids : ids.filter((id) => !this.specialIds.has(id));
    for (const id of wanted) {
      const token = this.tokens[id] ?? "";
      const mapped = [...token].map((char) => this.bytesOf.get(char));
      bytes.push(...(mapped.includes(undefined) ? new TextEncoder().encode(token) : /** @type {number[]} */ (mapped)));
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
  }
}

/** Whether a post-processor puts anything around a text. @param {any} processor */
function addsTokens(processor) {
  if (processor === null || processor === undefined || processor.type === "ByteLevel") return false;
  if (processor.type === "Sequence") return processor.processors.some(addsTokens);
  return processor.type !== "TemplateProcessing" || processor.single.some((/** @type {any} */ part) => !part.Sequence);
}

/**
 * @param {any} file its pre-tokenizer
 * @param {(fits: boolean, what: string) => void} need
 * @returns {Split[]} in order
 */
function splitsOf(file, need) {
  switch (file?.type) {
    case "Sequence":
      return file.pretokenizers.flatMap((/** @type {any} */ part) => splitsOf(part, need));
    case "Digits":
      return [{ pattern: file.individual_digits ? EACH_NUMERAL : NUMERALS }];
    case "ByteLevel":
      need(!file.add_prefix_space, "a space before the text");
      return file.use_regex === false ? [] : [{ pattern: WORDS }];
    default:
      need(false, `the split ${file?.type}`);
      return [];
  }
}

/** What matches, and what lies between, in order. @param {string} text @param {RegExp} pattern */
function cut(text, pattern) {
  const pieces = [];
  let end = 0;
  for (const { 0: piece, index } of text.matchAll(pattern)) {
    if (index > end) pieces.push(text.slice(end, index));
    pieces.push(piece);
    end = index + piece.length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}
