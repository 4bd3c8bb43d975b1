/**
 * Token text on screen: characters one cannot see get a drawn mark, while copying still gives the exact text.
 *
 * Must not know runs, models or colours. The true character stays in the element's text; the mark is generated content
 * (`::before` from `data-mark`), which selections do not include. Text is only ever set through text nodes.
 *
 * @typedef {{text: string, mark: string|null, kind: "plain"|"space"|"break"|"hidden"}} TextPart
 */

/** @type {Record<number, string>} */
const SPACE_NAMES = { 0xa0: "⍽", 0x202f: "⍽", 0x3000: "□" };
/** @type {Record<number, string>} */
const INVISIBLE_NAMES = {
  0x00ad: "SHY",
  0x034f: "CGJ",
  0x061c: "ALM",
  0x115f: "HF",
  0x1160: "HF",
  0x180e: "MVS",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2060: "WJ",
  0x2061: "FA",
  0x2062: "IT",
  0x2063: "IS",
  0x2064: "IP",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0x3164: "HF",
  0xfeff: "BOM",
  0xffa0: "HF",
};
/** Names, not the Unicode control pictures, which many fonts lack. */
const CONTROL_NAMES = (
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM " +
  "SUB ESC FS GS RS US"
).split(" ");
/** Of one text, however many tokens it has; ordinary runs have a few for each line. */
export const MAX_MARKS = 5000;
/** A token whose spaces mean something; in a text without one, none is drawn at the end of a line. */
export const SPACED = / {2}|\t|\n[ \t]|[ ]$/;
/** A token that begins with a space, at which a line may end: its word then stands alone on the next one. */
export const SPACE_BEFORE = /^ (?=\S)/;
/** Commands of LaTeX that are one sign; the sign is shown, the text and the inspector keep what was written. */
const TEX_SIGNS = /** @type {Record<string, string>} */ ({
  times: "×",
  cdot: "·",
  div: "÷",
  pm: "±",
  leq: "≤",
  geq: "≥",
  neq: "≠",
  approx: "≈",
  pi: "π",
});
const TEX_NAME = /^(times|cdot|div|pm|leq|geq|neq|approx|pi)(?![a-zA-Z])/;
const HAIR_SPACE = "\u200a";
/** Finds any character that may need a mark; most tokens have none and stop here. */
const UNSEEN =
  "\\u034f\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u061c\\u115f\\u1160\\u1680\\u180e\\u2000-\\u200f" +
  "\\u2028-\\u202f\\u205f-\\u2069\\u3000\\u3164\\ufeff\\uffa0";
const SUSPECT = new RegExp(`[${UNSEEN}]|[\\u{e0000}-\\u{e007f}]| {2,}|^ +$`, "u");
const PICTOGRAPH_END = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u;
const JOINING_SCRIPTS = "Arabic Devanagari Bengali Sinhala Tamil Telugu Kannada Malayalam Gujarati Gurmukhi".split(" ");
const JOINING_SCRIPT = new RegExp(`[${JOINING_SCRIPTS.map((name) => `\\p{Script=${name}}`).join("")}\\p{Mn}]$`, "u");

/**
 * A joiner that a script or an emoji sequence needs is ordinary text; marking it would pull the glyph apart.
 * @param {number} code
 * @param {string} before
 * @param {string} after
 */
function isOrdinaryJoiner(code, before, after) {
  if (code === 0x200d && PICTOGRAPH_END.test(before) && /^\p{Extended_Pictographic}/u.test(after)) return true;
  return (code === 0x200d || code === 0x200c) && JOINING_SCRIPT.test(before);
}

/**
 * The mark of one character, or null where it shows by itself.
 * @param {string} character
 * @param {string} before
 * @param {string} after
 * @returns {{mark: string, kind: "space"|"break"|"hidden"}|null}
 */
function markOf(character, before, after) {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a) return { mark: "↵", kind: "break" };
  if (code === 0x09) return { mark: "⇥", kind: "space" };
  if (code < 0x20) return { mark: CONTROL_NAMES[code], kind: "hidden" };
  if (code === 0x7f) return { mark: "DEL", kind: "hidden" };
  if (code > 0x7f && code < 0xa0) return { mark: `U+00${code.toString(16).toUpperCase()}`, kind: "hidden" };
  if (code === 0x2028 || code === 0x2029) return { mark: code === 0x2028 ? "LS" : "PS", kind: "hidden" };
  if (code in INVISIBLE_NAMES)
    return isOrdinaryJoiner(code, before, after) ? null : { mark: INVISIBLE_NAMES[code], kind: "hidden" };
  if (code >= 0xe0000 && code <= 0xe007f) {
    const isEmojiFlag = /[\u{1f3f4}\u{e0020}-\u{e007e}]$/u.test(before) && before.includes("\u{1f3f4}");
    return isEmojiFlag ? null : { mark: "TAG", kind: "hidden" };
  }
  if (code in SPACE_NAMES || code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || code === 0x205f) {
    return { mark: SPACE_NAMES[code] ?? "␣", kind: "space" };
  }
  return null;
}

/**
 * Cuts a token into stretches that show by themselves and single characters that need a mark. Joined, the parts are
 * the token. A space before a word needs none (the tint shows it); several in a row, or nothing but spaces, do.
 * @param {string} text
 * @returns {TextPart[]}
 */
