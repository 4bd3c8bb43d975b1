/** The pair's files: fetched, or held by the page and handed to its worker. */

import { unpacked } from "./packed_file.js";
import { ModelFileProblem } from "./safetensors.js";

/**
 * @param {{root: string, packed?: Record<string, string>}} where the address of `assets`; files in base64 by their path
 * @returns {import("./pair.js").FetchFile}
 */
export const filesAt =
  ({ root, packed }) =>
  async (path) => {
    if (packed?.[path] !== undefined) return unpacked(packed[path]);
    const response = await fetch(new URL(path, root));
    if (!response.ok) {
      throw new ModelFileProblem(`${path} could not be fetched (status ${response.status}). Load the page again.`);
    }
    return response.arrayBuffer();
  };
