/**
 * Labels, trains and measures what standard input asks for, for tests/core/test_lab.py to compare with Python. In:
 * `{rows, ways, gradient, train, measure}`; out: the same, answered; the trained router as base64.
 */

import { Labelling } from "../../assets/engine/labelling.js";
import { Measuring, firstTaus } from "../../assets/engine/measuring.js";
import { tauFor } from "../../assets/engine/router_metrics.js";
import { RouterNetwork } from "../../assets/engine/router_network.js";
import { training, seeded } from "../../assets/engine/router_training.js";
import { problemFromRow } from "../../assets/tasks/problems.js";
import { allOf, openBench, problemsOf, routerIn, workOff } from "./lab_files.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const { rows = [], ways = [], gradient = null, train = [], measure = null } = JSON.parse(text);
const bench = await openBench();
const { pair, products } = bench;

const problems = rows.map(problemFromRow);
const label = (how, some) => workOff(new Labelling(pair, bench.rows, how), some);
const known = {};
/** The problems that were asked for, labelled in one way; each way once. */
const labelledBy = (how) => (known[`${how.truth} ${how.rule}`] ??= label(how, problems));

const labelled = ways.map((how) =>
  labelledBy(how).map(({ tokens, labels, forks, features }) => ({
    tokens,
    labels,
    forks,
    features: Object.fromEntries(Object.entries(features).map(([name, values]) => [name, [...values]])),
  })),
);

/** Parameters of a network after its first weights, and the loss's gradient there. */
function slopesOf({ width, inputs, offsets, targets }) {
  const network = new RouterNetwork(products, width, seeded(3));
  const random = seeded(4);
  for (let i = 0; i < network.parameters.length; i++) network.parameters[i] += random() - 0.5;
  const slopes = new Float64Array(network.parameters.length);
  const batch = { inputs: Float32Array.from(inputs), offsets: Float64Array.from(offsets), targets };
  const loss = network.loss(batch, slopes);
  return { parameters: [...network.parameters], slopes: [...slopes], loss };
}

/** A trained router, and its confidences at the labelled tokens of the problems that it learned from. */
async function trained({ network, seed }) {
  const some = labelledBy({ truth: "gold", rule: "outcome" });
  const { file, ...told } = allOf(training(bench, { labelled: some, network, seed })).at(-1);
  const router = await routerIn(pair, file);
  const at = pair.kernel.alloc(pair.hiddenSize);
  const confidences = some.flatMap(({ labels, features }) =>
    labels.map((_, i) => {
      pair.kernel.floats.set(features.hidden.subarray(i * pair.hiddenSize, (i + 1) * pair.hiddenSize), at);
      const slm = Object.fromEntries(["maxProbability", "margin", "entropy"].map((name) => [name, features[name][i]]));
      return router.confidence({ slm, hidden: at });
    }),
  );
  return { ...told, file: Buffer.from(file).toString("base64"), confidences, nParams: router.nParams };
}

/** Routers in files, on unseen problems at shares of LLM tokens; taus come from labelled problems. */
async function measured({ kind, n, shares, files }) {
  const [known, unseen] = [await problemsOf("train", kind, 40), await problemsOf("test", kind, n)];
  const some = label({ truth: "gold", rule: "agreement" }, known);
  const found = [];
  for (const file of files) {
    const router = await routerIn(pair, Uint8Array.from(Buffer.from(file, "base64")));
    const first = firstTaus(pair, router, some, shares);
    const seen = workOff(new Measuring(pair, bench.rows, router, { taus: first, withConfidences: true }), known);
    const taus = shares.map((share, k) =>
      tauFor(
        share,
        seen.map(({ confidences }) => confidences[k]),
      ),
    );
    found.push(workOff(new Measuring(pair, bench.rows, router, { taus }), unseen).map(({ results }) => results));
  }
  return found;
}

process.stdout.write(
  JSON.stringify({
    labelled,
    gradient: gradient?.map(slopesOf) ?? null,
    train: await Promise.all(train.map(trained)),
    measure: measure && (await measured(measure)),
  }),
);
