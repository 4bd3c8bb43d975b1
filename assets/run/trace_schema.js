/**
 * What each field of a trace may hold, and what is known of each setting of decoding. Data only, made by
 * `python -m citer_core.trace_schema_js` from the tables that the server checks with: change
 * `citer_core/trace_schema.py` or `citer_core/decode_settings.py`, not this file.
 */

export const TRACE_SCHEMA = "citer-trace";

export const TRACE_VERSIONS = [1, 2];

export const MAX_TRACE_CHARS = 12000000;

export const MAX_COMPLETION_CHARS = 100000;

export const JSON_LIMITS = { depth: 64, values: 1000000, digits: 40 };

export const SETTINGS_TABLE = {
  threshold: {
    kind: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
    default: 0.7,
    label: "Threshold τ",
    link: "at",
    forSampling: false,
    lookingBack: 0.0,
  },
  max_new_tokens: {
    kind: { kind: "whole", low: 1, high: 4096, wanted: "a whole number from 1 to 4,096" },
    default: 256,
    label: "Most new tokens",
    link: "n",
    forSampling: false,
    lookingBack: null,
  },
  temperature: {
    kind: { kind: "real", low: 0, high: 2, openLow: false, wanted: "a number from 0 to 2" },
    default: 0.0,
    label: "Temperature",
    link: "temp",
    forSampling: true,
    lookingBack: null,
  },
  top_p: {
    kind: { kind: "real", low: 0, high: 1, openLow: true, wanted: "a number above 0, at most 1" },
    default: 1.0,
    label: "Top-p",
    link: "top_p",
    forSampling: true,
    lookingBack: null,
  },
  seed: {
    kind: {
      kind: "whole",
      low: -999999999999999,
      high: 999999999999999,
      wanted: "a whole number from -999,999,999,999,999 to 999,999,999,999,999",
    },
    default: 0,
    label: "Seed",
    link: "seed",
    forSampling: true,
    lookingBack: null,
  },
  take_back: {
    kind: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
    default: 0.0,
    label: "Take back",
    link: "back",
    forSampling: false,
    lookingBack: 0.2,
  },
  take_back_below: {
    kind: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
    default: 1.0,
    label: "Take back below",
    link: "below",
    forSampling: false,
    lookingBack: 1.0,
  },
  take_back_absolute: {
    kind: { kind: "whole", low: 0, high: 1, wanted: "a whole number from 0 to 1" },
    default: 0,
    label: "Take back absolutely",
    link: "abs",
    forSampling: false,
    lookingBack: 0,
  },
  doubt_budget: {
    kind: { kind: "real", low: 0, high: 4096, openLow: false, wanted: "a number from 0 to 4,096" },
    default: 0.0,
    label: "Doubt budget",
    link: "doubt",
    forSampling: false,
    lookingBack: 0.35,
  },
  look_every: {
    kind: { kind: "whole", low: 0, high: 4096, wanted: "a whole number from 0 to 4,096" },
    default: 0,
    label: "Look every",
    link: "every",
    forSampling: false,
    lookingBack: 0,
  },
  final_doubt: {
    kind: { kind: "real", low: 0, high: 4096, openLow: false, wanted: "a number from 0 to 4,096" },
    default: 0.0,
    label: "Final look above",
    link: "final",
    forSampling: false,
    lookingBack: 0.02,
  },
};

