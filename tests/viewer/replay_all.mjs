/**
 * Replays and prices runs from standard input at many taus, for tests/core/test_replay_parity.py to compare with
 * Python.
 */

import { replay, runFacts } from "../../assets/run/decision.js";
import { CostModel } from "../../assets/run/cost.js";
import { seriesOf } from "../../assets/run/series.js";

const indicesOf = (values, wanted) => [...values.keys()].filter((i) => values[i] === wanted);

let text = "";
for await (const part of process.stdin) text += part;
const { taus, device, runs } = JSON.parse(text);
const answers = runs.map(({ trace, probe }) => {
  const facts = runFacts(trace, trace.events, probe);
  const { slm, llm } = trace.pair;
  return [trace.settings.threshold, ...taus].map((tau) => {
    const decisions = replay(trace.events, tau, facts);
    const costModel = new CostModel({ slm, llm, device, routerParams: trace.router.n_params });
    const series = seriesOf(costModel, trace.events, decisions);
    const cost = (line) => ({
      bytes: series.at(line, "bytes"),
      flops: series.at(line, "flops"),
      seconds: series.at(line, "seconds"),
    });
    const totals = series.totals();
    return {
      decisions: [...decisions.isLlm].map((isLlm) => (isLlm ? "llm" : "slm")),
      llm_tokens_fed: [...decisions.llmFed],
      first_flip: decisions.firstFlip < 0 ? null : decisions.firstFlip,
      n_flips: decisions.nFlips,
      n_exact: decisions.nExact,
      is_same_text: decisions.doubt === null,
      doubt: decisions.doubt,
      n_tokens: totals.nTokens,
      n_llm_tokens: totals.nLlmTokens,
      llm_token_share: totals.llmShare,
      decisive_tokens: indicesOf(decisions.decisive, 1),
      n_decisive_unknown: totals.nDecisiveUnknown,
      n_hand_offs: totals.handOffs,
      cost: {
        routed: cost("routed"),
        slm_only: cost("slmOnly"),
        llm_only: cost("llmOnly"),
        bytes_share_of_llm_only: totals.bytesShare,
      },
    };
  });
});
process.stdout.write(JSON.stringify(answers));
