/**
 * A Web Worker of the Lab. All that it does is in `lab_desk.js`.
 *
 * @typedef {import("./worker.js").WorkerScope} WorkerScope
 */

import { filesAt } from "./fetched_file.js";
import { LabDesk } from "./lab_desk.js";

const labScope = /** @type {WorkerScope} */ (/** @type {unknown} */ (globalThis));
const labDesk = new LabDesk((reply) => labScope.postMessage(reply), filesAt);
labScope.onmessage = ({ data }) => labDesk.take(data);
