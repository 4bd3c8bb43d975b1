/** The pair of the browser's engine, loaded from this clone's files, and a question to ask it. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { BrowserPair } from "../../assets/engine/pair.js";
import { SETTINGS_TABLE, TRACE_TABLE } from "../../assets/run/trace_schema.js";

export const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));

/** @param {string} path below assets @returns {Promise<ArrayBuffer>} */
export async function fetchAsset(path) {
  const { buffer, byteOffset, byteLength } = await readFile(ASSETS + path);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}

export const loadBundled = () => BrowserPair.load(fetchAsset);

export const PROMPT = {
  data_type: "open",
  question: "How many?",
  text:
    "Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}.\nQuestion: Tom buys 4 books at 12 " +
    "dollars each and 3 pens at 5 dollars each. How many dollars does Tom spend?\nSolution:",
  version: 0,
};
/** Settings that the oldest traces do not have, as they are where nothing is said. */
export const NEWER = Object.fromEntries(
  Object.keys(TRACE_TABLE.required.settings.optional).map((name) => [name, SETTINGS_TABLE[name].default]),
);
export const SETTINGS = { threshold: 0.7, max_new_tokens: 40, temperature: 0, top_p: 1, seed: 0 };

/** Makes both models forget what they have read. */
export const fresh = (pair) => {
  for (const model of [pair.slm, pair.llm]) model.read([1]);
};
export const withoutSeconds = (events) => events.map((event) => ({ ...event, slm_s: 0, router_s: 0, llm_s: 0 }));
