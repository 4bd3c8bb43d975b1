/**
 * What a comparison shows, in sentences that follow from its numbers alone.
 *
 * Pure: must not know the DOM. What speaks against routing is said first.
 *
 * @typedef {import("./columns.js").Column} Column
 */

import { firstDifference, isRouted } from "./columns.js";
import { percent, plural, quantity } from "../run/format.js";

/** "" where it is not known. @param {Column} column @returns {"right"|"wrong"|""} */
export function verdictOf({ answer }) {
  if (answer?.is_correct == null) return "";
  return answer.is_correct ? "right" : "wrong";
}

/** @param {Column[]} columns those that are shown */
export function findings(columns) {
  const of = (/** @type {Column["way"]} */ way) => columns.find((column) => column.way === way);
  const routed = columns.filter(isRouted);
  const [llm, speculative] = [of("llm"), of("speculative")];
  /** @type {string[]} */
  const said = [];
  if (speculative) {
    const cheaper = routed.filter(({ total }) => total.bytes > speculative.total.bytes);
    for (const { name, total } of cheaper) {
      const saved = 1 - speculative.total.bytes / total.bytes;
      said.push(
        `Speculative decoding moved ${percent(saved, 0)} less than ${name} here ` +
          `(${quantity("bytes", speculative.total.bytes)} against ${quantity("bytes", total.bytes)}).`,
      );
    }
    said.push(
      "Speculative decoding keeps the LLM's distribution: greedily, its text is the LLM's own, token for token" +
        `${roundedOtherwise(speculative, llm)}. ` +
        "Routing does not: from the first token that the SLM wrote otherwise, it is another text.",
    );
  }
  said.push(...judged(columns));
  if (!llm) return said;
  for (const column of routed) {
    const at = firstDifference(column.ids, llm.ids);
    const share = percent(column.total.bytes / llm.total.bytes, 0);
    const where = at < 0 ? "wrote the LLM's text" : `left the LLM's text at token ${at + 1}`;
    const [ours, theirs] = [verdictOf(column), verdictOf(llm)];
    const verdict = ours && ours !== theirs ? `, and its answer is ${ours} where the LLM's is ${theirs}` : "";
    said.push(`${column.name} ${where}${verdict}; it moved ${share} of the LLM's bytes.`);
  }
  return said;
}

/** Who is right, in a sentence; nothing where the answer is not known. @param {Column[]} columns */
function judged(columns) {
  const said = ["Right", "Wrong"].flatMap((word) => {
    const names = columns.filter((column) => verdictOf(column) === word.toLowerCase()).map(({ name }) => name);
    return names.length ? [`${word}: ${names.join(", ")}.`] : [];
  });
  return said.length ? [said.join(" ")] : [];
}

/** Where it is not the LLM's text after all. @param {Column} speculative @param {Column|undefined} llm */
function roundedOtherwise(speculative, llm) {
  const at = llm ? firstDifference(speculative.ids, llm.ids) : -1;
  if (at < 0) return "";
  return `, but for rounding: the LLM reads several tokens at once, and here that turned a choice at token ${at + 1}`;
}

/** What stands under a column for how long its text is. @param {Column} column */
export const lengthOf = ({ ids, finish }) =>
  plural(ids.length, "token") + (finish === "length" ? ", cut at the limit" : "");
