/** Replays and prices runs from standard input at many taus, for tests/core/test_replay.py to compare with Python. */

import { replay } from "../../assets/viewer/decision.js";
import { CostModel } from "../../assets/viewer/cost.js";
import { seriesOf } from "../../assets/viewer/series.js";
let text = "";
for await (const part of process.stdin) text += part;
const { taus, device, traces } = JSON.parse(text);
const answers = traces.map((trace) => taus.map((tau) => {
  const decisions = replay(trace.events, tau);
  const { slm, llm } = trace.pair;
  const series = seriesOf(new CostModel({ slm, llm, device, routerParams: trace.router.n_params }), trace.events, decisions);
  const cost = (line) => ({ bytes: series.at(line, "bytes"), flops: series.at(line, "flops"), seconds: series.at(line, "seconds") });
  const totals = series.totals();
  return {
    decisions: [...decisions.isLlm].map((isLlm) => (isLlm ? "llm" : "slm")), llm_tokens_fed: [...decisions.llmFed],
    first_flip: decisions.firstFlip < 0 ? null : decisions.firstFlip, n_flips: decisions.nFlips,
    n_tokens: totals.nTokens, n_llm_tokens: totals.nLlmTokens, llm_token_share: totals.llmShare, n_hand_offs: totals.handOffs,
    cost: { routed: cost("routed"), slm_only: cost("slmOnly"), llm_only: cost("llmOnly"), bytes_share_of_llm_only: totals.bytesShare },
  };
}));
process.stdout.write(JSON.stringify(answers));
