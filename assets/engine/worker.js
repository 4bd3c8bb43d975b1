/** The Web Worker that decodes: `new Worker(url, { type: "module" })`. All that it does is in `serve.js`. */

import { filesAt } from "./fetched_file.js";
import { serveEngine } from "./serve.js";

/**
 * @typedef {{postMessage(message: unknown): void, onmessage: ((event: MessageEvent) => void)|null}} WorkerScope
 */

const scope = /** @type {WorkerScope} */ (/** @type {unknown} */ (globalThis));

const take = serveEngine((reply) => scope.postMessage(reply), filesAt);
scope.onmessage = ({ data }) => take(data);
