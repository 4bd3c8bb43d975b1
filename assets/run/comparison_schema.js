/**
 * What a recorded comparison may hold beside traces. Data only, made by `python -m citer_core.trace_schema_js`: change
 * `citer_core/trace_schema.py`, not this file.
 */

import {
  listOf, orNone, realFrom, recordOf, rowOf, textUpTo, wholeFrom,
} from "./kinds.js";
import {
  PAIR_TABLE, PROMPT_TABLE, ANSWER_TABLE, FINISH_REASON_TABLE, RECORD_TABLE,
} from "./trace_schema.js";

export const COMPARISON_SCHEMA = "citer-comparison";

export const COMPARISON_VERSION = 1;

export const MOST_COMPARED = 12;

export const SPECULATIVE_TABLE = recordOf(
  {
    pair: PAIR_TABLE,
    drafting: recordOf({ n_tokens: wholeFrom(1, 64), confidence: realFrom(0, 1) }),
    max_new_tokens: wholeFrom(1, 4096),
    prompt: PROMPT_TABLE,
    passes: listOf(
      recordOf({
        drafted: listOf(rowOf(wholeFrom(0, 2147483647), textUpTo(1000), realFrom(0, 1)), 64),
        n_accepted: wholeFrom(0, 64),
        own_id: orNone(wholeFrom(0, 2147483647)),
        texts: listOf(textUpTo(1000), 65),
        slm_tokens_fed: listOf(wholeFrom(0, 1000000000), 64),
        llm_tokens_fed: wholeFrom(0, 1000000000),
        context_len: wholeFrom(0, 1000000000),
        slm_s: realFrom(0, 1000000),
        llm_s: realFrom(0, 1000000),
      }),
      4096,
    ),
    finish_reason: FINISH_REASON_TABLE,
    record: RECORD_TABLE,
  },
  { answer: ANSWER_TABLE },
);
