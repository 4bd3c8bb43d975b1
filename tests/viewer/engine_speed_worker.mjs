/** The same in a browser's worker, on files of the clone's root: tells each result, and that there are no more. */

import { BrowserPair } from "../../assets/engine/pair.js";
import { inWords, measure } from "./engine_measure.mjs";

const ASSETS = new URL("../../assets/", import.meta.url);
const pair = await BrowserPair.load(async (path) => (await fetch(new URL(path, ASSETS))).arrayBuffer());
for await (const found of measure(pair)) postMessage({ ...found, words: inWords(found) });
postMessage(null);
