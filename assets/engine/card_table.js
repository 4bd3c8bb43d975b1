/**
 * What each field of a router's card may hold. Data only, made by `python -m citer_core.routing.card_js`: change
 * `citer_core/routing/router_card.py`, not this file.
 */

import {
  listOf, orNone, realFrom, recordOf, textUpTo, wholeFrom,
} from "../run/kinds.js";

export const CARD_SCHEMA_VERSION = 1;

export const CARD_TABLE = recordOf(
  {
    label: textUpTo(200, 1),
    hidden_size: wholeFrom(1, 1000000),
    pair_revision: textUpTo(300, 1),
    revision: textUpTo(16, 16, "0123456789abcdef"),
  },
  {
    name: textUpTo(200, 1),
    kind: textUpTo(50),
    pair: textUpTo(300),
    prompt_form: textUpTo(50),
    prompt_version: wholeFrom(0, 999999999999999),
    n_params: wholeFrom(0, 999999999999999),
    recommended_threshold: realFrom(0, 1),
    recommended_for_share: realFrom(0, 1),
    weights_sha256: textUpTo(64, 64, "0123456789abcdef"),
    training: recordOf(
      {},
      {
        confidence_quantiles: listOf(realFrom(0, 1), 10001),
        llm_shares_at_tau: listOf(realFrom(0, 1), 101, 101),
        n_tokens: recordOf({}, { train: wholeFrom(0, 999999999999999), validation: wholeFrom(0, 999999999999999) }),
        n_questions: recordOf({}, { train: wholeFrom(0, 999999999999999), validation: wholeFrom(0, 999999999999999) }),
        prefer_slm_share: realFrom(0, 1),
        auc: orNone(realFrom(0, 1)),
        auc_max_probability: orNone(realFrom(0, 1)),
        ece: realFrom(0, 1),
        best_epoch: wholeFrom(0, 999999999999999),
      },
    ),
    prior: textUpTo(2000),
    date: textUpTo(100),
    hardware: textUpTo(2000),
    command: textUpTo(20000),
    matrices: textUpTo(2000),
  },
);
