/** The pair of the browser's engine, loaded from this clone's files. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { BrowserPair } from "../../assets/engine/pair.js";

export const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));

/** @param {string} path below assets @returns {Promise<ArrayBuffer>} */
export async function fetchAsset(path) {
  const { buffer, byteOffset, byteLength } = await readFile(ASSETS + path);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}

export const loadBundled = () => BrowserPair.load(fetchAsset);
