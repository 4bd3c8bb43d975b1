"""The tables of fields of the content of the evidence's stored parts; and what rounds of labels and the routers that
learn from them are called there.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citer_core.decode_settings import MAX_NEW_TOKENS, SETTINGS
from citer_core.gate.fields import Choice, Flag, Kind, ListOf, MapOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.workload import PASSES, WORKLOAD

PARTS = {  # in the order in which they are measured
    "routers": "labels of every round and kind, and the routers that learn from them",
    "accuracy": "every router at the same shares of LLM tokens, and the oracles",
    "shortcut": "how right the labels are: both branches rolled out",
    "misjudged": "what each wrong decision costs: flipped one at a time",
    "transfer": "routers of one format on the other",
    "overhead": "what a router and a change of the model cost",
    "length": "right answers by the length of question and answer",
    "speculative": "speculative decoding; and every way one answer at a time",
    "look_back": "the LLM takes back what the SLM wrote: three callers at three strictnesses, and both dials",
    "rules": "published rules of taking back: BiLD's and a speculative cascade's",
    "truths": "routers that learn from the LLM's own answers, without a data set's",
    "setup": "what labelling, training and tuning cost",
}
MAX_PROBLEMS, MAX_POINTS, N_LENGTHS = 20_000, 5_000, 4
FORMATS = Choice("math", "mc")
SHARE, COUNT, SECONDS = Real(0.0, 1.0), Whole(), Real(0.0, 1e9)
NAME = Text(200, 1)
HEX = Text(MAX_PROBLEMS // 4 + 2, 0, "0123456789abcdef")


def fields(kind: Kind[Any], *names: str) -> dict[str, Kind[Any]]:
    """Several of one kind."""
    return dict.fromkeys(names, kind)


def record(*groups: Mapping[str, Kind[Any]], **more: Kind[Any]) -> Record:
    """An object of groups of fields and of single ones."""
    return Record({name: kind for group in (*groups, more) for name, kind in group.items()})


_N, _SEED, _PARAMS = Whole(1, MAX_PROBLEMS), Whole(0, 10**6), fields(COUNT, "n_params", "n_llm_tokens")
_LENGTHS = Text(MAX_PROBLEMS, 1, "0123")  # the quarter of each problem
_BOUNDS = ListOf(COUNT, N_LENGTHS - 1, N_LENGTHS - 1)
_QUARTERS = ListOf(Row(COUNT, COUNT), N_LENGTHS, N_LENGTHS)
_SECONDS = fields(SECONDS, "seconds", "llm_seconds")
_WHO: dict[str, Kind[Any]] = {
    **fields(NAME, "router", "label"), "seed": Maybe(_SEED), "share_wanted": Maybe(SHARE), "threshold": SHARE,
}  # fmt: skip
_TALLY: dict[str, Kind[Any]] = {"right": HEX, "n_tokens": Whole(1), "n_cut": COUNT, **_SECONDS, "work": WORKLOAD}
_POINT = record(_WHO, _TALLY, _PARAMS, revision=Text(64), is_shipped=Flag(), by_length=_QUARTERS)
_ACCURACY = record(
    n=_N, n_tuning=COUNT, length_of=_LENGTHS, length_bounds=_BOUNDS, points=ListOf(_POINT, MAX_POINTS, 1)
)
_ROUND = record(
    fields(NAME, "labels", "policy"),
    fields(COUNT, "n_rolled_out", "n_prefer_slm"),
    fields(Maybe(COUNT), "n_compared", "n_flips"),
    threshold=SHARE,
)
_LEARNED = record(
    fields(NAME, "router", "kind", "labels"),
    fields(Maybe(SHARE), "auc", "auc_max_probability"),
    seed=_SEED,
    ece=SHARE,
    validation_loss=Real(-1e9, 1e9),
    n_tokens=COUNT,
)
_ROUTERS = record(
    cases=MapOf(record(n_tokens=Whole(1), shares=Row(SHARE, SHARE, SHARE)), 2),
    rounds=ListOf(_ROUND, 20),
    routers=ListOf(_LEARNED, 200),
    outcomes=record(fields(COUNT, "both_right", "slm_only", "llm_only", "neither")),
    seconds=MapOf(SECONDS, 300),
)
_BRANCHES = record(
    fields(COUNT, "n_tokens", "n", "n_same_token", "n_decided", "n_undecided", "n_right"),
    fields(COUNT, *(f"slm_{a}_llm_{b}" for a in ("right", "wrong") for b in ("right", "wrong"))),
)
_SHORTCUT = MapOf(record(threshold=SHARE, n_examples=COUNT, cases=MapOf(_BRANCHES, 3)), 8)
_FLIPS = record(fields(COUNT, "n", "n_lost", "n_won"))
_MISJUDGED = record(
    fields(COUNT, "n_problems", "n_right", "n_tokens", "n_llm_tokens"),
    fields(_FLIPS, "to_slm", "to_llm"),
    router=NAME,
    threshold=SHARE,
)
_CARRIED = record(
    fields(SHARE, "share_wanted", "threshold"),
    fields(COUNT, "n_tokens", "n_llm_tokens"),
    router=NAME,
    trained_on=Text(20, 1),
    tested_on=FORMATS,
    n=_N,
    right=HEX,
)
_OVERHEAD = record(
    fields(SECONDS, "slm_step_ms", "llm_step_ms"),
    routers=ListOf(record(fields(SECONDS, "ms", "mb", "mflop"), router=NAME, n_params=COUNT), 100),
    n_cached=COUNT,
    switch=ListOf(record(fields(SECONDS, "kept_ms", "again_ms"), n_skipped=COUNT), 20),
)
_LENGTH = record(
    fields(_LENGTHS, "question_of", "answer_of"),
    fields(_BOUNDS, "question_bounds", "answer_bounds"),
    n=_N,
    points=ListOf(record(_WHO, fields(_QUARTERS, "by_question", "by_answer"), right=HEX), MAX_POINTS, 1),
)
_OTHERS = MapOf(Real(0.0, float(MAX_NEW_TOKENS)), len(SETTINGS))  # settings beside tau
_TIMED = record(
    fields(COUNT, "n_right", "n_tokens", "n_llm_tokens"), _SECONDS, router=NAME, threshold=Maybe(SHARE), n=_N
)
_SPECULATIVE = record(
    _TALLY,
    fields(COUNT, "n_drafted", "n_accepted"),
    n=_N,
    one_by_one=ListOf(Record(_TIMED.required, {"settings": _OTHERS}), 100, 1),
)
_LOOKED_AT = record(_TALLY, _PARAMS, router=NAME, label=Text(200), settings=_OTHERS)
_LOOKED = ListOf(Record(_LOOKED_AT.required, {"threshold": SHARE}), 500, 1)  # 0 where it is not said
_RULES = record(n=_N, points=_LOOKED)
_LOOK_BACK = record(n=_N, points=_LOOKED, n_grid=_N, grid=_LOOKED)
_TRUTH = Choice("gold", "llm", "walk")
_LABELLED = record(fields(COUNT, "n_problems", "n_tokens"), truth=_TRUTH, seconds=SECONDS)
_OF_TRUTH = record(
    fields(SHARE, "share_wanted", "threshold"),
    fields(COUNT, "n_labelled", "n_tokens", "n_llm_tokens"),
    truth=_TRUTH,
    seed=_SEED,
    right=HEX,
)
_TRUTHS = record(n=_N, labels=ListOf(_LABELLED, 3), points=ListOf(_OF_TRUTH, MAX_POINTS, 1))
_SPENT: dict[str, Kind[Any]] = {"seconds": SECONDS, **fields(PASSES, "slm", "llm")}
_TRAINED = record(
    fields(COUNT, "n_params", "n_epochs"), fields(Real(0.0, 1e30), "flops", "n_bytes"), router=NAME, seconds=SECONDS
)
_SETUP = record(
    n_labelled=Whole(1),
    share_wanted=SHARE,
    labels=ListOf(record(_SPENT, labels=NAME, n_problems=_N), 20),
    training=ListOf(_TRAINED, 20),
    tuning=ListOf(record(_SPENT, router=NAME, n_answers=COUNT), 20),
    roads=MapOf(ListOf(NAME, 20), 20),
)
CONTENT: dict[str, Kind[Any]] = {
    "routers": _ROUTERS,
    "accuracy": MapOf(_ACCURACY, 2),
    "shortcut": MapOf(_SHORTCUT, 2),
    "misjudged": MapOf(_MISJUDGED, 2),
    "transfer": ListOf(_CARRIED, 200),
    "overhead": _OVERHEAD,
    "length": MapOf(_LENGTH, 2),
    "speculative": MapOf(_SPECULATIVE, 2),
    "look_back": MapOf(_LOOK_BACK, 2),
    "rules": MapOf(_RULES, 2),
    "truths": MapOf(_TRUTHS, 2),
    # The kinds are those of problems; without them it is of all that its regime has.
    "setup": Record(_SETUP.required, {"kinds": ListOf(NAME, 10, 1)}),
}
OUTCOME = "outcome"  # labels that have no rounds
_PUBLISHED = "published-"


def round_of(kind: str, number: int) -> str:
    """The name of a round's router; the first has its kind's."""
    return kind if number == 1 else f"{kind}-{number}"


def published(number: int) -> str:
    """The folder of a round's labels."""
    return f"{_PUBLISHED}{number}"


def on_the_way(router: str, folders: list[str]) -> list[str]:
    """The routers that are trained up to this one, which needs these folders: each round is the policy of the next."""
    n_rounds = sum(folder.startswith(_PUBLISHED) for folder in folders)
    kind = router.removesuffix(f"-{n_rounds}")
    return [*(round_of(kind, k) for k in range(1, n_rounds)), router]
