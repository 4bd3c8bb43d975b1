/** What tests of the Lab share: a bench without a worker, its problems, and a client whose workers are node's. */

import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import { LayerProducts } from "../../assets/engine/layer_products.js";
import { RECIPE } from "../../assets/engine/router_training.js";
import { TextRows } from "../../assets/engine/text_rows.js";
import { rowsOf } from "../../assets/tasks/book.js";
import { problemFromRow } from "../../assets/tasks/problems.js";
import { LabClient } from "../../assets/transport/lab_client.js";
import { fetchAsset, loadBundled } from "./engine_files.mjs";

const WORKER = fileURLToPath(new URL("lab_worker.mjs", import.meta.url));

export async function openBench() {
  const pair = await loadBundled();
  const rows = { slm: new TextRows(pair.slm, "SLM"), llm: new TextRows(pair.llm, "LLM") };
  const products = new LayerProducts(pair.kernel, pair.hiddenSize + 3, 128, RECIPE.batchSize);
  return { pair, rows, products, maker: { version: "0", hardware: "node" } };
}

/** @param {"train"|"test"} use @param {string} kind @param {number} n */
export async function problemsOf(use, kind, n) {
  const text = new TextDecoder().decode(await fetchAsset(`datasets/lab-${use}-${kind}.jsonl`));
  return rowsOf(text).slice(0, n).map(problemFromRow);
}

/** All that a job of several problems tells. */
export function workOff(work, problems) {
  const items = problems.map((problem, index) => ({ index, problem }));
  const told = [];
  while (items.length || !work.isIdle) {
    while (items.length && work.hasRoom) work.take(items.shift());
    for (const one of work.step()) if (one) told.push(one);
  }
  return told.sort((a, b) => a.index - b.index);
}

/** Takes all steps. @returns {any[]} what they told */
export const allOf = (steps) => [...steps].filter((one) => one !== undefined);

/** A router from its file. @param {Uint8Array} file */
export const routerIn = (pair, file) => pair.router(pair.addRouter(file.slice().buffer));

/** A worker of node behind a browser's face. */
export function nodeWorker() {
  const worker = new Worker(WORKER);
  const face = { postMessage: (order) => worker.postMessage(order), terminate: () => worker.terminate() };
  worker.on("message", (data) => face.onmessage({ data }));
  worker.on("error", (error) => face.onerror(error));
  return face;
}

export const openClient = (nWorkers = 2, makeWorker = nodeWorker) =>
  new LabClient({ lab_script: "", root: "", version: "0" }, { hardware: "node", makeWorker, nWorkers });
