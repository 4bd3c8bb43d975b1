/**
 * The bundled pair's files, from wherever they are: below an address, or within the page itself.
 *
 * Must not know what is in them.
 *
 * @typedef {import("./engine_client.js").PairFacts} PairFacts
 */

import { packed, unpacked } from "../engine/packed_file.js";

/**
 * @param {PairFacts} facts with a whole address as `root` @param {string} path below it
 * @returns {Promise<string>} empty where there is no such file
 */
export async function textOf({ root, packed: held }, path) {
  if (held) return path in held ? new TextDecoder().decode(unpacked(held[path])) : "";
  const response = await fetch(new URL(path, root));
  return response.ok ? response.text() : "";
}

/**
 * All files of the pair, for a page that is to hold them.
 * @param {PairFacts} facts with a whole address as `root`
 * @returns {Promise<Record<string, string>>} in base64, by their paths
 */
export async function packedFiles({ root, files }) {
  const entries = files.map(async (path) => {
    const response = await fetch(new URL(path, root));
    if (!response.ok) throw new Error(`${path}: status ${response.status}`);
    return [path, packed(await response.arrayBuffer())];
  });
  return Object.fromEntries(await Promise.all(entries));
}
