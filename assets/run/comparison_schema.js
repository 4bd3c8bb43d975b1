/**
 * What a recorded comparison may hold beside traces. Data only, made by `python -m citer_core.trace_schema_js`: change
 * `citer_core/trace_schema.py`, not this file.
 */

import { PAIR_TABLE, PROMPT_TABLE, ANSWER_TABLE, FINISH_REASON_TABLE, RECORD_TABLE } from "../run/trace_schema.js";

export const COMPARISON_SCHEMA = "citer-comparison";

export const COMPARISON_VERSION = 1;

export const MOST_COMPARED = 12;

export const SPECULATIVE_TABLE = {
  kind: "record",
  required: {
    pair: PAIR_TABLE,
    drafting: {
      kind: "record",
      required: {
        n_tokens: { kind: "whole", low: 1, high: 64, wanted: "a whole number from 1 to 64" },
        confidence: { kind: "real", low: 0, high: 1, openLow: false, wanted: "a number from 0 to 1" },
      },
      optional: {  },
    },
    max_new_tokens: { kind: "whole", low: 1, high: 4096, wanted: "a whole number from 1 to 4,096" },
    prompt: PROMPT_TABLE,
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
    finish_reason: FINISH_REASON_TABLE,
    record: RECORD_TABLE,
  },
  optional: { answer: ANSWER_TABLE },
};
