/** The Web Worker that decodes: `new Worker(url, { type: "module" })`. All that it does is in `serve.js`. */

import { unpacked } from "./packed_file.js";
import { ModelFileProblem } from "./safetensors.js";
import { serveEngine } from "./serve.js";

/**
 * @typedef {{postMessage(message: unknown): void, onmessage: ((event: MessageEvent) => void)|null}} WorkerScope
 */

const scope = /** @type {WorkerScope} */ (/** @type {unknown} */ (globalThis));

/** @param {import("./protocol.js").LoadRequest} where @returns {import("./pair.js").FetchFile} */
const filesAt =
  ({ root, packed }) =>
  async (path) => {
    if (packed?.[path] !== undefined) return unpacked(packed[path]);
    const response = await fetch(new URL(path, root));
    if (!response.ok) {
      throw new ModelFileProblem(`${path} could not be fetched (status ${response.status}). Load the page again.`);
    }
    return response.arrayBuffer();
  };

const take = serveEngine((reply) => scope.postMessage(reply), filesAt);
scope.onmessage = ({ data }) => take(data);