export function splitMarks(text) {
  if (!SUSPECT.test(text)) return text ? [{ text, mark: null, kind: "plain" }] : [];
  /** @type {TextPart[]} */
  const parts = [];
  let plain = "";
  const onlySpaces = /^ +$/.test(text);
  let offset = 0;
  for (const character of text) {
    const before = text.slice(0, offset);
    const after = text.slice(offset + character.length);
    offset += character.length;
    const inRun = character === " " && (onlySpaces || before.endsWith(" ") || after.startsWith(" "));
    /** @type {ReturnType<typeof markOf>} */
    const found = inRun ? { mark: "·", kind: "space" } : markOf(character, before, after);
    if (!found) {
      plain += character;
      continue;
    }
    if (plain) parts.push({ text: plain, mark: null, kind: "plain" });
    plain = "";
    parts.push({ text: character, ...found });
  }
  if (plain) parts.push({ text: plain, mark: null, kind: "plain" });
  return parts;
}

/**
 * Writes a token's text into its element.
 *
 * @param {number} most marks that may be drawn; a text with more is written without any. Each mark is an element, and a
 *   run of nothing but line ends would freeze the page.
 * @param {Element} element
 * @param {string} text
 * @returns {number} marks that were drawn
 */
export function fillTokenText(element, text, most = MAX_MARKS) {
  const parts = SUSPECT.test(text) ? splitMarks(text) : [];
  const nMarks = parts.filter((part) => part.mark !== null).length;
  if (nMarks === 0 || nMarks > most) {
    element.textContent = text;
    return 0;
  }
  for (const part of parts) {
    if (part.mark === null) {
      element.append(part.text);
      continue;
    }
    const mark = document.createElement("span");
    mark.className = `cv-mark cv-mark-${part.kind}`;
    mark.dataset.mark = part.mark;
    mark.textContent = part.text;
    element.append(mark);
  }
  return nMarks;
}

/** One line in which every character can be seen, for labels and lists; not for copying. @param {string} text */
export function visibleText(text) {
  if (text === "") return "∅";
  const shown = splitMarks(text)
    .map((p) => (p.mark === null ? p.text : p.mark.length > 1 ? `⟨${p.mark}⟩` : p.mark))
    .join("");
  return shown.replace(/^ | $/g, "·");
}

/** @param {string} text what is written @param {string} sign what is shown */
function texMark(text, sign) {
  const mark = document.createElement("span");
  mark.className = "cv-mark cv-mark-tex";
  mark.dataset.mark = sign;
  mark.textContent = text;
  return mark;
}

/**
 * Spells a command of LaTeX that two tokens write, the backslash and the name: the sign stands in the name's place.
 * @param {Element} element of the name
 * @param {string} text
 * @param {HTMLElement|undefined} before the element of the token before
 * @returns {boolean} whether there was such a command
 */
export function spellTex(element, text, before) {
  if (!before) return false;
  const written = before.textContent ?? "";
  // Some tokenizers cut a command in the middle: "\t", "imes".
  const begun = /\\[a-z]*$/.exec(written)?.[0];
  if (begun === undefined) return false;
  const n = begun.length - 1;
  const [name] = TEX_NAME.exec(begun.slice(1) + text) ?? [];
  if (!name || name.length <= n) return false;
  before.replaceChildren(written.slice(0, -begun.length), texMark(begun, HAIR_SPACE));
  delete before.dataset.word;
  element.replaceChildren(texMark(name.slice(n), TEX_SIGNS[name]), text.slice(name.length - n));
  return true;
}

/**
 * The same for texts without elements: a command that two tokens hold is a sign at the first of them, and what is left
 * of the second one; null where that is nothing.
 * @param {string[]} texts @param {boolean} isMath
 * @returns {(string|null)[]}
 */
export function spelledTexts(texts, isMath) {
  if (!isMath) return texts;
  /** @type {(string|null)[]} */
  const spelled = [...texts];
  for (let i = 1; i < texts.length; i++) {
    const begun = /\\[a-z]*$/.exec(texts[i - 1])?.[0];
    const [name] = begun === undefined ? [] : (TEX_NAME.exec(begun.slice(1) + texts[i]) ?? []);
    if (begun === undefined || !name || name.length < begun.length) continue;
    spelled[i - 1] = `${texts[i - 1].slice(0, -begun.length)}${TEX_SIGNS[name]}`;
    spelled[i] = texts[i].slice(name.length - begun.length + 1) || null;
  }
  return spelled;
}

const TEX_SLASH = /(?=\\)|(?<=\\)/;

/** A text in parts of which `spellTex` and `spelledTexts` find the commands. @param {string} text */
export const inParts = (text) => text.split(TEX_SLASH);

/** A text without tokens, its commands as signs. @param {string} text @param {boolean} isMath */
export const spelled = (text, isMath) => spelledTexts(inParts(text), isMath).join("");

/**
 * Sets a token's word apart from the space before it, once, so that what is drawn around it is drawn around the word:
 * where that space ends a line, a frame around both has a side there, beside another token.
 * @param {HTMLElement} element
 */
export function setWordApart(element) {
  const first = element.firstChild;
  if ("word" in element.dataset || !(first instanceof Text) || !SPACE_BEFORE.test(element.textContent ?? "")) return;
  first.splitText(1);
  const word = document.createElement("span");
  word.className = "cv-word";
  word.append(...[...element.childNodes].slice(1));
  element.append(word);
  element.dataset.word = "";
}
