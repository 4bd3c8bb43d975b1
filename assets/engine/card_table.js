/**
 * What each field of a router's card may hold. Data only, made by `python -m citer_core.routing.card_js`: change
 * `citer_core/routing/router_card.py`, not this file.
 */

export const CARD_SCHEMA_VERSION = 1;

export const CARD_TABLE = {
  kind: "record",
  required: {
    label: { kind: "text", max: 200, min: 1, wanted: "a text of 1 to 200 characters" },
    hidden_size: { kind: "whole", low: 1, high: 1000000, wanted: "a whole number from 1 to 1,000,000" },
    pair_revision: { kind: "text", max: 300, min: 1, wanted: "a text of 1 to 300 characters" },
    revision: {
      kind: "text",
      max: 16,
      min: 16,
      alphabet: "0123456789abcdef",
      wanted: "a text of 16 characters out of 0123456789abcdef",
    },
  },
  optional: {
    name: { kind: "text", max: 200, min: 1, wanted: "a text of 1 to 200 characters" },
    kind: { kind: "text", max: 50, wanted: "a text of at most 50 characters" },
    pair: { kind: "text", max: 300, wanted: "a text of at most 300 characters" },
    prompt_form: { kind: "text", max: 50, wanted: "a text of at most 50 characters" },
    prompt_version: {
      kind: "whole",
      low: 0,
      high: 999999999999999,
      wanted: "a whole number from 0 to 999,999,999,999,999",
    },
    n_params: { kind: "whole", low: 0, high: 999999999999999, wanted: "a whole number from 0 to 999,999,999,999,999" },
    recommended_threshold: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
    recommended_for_share: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
    weights_sha256: {
      kind: "text",
      max: 64,
      min: 64,
      alphabet: "0123456789abcdef",
      wanted: "a text of 64 characters out of 0123456789abcdef",
    },
    training: {
      kind: "record",
      required: {  },
      optional: {
        confidence_quantiles: {
          kind: "list",
          of: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
          most: 10001,
          least: 0,
          wanted: "a list of at most 10,001 entries",
        },
        llm_shares_at_tau: {
          kind: "list",
          of: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
          most: 101,
          least: 101,
          wanted: "a list of 101 to 101 entries",
        },
        n_tokens: {
          kind: "record",
          required: {  },
          optional: {
            train: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
            validation: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
          },
        },
        n_questions: {
          kind: "record",
          required: {  },
          optional: {
            train: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
            validation: {
              kind: "whole",
              low: 0,
              high: 999999999999999,
              wanted: "a whole number from 0 to 999,999,999,999,999",
            },
          },
        },
        prefer_slm_share: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
        auc: {
          kind: "maybe",
          of: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
          wanted: "a number from 0 to 1, or nothing",
        },
        auc_max_probability: {
          kind: "maybe",
          of: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
          wanted: "a number from 0 to 1, or nothing",
        },
        ece: { kind: "real", low: 0.0, high: 1.0, openLow: false, wanted: "a number from 0 to 1" },
        best_epoch: {
          kind: "whole",
          low: 0,
          high: 999999999999999,
          wanted: "a whole number from 0 to 999,999,999,999,999",
        },
      },
    },
    prior: { kind: "text", max: 2000, wanted: "a text of at most 2,000 characters" },
    date: { kind: "text", max: 100, wanted: "a text of at most 100 characters" },
    hardware: { kind: "text", max: 2000, wanted: "a text of at most 2,000 characters" },
    command: { kind: "text", max: 20000, wanted: "a text of at most 20,000 characters" },
    matrices: { kind: "text", max: 2000, wanted: "a text of at most 2,000 characters" },
  },
};
