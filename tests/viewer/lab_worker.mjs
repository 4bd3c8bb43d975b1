/** `assets/engine/lab_worker.js` for node: the same desk behind node's own kind of port. */

import { parentPort } from "node:worker_threads";

import { LabDesk } from "../../assets/engine/lab_desk.js";
import { fetchAsset } from "./engine_files.mjs";

const desk = new LabDesk(
  (reply) => parentPort.postMessage(reply),
  ({ root }) =>
    (path) =>
      fetchAsset(root + path),
);
parentPort.on("message", (order) => desk.take(order));
