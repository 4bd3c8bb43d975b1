"""The one table of a trace's fields, their kinds and ranges. Standard library, the gate and `decode_settings` only.

`trace` reads documents with it, `types` and `cost` check what is made here with it, and `trace_schema_js` writes it as
the module that the browser checks files against, so there is no second list. A record's fields stand in the order in
which they are written. Numbers stay below 1e15 and nothing is allocated by one; an unknown field is left out.
"""

from __future__ import annotations

from citer_core.decode_settings import MAX_NEW_TOKENS
from citer_core.decode_settings import SETTINGS as DECODE_SETTINGS
from citer_core.gate.fields import MAX_NUMBER, MAX_TEXT, Choice, Flag, ListOf, Maybe, Real, Record, Row, Text, Whole

SCHEMA = "citer-trace"
SCHEMA_VERSION = 2  # 2: `forced` in events and `parent`; both may be missing, so version 1 is read as it is
READ_VERSIONS = (1, 2)

MAX_CANDIDATES = 20
MAX_DRAFT_TOKENS = 64  # that the SLM drafts at a time
MAX_TOKEN_CHARS = 1_000  # the longest token of the vocabularies that we know has 256
MAX_TRACE_CHARS = 12_000_000  # 4,096 tokens with five candidates of both models are about 3 million
MAX_TRACE_BYTES = 4 * MAX_TRACE_CHARS
MAX_SECONDS = 1e6

_NAME = Text(1_000)
_TOKEN_ID = Whole(0, 2**31 - 1)
_UNIT = Real(0, 1)
_SECONDS = Real(0, MAX_SECONDS)
_CANDIDATES = ListOf(Row(_TOKEN_ID, Text(MAX_TOKEN_CHARS), _UNIT), MAX_CANDIDATES)
_N_TOKENS = Whole(0, 10**9)

SETTINGS = Record(
    {name: setting.kind for name, setting in DECODE_SETTINGS.items() if setting.in_every_trace},
    {name: setting.kind for name, setting in DECODE_SETTINGS.items() if not setting.in_every_trace},
)

MODEL = Record(
    {
        "name": _NAME,
        "n_params": Whole(0, MAX_NUMBER),
        "n_layers": Whole(0, 100_000),
        "n_heads": Whole(0, 100_000),
        "n_kv_heads": Whole(0, 100_000),
        "head_dim": Whole(0, 1_000_000),
        "vocab_size": Whole(0, 2**31 - 1),
        "hidden_size": Whole(0, 10_000_000),
        "tied_embeddings": Flag(),
        "bytes_per_element": Whole(0, 16),
    },
    {"block_bits": Maybe(Real(0, 128))},
)

PAIR = Record(
    {"name": _NAME, "revision": _NAME, "slm": MODEL, "llm": MODEL, "dtype": _NAME, "device": _NAME},
    {"prompt_form": _NAME},
)

EVENT = Record(
    {
        "index": Whole(0, MAX_NEW_TOKENS - 1),
        "token_id": _TOKEN_ID,
        "text": Text(MAX_TOKEN_CHARS),
        "source": Choice("slm", "llm"),
        "slm_token_id": _TOKEN_ID,
        "slm_confidence": _UNIT,
        "threshold": _UNIT,
        "slm_tokens_fed": _N_TOKENS,
        "llm_tokens_fed": _N_TOKENS,
        "context_len": _N_TOKENS,
        "slm_s": _SECONDS,
        "router_s": _SECONDS,
        "llm_s": _SECONDS,
    },
    {"slm_top": _CANDIDATES, "llm_top": _CANDIDATES, "forced": Flag()},
)

PROMPT = Record({
    "data_type": Choice("math", "mc", "open"),
    "question": Text(),
    "text": Text(),
    "n_tokens": _N_TOKENS,
    "version": Whole(0, 1_000_000),
})  # fmt: skip

PARENT = Record({"key": Text(16, min_chars=16, alphabet="0123456789abcdef"), "fork": Whole(0, MAX_NEW_TOKENS)})

ANSWER = Maybe(Record({"true_answer": Maybe(Text()), "predicted_answer": Maybe(Text()), "is_correct": Maybe(Flag())}))
FINISH_REASON = Maybe(Choice("eos", "length", "cancelled", "error"))
RECORD = Record({"date": _NAME, "hardware": _NAME, "version": _NAME})

TRACE = Record(
    {
        "pair": PAIR,
        "router": Record(
            {"name": _NAME, "revision": _NAME, "n_params": Whole()},
            {"reads_llm": Flag(), "depends_on_writers": Flag()},
        ),
        "settings": SETTINGS,
        "prompt": PROMPT,
        "events": ListOf(EVENT, MAX_NEW_TOKENS),
        "finish_reason": FINISH_REASON,
        "record": RECORD,
    },
    {
        "answer": ANSWER,
        "title": Maybe(_NAME),
        "parent": Maybe(PARENT),
    },
)

# A run by speculative decoding: see `speculation`.
SPECULATIVE_PASS = Record({
    "drafted": ListOf(Row(_TOKEN_ID, Text(MAX_TOKEN_CHARS), _UNIT), MAX_DRAFT_TOKENS),
    "n_accepted": Whole(0, MAX_DRAFT_TOKENS),
    "own_id": Maybe(_TOKEN_ID),
    "texts": ListOf(Text(MAX_TOKEN_CHARS), MAX_DRAFT_TOKENS + 1),
    "slm_tokens_fed": ListOf(_N_TOKENS, MAX_DRAFT_TOKENS),
    "llm_tokens_fed": _N_TOKENS,
    "context_len": _N_TOKENS,
    "slm_s": _SECONDS,
    "llm_s": _SECONDS,
})  # fmt: skip
SPECULATIVE = Record(
    {
        "pair": PAIR,
        "drafting": Record({"n_tokens": Whole(1, MAX_DRAFT_TOKENS), "confidence": _UNIT}),
        "max_new_tokens": Whole(1, MAX_NEW_TOKENS),
        "prompt": PROMPT,
        "passes": ListOf(SPECULATIVE_PASS, MAX_NEW_TOKENS),
        "finish_reason": FINISH_REASON,
        "record": RECORD,
    },
    {"answer": ANSWER},
)

# One problem answered in several ways: see `comparison`.
COMPARISON_SCHEMA = "citer-comparison"
COMPARISON_VERSION = 1
MOST_COMPARED = 12
COMPARISON = Record(
    {"title": _NAME, "subtitle": _NAME, "runs": ListOf(TRACE, MOST_COMPARED, 1), "speculative": Maybe(SPECULATIVE)}
)

# What a browser checks all texts of a run against together, before it draws them.
MAX_COMPLETION_CHARS = MAX_TEXT
