/** `assets/engine/worker.js` for node: the same service behind node's own kind of port. */

import { parentPort } from "node:worker_threads";

import { serveEngine } from "../../assets/engine/serve.js";
import { fetchAsset } from "./engine_files.mjs";

const take = serveEngine(
  (reply) => parentPort.postMessage(reply),
  ({ root }) =>
    (path) =>
      fetchAsset(root + path),
);
parentPort.on("message", take);
