/** Shipped routers as the one file that a page saves, whole or spoiled. */

import { readdir } from "node:fs/promises";

import { routerRevision } from "../../assets/engine/revision.js";
import { readSafetensors } from "../../assets/engine/safetensors.js";
import { ASSETS, fetchAsset } from "./engine_files.mjs";

const FOLDER = "routers/embedded";
export const ROUTERS = (await readdir(ASSETS + FOLDER)).flatMap((file) => file.match(/(.*)\.json$/)?.[1] ?? []);

/** @param {string} name @returns {Promise<any>} */
export const cardOf = async (name) => JSON.parse(new TextDecoder().decode(await fetchAsset(`${FOLDER}/${name}.json`)));

/**
 * @param {string} name of a shipped router
 * @param {{card?: object, about?: object, entries?: Record<string, (entry: any) => object>,
 *   change?: [string, number]}} [how] fields of its card, its metadata or its tensors are that are others; the first
 *   value of a tensor, in a file that is otherwise whole
 * @returns {Promise<ArrayBuffer>}
 */
export async function inOneFile(name, how = {}) {
  const file = await fetchAsset(`${FOLDER}/${name}.safetensors`);
  const start = 8 + Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, start - 8)));
  const card = { ...(await cardOf(name)), ...how.card };
  if (how.change) {
    const [key, value] = how.change;
    new DataView(file).setFloat32(start + header[key].data_offsets[0], value, true);
    card.revision = routerRevision(readSafetensors(file, name));
  }
  for (const [key, change] of Object.entries(how.entries ?? {})) header[key] = change(header[key]);
  header.__metadata__ = "about" in how ? how.about : { card: JSON.stringify(card) };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const whole = new Uint8Array(8 + text.length + file.byteLength - start);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  whole.set(new Uint8Array(file, start), 8 + text.length);
  return whole.buffer;
}
