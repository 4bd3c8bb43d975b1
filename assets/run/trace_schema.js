/**
 * What each field of a trace may hold, and what is known of each setting of decoding. Data only, made by
 * `python -m citer_core.trace_schema_js` from the tables that the server checks with: change
 * `citer_core/trace_schema.py` or `citer_core/decode_settings.py`, not this file.
 */

import {
  FLAG, listOf, oneNamed, orNone, realAbove, realFrom, recordOf, rowOf, settingOf, textUpTo, wholeFrom,
} from "./kinds.js";

export const TRACE_SCHEMA = "citer-trace";

export const TRACE_VERSIONS = [1, 2];

export const MAX_TRACE_CHARS = 12000000;

export const MAX_COMPLETION_CHARS = 100000;

export const JSON_LIMITS = { depth: 64, values: 1000000, digits: 40 };

export const SETTINGS_TABLE = {
  threshold: settingOf(realFrom(0, 1), 0.7, "Threshold τ", "at", { lookingBack: 0 }),
  max_new_tokens: settingOf(wholeFrom(1, 4096), 256, "Most new tokens", "n"),
  temperature: settingOf(realFrom(0, 2), 0, "Temperature", "temp", { forSampling: true }),
  top_p: settingOf(realAbove(0, 1), 1, "Top-p", "top_p", { forSampling: true }),
  seed: settingOf(wholeFrom(-999999999999999, 999999999999999), 0, "Seed", "seed", { forSampling: true }),
  take_back: settingOf(realFrom(0, 1), 0, "Take back", "back", { lookingBack: 0.2 }),
  take_back_below: settingOf(realFrom(0, 1), 1, "Take back below", "below", { lookingBack: 1 }),
  take_back_absolute: settingOf(wholeFrom(0, 1), 0, "Take back absolutely", "abs", { lookingBack: 0 }),
  doubt_budget: settingOf(realFrom(0, 4096), 0, "Doubt budget", "doubt", { lookingBack: 0.35 }),
  look_every: settingOf(wholeFrom(0, 4096), 0, "Look every", "every", { lookingBack: 0 }),
  final_doubt: settingOf(realFrom(0, 4096), 0, "Final look above", "final", { lookingBack: 0.02 }),
};

export const MODEL_TABLE = recordOf(
  {
    name: textUpTo(1000),
    n_params: wholeFrom(0, 999999999999999),
    n_layers: wholeFrom(0, 100000),
    n_heads: wholeFrom(0, 100000),
    n_kv_heads: wholeFrom(0, 100000),
    head_dim: wholeFrom(0, 1000000),
    vocab_size: wholeFrom(0, 2147483647),
    hidden_size: wholeFrom(0, 10000000),
    tied_embeddings: FLAG,
    bytes_per_element: wholeFrom(0, 16),
  },
  { block_bits: orNone(realFrom(0, 128)) },
);

export const PAIR_TABLE = recordOf(
  {
    name: textUpTo(1000),
    revision: textUpTo(1000),
    slm: MODEL_TABLE,
    llm: MODEL_TABLE,
    dtype: textUpTo(1000),
    device: textUpTo(1000),
  },
  { prompt_form: textUpTo(1000) },
);

export const PROMPT_TABLE = recordOf({
  data_type: oneNamed("math", "mc", "open"),
  question: textUpTo(100000),
  text: textUpTo(100000),
  n_tokens: wholeFrom(0, 1000000000),
  version: wholeFrom(0, 1000000),
});

export const ANSWER_TABLE = orNone(recordOf({
  true_answer: orNone(textUpTo(100000)),
  predicted_answer: orNone(textUpTo(100000)),
  is_correct: orNone(FLAG),
}));

export const FINISH_REASON_TABLE = orNone(oneNamed("eos", "length", "cancelled", "error"));

export const RECORD_TABLE = recordOf({ date: textUpTo(1000), hardware: textUpTo(1000), version: textUpTo(1000) });

export const TRACE_TABLE = recordOf(
  {
    pair: PAIR_TABLE,
    router: recordOf(
      { name: textUpTo(1000), revision: textUpTo(1000), n_params: wholeFrom(0, 999999999999999) },
      { reads_llm: FLAG, depends_on_writers: FLAG, slm_prior: orNone(realFrom(0, 1)) },
    ),
    settings: recordOf(
      {
        threshold: realFrom(0, 1),
        max_new_tokens: wholeFrom(1, 4096),
        temperature: realFrom(0, 2),
        top_p: realAbove(0, 1),
        seed: wholeFrom(-999999999999999, 999999999999999),
      },
      {
        take_back: realFrom(0, 1),
        take_back_below: realFrom(0, 1),
        take_back_absolute: wholeFrom(0, 1),
        doubt_budget: realFrom(0, 4096),
        look_every: wholeFrom(0, 4096),
        final_doubt: realFrom(0, 4096),
      },
    ),
    prompt: PROMPT_TABLE,
    events: listOf(
      recordOf(
        {
          index: wholeFrom(0, 4095),
          token_id: wholeFrom(0, 2147483647),
          text: textUpTo(1000),
          source: oneNamed("slm", "llm"),
          slm_token_id: wholeFrom(0, 2147483647),
          slm_confidence: realFrom(0, 1),
          threshold: realFrom(0, 1),
          slm_tokens_fed: wholeFrom(0, 1000000000),
          llm_tokens_fed: wholeFrom(0, 1000000000),
          context_len: wholeFrom(0, 1000000000),
          slm_s: realFrom(0, 1000000),
          router_s: realFrom(0, 1000000),
          llm_s: realFrom(0, 1000000),
        },
        {
          slm_top: listOf(rowOf(wholeFrom(0, 2147483647), textUpTo(1000), realFrom(0, 1)), 20),
          llm_top: listOf(rowOf(wholeFrom(0, 2147483647), textUpTo(1000), realFrom(0, 1)), 20),
          forced: FLAG,
          discarded: listOf(rowOf(wholeFrom(0, 2147483647), textUpTo(1000), realFrom(0, 1)), 4096),
          read: listOf(rowOf(realFrom(0, 1), realFrom(0, 1)), 4096),
        },
      ),
      4096,
    ),
    finish_reason: FINISH_REASON_TABLE,
    record: RECORD_TABLE,
  },
  {
    answer: ANSWER_TABLE,
    title: orNone(textUpTo(1000)),
    parent: orNone(recordOf({ key: textUpTo(16, 16, "0123456789abcdef"), fork: wholeFrom(0, 4096) })),
  },
);
