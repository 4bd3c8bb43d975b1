/**
 * How fast the browser's engine decodes here, in node: `node tests/viewer/engine_speed.mjs`. No test: times depend on
 * what else the machine does, so processor time is said beside them.
 */

import { loadBundled } from "./engine_files.mjs";
import { inWords, measure } from "./engine_measure.mjs";

/** Milliseconds of processor. */
function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const started = performance.now();
const pair = await loadBundled();
console.log(`loaded in ${(performance.now() - started).toFixed(0)} ms`);
for await (const found of measure(pair, processorMs)) console.log(inWords(found));
