"""The kinds and bounds of a trace's values, and its versions. Standard library, the gate and `decode_settings` only.

What a field may hold stands at its type (`types`, `cost`, `trace`, `speculation`), in the order in which fields are
written; `trace` reads documents by that, and `trace_schema_js` writes it as the module that the browser checks files
against, so there is no second list. Numbers stay below 1e15 and nothing is allocated by one; an unknown field is left
out.
"""

from __future__ import annotations

from typing import Annotated

from citer_core.decode_settings import MAX_NEW_TOKENS, SETTINGS, DecodeSettings
from citer_core.gate.dataclass_kind import Entries, Made
from citer_core.gate.fields import MAX_TEXT, Real, Record, Text, Whole

SCHEMA = "citer-trace"
SCHEMA_VERSION = 2  # 2: `forced` in events and `parent`; both may be missing, so version 1 is read as it is
READ_VERSIONS = (1, 2)
COMPARISON_SCHEMA = "citer-comparison"  # one problem answered in several ways: see `comparison`
COMPARISON_VERSION = 1
MOST_COMPARED = 12

MAX_CANDIDATES = 20
MAX_DRAFT_TOKENS = 64  # that the SLM drafts at a time
MAX_TOKEN_CHARS = 1_000  # the longest token of the vocabularies that we know has 256
MAX_TRACE_CHARS = 12_000_000  # 4,096 tokens with five candidates of both models are about 3 million
MAX_TRACE_BYTES = 4 * MAX_TRACE_CHARS
MAX_COMPLETION_CHARS = MAX_TEXT  # what a browser checks all texts of a run against together, before it draws them
MAX_SECONDS = 1e6

Name = Annotated[str, Text(1_000)]
TokenId = Annotated[int, Whole(0, 2**31 - 1)]
TokenText = Annotated[str, Text(MAX_TOKEN_CHARS)]
NTokens = Annotated[int, Whole(0, 10**9)]
Unit = Annotated[float, Real(0, 1)]
Seconds = Annotated[float, Real(0, MAX_SECONDS)]
PerToken = Entries(MAX_NEW_TOKENS)
Drafted = Entries(MAX_DRAFT_TOKENS)

SETTINGS_TABLE = Record(
    {name: setting.kind for name, setting in SETTINGS.items() if setting.in_every_trace},
    {name: setting.kind for name, setting in SETTINGS.items() if not setting.in_every_trace},
)
Settings = Annotated[DecodeSettings, Made(DecodeSettings, SETTINGS_TABLE)]
