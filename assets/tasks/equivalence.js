/**
 * Whether two final answers are the same number or text; the mirror of `citer_core/tasks/equivalence.py`, which goes on
 * where this ends: expressions are compared by a library that a browser does not have. Pure.
 */

const THOUSANDS = /^[+-]?\p{Nd}{1,3}(?:,\p{Nd}{3})+(?:\.\p{Nd}+)?$/u;
const NUMBER = /^([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))$/;
const THIN = /\\[,;:!]|\\(?:left|right)(?![a-zA-Z])|\\?\$/g;
const BLANKS = /(?<!\p{Nd})(?:\\ |[\s~])+|(?:\\ |[\s~])+(?!\p{Nd})/gu;
const TEXT = /\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}\\]*)\}/g;
const WORDS = /^[A-Za-z]{2,}[A-Za-z\s.]*$/;
const MOST_CHARS = 500;

/** @param {string} answer */
const plain = (answer) =>
  answer
    .replace(TEXT, "$1")
    .replaceAll("{,}", ",")
    .replaceAll("\u2212", "-")
    .replace(THIN, "")
    .replace(BLANKS, "")
    .replace(/\.+$/, "");

/** Words compare without case; `x` and `X` are two unknowns. @param {string} answer */
const isWords = (answer) => answer.search(TEXT) >= 0 || WORDS.test(answer);

/** A number in one form for all that are equal; null where it is none. @param {string} text */
function normalNumber(text) {
  const match = NUMBER.exec(THOUSANDS.test(text) ? text.replaceAll(",", "") : text);
  if (!match) return null;
  const whole = (match[2] ?? "").replace(/^0+/, "");
  const fraction = (match[3] ?? match[4] ?? "").replace(/0+$/, "");
  return whole || fraction ? `${match[1] === "-" ? "-" : ""}${whole}.${fraction}` : "0";
}

/**
 * @param {string} trueAnswer
 * @param {string} predicted
 * @returns {boolean|null} null where one is an expression and they do not look alike: that is not compared here
 */
export function sameAnswer(trueAnswer, predicted) {
  const [left, right] = [plain(trueAnswer), plain(predicted)];
  if (!left || !right) return false;
  if (left.toLowerCase() === right.toLowerCase() && (left === right || isWords(trueAnswer))) return true;
  const [one, other] = [normalNumber(left), normalNumber(right)];
  if (one !== null && other !== null) return one === other;
  return Math.max(trueAnswer.length, predicted.length) > MOST_CHARS ? false : null;
}
