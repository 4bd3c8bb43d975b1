/** Small, readable runs for the viewer's tests. */

import { RunView } from "../../assets/run/run_view.js";

export const SLM = {
  name: "small",
  n_params: 1000,
  n_layers: 2,
  n_heads: 4,
  n_kv_heads: 2,
  head_dim: 8,
  vocab_size: 50,
  hidden_size: 32,
  tied_embeddings: true,
  bytes_per_element: 2,
};
export const LLM = { ...SLM, name: "large", n_params: 100000, n_layers: 6, tied_embeddings: false };
export const DEVICE = { name: "test", bandwidth: 1e6, peak_flops: 1e9 };
export const PROMPT_LENGTH = 10;

/** Events as the decode loop writes them: one per confidence, with a truly lagging LLM cache. */
export function makeEvents(confidences, threshold = 0.5) {
  let llmCached = 0;
  return confidences.map((confidence, index) => {
    const contextLen = PROMPT_LENGTH + index;
    const isLlm = threshold >= 1 || confidence < threshold;
    const llmFed = isLlm ? contextLen - llmCached : 0;
    if (isLlm) llmCached = contextLen;
    return {
      index,
      token_id: index,
      text: ` t${index}`,
      source: isLlm ? "llm" : "slm",
      slm_token_id: index,
      slm_confidence: confidence,
      threshold,
      slm_tokens_fed: index === 0 ? PROMPT_LENGTH : 1,
      llm_tokens_fed: llmFed,
      context_len: contextLen,
      slm_s: 0.01,
      router_s: 0.001,
      llm_s: isLlm ? 0.05 : 0,
      slm_top: [],
      llm_top: [],
    };
  });
}

const HEAD = { pair: { slm: SLM, llm: LLM }, router: { n_params: 0 }, settings: { threshold: 0.5 } };

/** A finished run of these confidences at tau 0.5. */
export function finished(confidences) {
  const view = new RunView(1, HEAD, { device: DEVICE, pricing: null });
  view.append(makeEvents(confidences, 0.5));
  view.finish("eos", null);
  return view;
}
