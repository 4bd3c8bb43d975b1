/**
 * What a recorded comparison may hold beside traces. Data only, made by `python -m citer_core.trace_schema_js`: change
 * `citer_core/trace_schema.py`, not this file.
 */

export const COMPARISON_SCHEMA = "citer-comparison";

export const COMPARISON_VERSION = 1;

export const MOST_COMPARED = 12;

export const SPECULATIVE_TABLE = {
  kind: "record",
  required: {
    pair: {
      kind: "record",
      required: {
        name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        revision: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        slm: {
          kind: "record",
          required: {
            name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
            n_params: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
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
        },
        llm: {
          kind: "record",
          required: {
            name: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
            n_params: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
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
        },
        dtype: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        device: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
      },
      optional: { prompt_form: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" } },
    },
    drafting: {
      kind: "record",
      required: {
        n_tokens: { kind: "whole", low: 1, high: 64, wanted: "a whole number from 1 to 64" },
        confidence: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
      },
      optional: {  },
    },
    max_new_tokens: { kind: "whole", low: 1, high: 4096, wanted: "a whole number from 1 to 4,096" },
    prompt: {
      kind: "record",
      required: {
        data_type: { kind: "choice", names: ["math", "mc", "open"], wanted: "\"math\" or \"mc\" or \"open\"" },
        question: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
        text: { kind: "text", max: 100000, wanted: "a text of at most 100,000 characters" },
        n_tokens: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
        version: { kind: "whole", low: 0, high: 1000000, wanted: "a whole number from 0 to 1,000,000" },
      },
      optional: {  },
    },
    passes: {
      kind: "list",
      of: {
        kind: "record",
        required: {
          drafted: {
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
            most: 64,
            least: 0,
            wanted: "a list of at most 64 entries",
          },
          n_accepted: { kind: "whole", low: 0, high: 64, wanted: "a whole number from 0 to 64" },
          own_id: {
            kind: "maybe",
            of: { kind: "whole", low: 0, high: 2147483647, wanted: "a whole number from 0 to 2,147,483,647" },
            wanted: "a whole number from 0 to 2,147,483,647, or nothing",
          },
          texts: {
            kind: "list",
            of: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
            most: 65,
            least: 0,
            wanted: "a list of at most 65 entries",
          },
          slm_tokens_fed: {
            kind: "list",
            of: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
            most: 64,
            least: 0,
            wanted: "a list of at most 64 entries",
          },
          llm_tokens_fed: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
          context_len: { kind: "whole", low: 0, high: 1000000000, wanted: "a whole number from 0 to 1,000,000,000" },
          slm_s: { kind: "real", low: 0, high: 1000000.0, openLow: false, wanted: "a number from 0 to 1,000,000" },
          llm_s: { kind: "real", low: 0, high: 1000000.0, openLow: false, wanted: "a number from 0 to 1,000,000" },
        },
        optional: {  },
      },
      most: 4096,
      least: 0,
      wanted: "a list of at most 4,096 entries",
    },
    finish_reason: {
      kind: "maybe",
      of: {
        kind: "choice",
        names: ["eos", "length", "cancelled", "error"],
        wanted: "\"eos\" or \"length\" or \"cancelled\" or \"error\"",
      },
      wanted: "\"eos\" or \"length\" or \"cancelled\" or \"error\", or nothing",
    },
    record: {
      kind: "record",
      required: {
        date: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        hardware: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
        version: { kind: "text", max: 1000, wanted: "a text of at most 1,000 characters" },
      },
      optional: {  },
    },
  },
  optional: {
    answer: {
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
          is_correct: {
            kind: "maybe",
            of: { kind: "flag", wanted: "true or false" },
            wanted: "true or false, or nothing",
          },
        },
        optional: {  },
      },
      wanted: "an object with true_answer, predicted_answer, is_correct, or nothing",
    },
  },
};