export const MODEL_TABLE = {
  kind: "record",
  required: {
    name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    n_params: { kind: "whole", low: 0, high: 999999999999999, wanted: "a whole number from 0 to 999,999,999,999,999" },
    n_layers: { kind: "whole", low: 0, high: 100000, wanted: "a whole number from 0 to 100,000" },
    n_heads: { kind: "whole", low: 0, high: 100000, wanted: "a whole number from 0 to 100,000" },
    n_kv_heads: { kind: "whole", low: 0, high: 100000, wanted: "a whole number from 0 to 100,000" },
    head_dim: { kind: "whole", low: 0, high: 1000000, wanted: "a whole number from 0 to 1,000,000" },
    vocab_size: { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
    hidden_size: { kind: "whole", low: 0, high: 10000000, wanted: "a whole number from 0 to 10,000,000" },
    tied_embeddings: { kind: "flag", wanted: "true or false" },
    bytes_per_element: { kind: "whole", low: 0, high: 16, wanted: "a whole number from 0 to 16" },
  },
  optional: {
    block_bits: {
      kind: "maybe",
      of: { kind: "real", low: 0, high: 128, openLow: false, wanted: "a number from 0 to 128" },
      wanted: "a number from 0 to 128, or nothing",
    },
  },
};

export const PAIR_TABLE = {
  kind: "record",
  required: {
    name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    revision: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    slm: MODEL_TABLE,
    llm: MODEL_TABLE,
    dtype: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    device: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
  },
  optional: { prompt_form: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" } },
};

export const PROMPT_TABLE = {
  kind: "record",
  required: {
    data_type: { kind: "choice", names: ["math", "mc", "open"], wanted: "\"math\" or \"mc\" or \"open\"" },
    question: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
    text: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
    n_tokens: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
    version: { kind: "whole", low: 0, high: 1000000, wanted: "a whole number from 0 to 1,000,000" },
  },
  optional: {  },
};

export const ANSWER_TABLE = {
  kind: "maybe",
  of: {
    kind: "record",
    required: {
      true_answer: {
        kind: "maybe",
        of: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
        wanted: "a text of at most 100,000 characters, or nothing",
      },
      predicted_answer: {
        kind: "maybe",
        of: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
        wanted: "a text of at most 100,000 characters, or nothing",
      },
      is_correct: { kind: "maybe", of: { kind: "flag", wanted: "true or false" }, wanted: "true or false, or nothing" },
    },
    optional: {  },
  },
  wanted: "an object with true_answer, predicted_answer, is_correct, or nothing",
};

export const FINISH_REASON_TABLE = {
  kind: "maybe",
  of: {
    kind: "choice",
    names: ["eos", "length", "cancelled", "error"],
    wanted: "\"eos\" or \"length\" or \"cancelled\" or \"error\"",
  },
  wanted: "\"eos\" or \"length\" or \"cancelled\" or \"error\", or nothing",
};

export const RECORD_TABLE = {
  kind: "record",
  required: {
    date: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    hardware: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
    version: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
  },
  optional: {  },
};

export const TRACE_TABLE = {
  kind: "record",
  required: {
    pair: PAIR_TABLE,
    router: {
      kind: "record",
      required: {
        name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        revision: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        n_params: {
          kind: "whole",
          low: 0,
          high: 999999999999999,
          wanted: "a whole number from 0 to 999,999,999,999,999",
        },
      },
      optional: {
        reads_llm: { kind: "flag", wanted: "true or false" },
        depends_on_writers: { kind: "flag", wanted: "true or false" },
        slm_prior: {
          kind: "maybe",
          of: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
          wanted: "a number from 0 to 1, or nothing",
        },
      },
    },
    settings: {
      kind: "record",
      required: {
        threshold: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
        max_new_tokens: { kind: "whole", low: 1, high: 4096, wanted: "a whole number from 1 to 4,096" },
        temperature: { kind: "real", low: 0, high: 2, openLow: false, wanted: "a number from 0 to 2" },
        top_p: { kind: "real", low: 0, high: 1, openLow: true, wanted: "a number above 0, at most 1" },
        seed: {
          kind: "whole",
          low: -999999999999999,
          high: 999999999999999,
          wanted: "a whole number from -999,999,999,999,999 to 999,999,999,999,999",
        },
      },
      optional: {
        take_back: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
        take_back_below: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
        take_back_absolute: { kind: "whole", low: 0, high: 1, wanted: "a whole number from 0 to 1" },
        doubt_budget: { kind: "real", low: 0, high: 4096, openLow: false, wanted: "a number from 0 to 4,096" },
        look_every: { kind: "whole", low: 0, high: 4096, wanted: "a whole number from 0 to 4,096" },
        final_doubt: { kind: "real", low: 0, high: 4096, openLow: false, wanted: "a number from 0 to 4,096" },
      },
    },
    prompt: PROMPT_TABLE,
    events: {
      kind: "list",
      of: {
        kind: "record",
        required: {
          index: { kind: "whole", low: 0, high: 4095, wanted: "a whole number from 0 to 4,095" },
          token_id: { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
          text: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
          source: { kind: "choice", names: ["slm", "llm"], wanted: "\"slm\" or \"llm\"" },
          slm_token_id: { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
          slm_confidence: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
          threshold: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
          slm_tokens_fed: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
          llm_tokens_fed: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
          context_len: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
          slm_s: { kind: "real", low: 0, high: 1000000.0, openLow: false, wanted: "a number from 0 to 1,000,000" },
          router_s: { kind: "real", low: 0, high: 1000000.0, openLow: false, wanted: "a number from 0 to 1,000,000" },
          llm_s: { kind: "real", low: 0, high: 1000000.0, openLow: false, wanted: "a number from 0 to 1,000,000" },
        },
        optional: {
          slm_top: {
            kind: "list",
            of: {
              kind: "row",
              of: [
                { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
                { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
                { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
              ],
              wanted: "a list of 3 entries",
            },
            most: 20,
            least: 0,
            wanted: "a list of at most 20 entries",
          },
          llm_top: {
            kind: "list",
            of: {
              kind: "row",
              of: [
                { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
                { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
                { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
              ],
              wanted: "a list of 3 entries",
            },
            most: 20,
            least: 0,
            wanted: "a list of at most 20 entries",
          },
          forced: { kind: "flag", wanted: "true or false" },
          discarded: {
            kind: "list",
            of: {
              kind: "row",
              of: [
                { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
                { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
                { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
              ],
              wanted: "a list of 3 entries",
            },
            most: 4096,
            least: 0,
            wanted: "a list of at most 4,096 entries",
          },
          read: {
            kind: "list",
            of: {
              kind: "row",
              of: [
                { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
                { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
              ],
              wanted: "a list of 2 entries",
            },
            most: 4096,
            least: 0,
            wanted: "a list of at most 4,096 entries",
          },
        },
      },
      most: 4096,
      least: 0,
      wanted: "a list of at most 4,096 entries",
    },
    finish_reason: FINISH_REASON_TABLE,
    record: RECORD_TABLE,
  },
  optional: {
    answer: ANSWER_TABLE,
    title: {
      kind: "maybe",
      of: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
      wanted: "a text of at most 1,000 characters, or nothing",
    },
    parent: {
      kind: "maybe",
      of: {
        kind: "record",
        required: {
          key: {
            kind: "text",
            max: 16,
            min: 16,
            alphabet: "0123456789abcdef",
            wanted: "a text of 16 characters out of 0123456789abcdef",
          },
          fork: { kind: "whole", low: 0, high: 4096, wanted: "a whole number from 0 to 4,096" },
        },
        optional: {  },
      },
      wanted: "an object with key, fork, or nothing",
    },
  },
};
