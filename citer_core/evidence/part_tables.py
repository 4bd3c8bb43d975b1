"""The tables of fields of the evidence's stored parts: the head that all have, and the content of each; and what rounds
of labels and the routers that learn from them are called there.

Imports no torch.
"""

from __future__ import annotations

from typing import Any

from citer_core.cost import MODEL
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
_NAME = Text(200, 1)
HEX = Text(MAX_PROBLEMS // 4 + 2, 0, "0123456789abcdef")
HEAD: dict[str, Kind[Any]] = {
    "part": Choice(*PARTS),
    **dict.fromkeys(("title", "pair", "pair_revision", "dtype"), _NAME),
    **dict.fromkeys(("slm", "llm"), MODEL),
    "date": Text(10, 10),
    "hardware": Text(300),
    "command": Text(500),
    "code_version": Text(100),
    "plan": MapOf(Maybe(ListOf(Real(0.0, 1e9), 100)), 40),
    "seconds": SECONDS,
}
_QUARTERS = ListOf(Row(COUNT, COUNT), N_LENGTHS, N_LENGTHS)
_WHO: dict[str, Kind[Any]] = {
    "router": _NAME,
    "label": _NAME,
    "seed": Maybe(Whole(0, 10**6)),
    "share_wanted": Maybe(SHARE),
    "threshold": SHARE,
}
_TALLY: dict[str, Kind[Any]] = {
    "right": HEX,
    "n_tokens": Whole(1),
    "n_cut": COUNT,
    **dict.fromkeys(("seconds", "llm_seconds"), SECONDS),
    "work": WORKLOAD,
}
_POINT = Record(
    {
        **_WHO,
        **_TALLY,
        "revision": Text(64),
        "is_shipped": Flag(),
        **dict.fromkeys(("n_params", "n_llm_tokens"), COUNT),
        "by_length": _QUARTERS,
    }
)
_ACCURACY = Record(
    {
        "n": Whole(1, MAX_PROBLEMS),
        "n_tuning": COUNT,
        "length_of": Text(MAX_PROBLEMS, 1, "0123"),
        "length_bounds": ListOf(COUNT, N_LENGTHS - 1, N_LENGTHS - 1),
        "points": ListOf(_POINT, MAX_POINTS, 1),
    }
)
_ROUTERS = Record(
    {
        "cases": MapOf(Record({"n_tokens": Whole(1), "shares": Row(SHARE, SHARE, SHARE)}), 2),
        "rounds": ListOf(
            Record(
                {
                    **dict.fromkeys(("labels", "policy"), _NAME),
                    "threshold": SHARE,
                    **dict.fromkeys(("n_rolled_out", "n_prefer_slm"), COUNT),
                    **dict.fromkeys(("n_compared", "n_flips"), Maybe(COUNT)),
                }
            ),
            20,
        ),
        "routers": ListOf(
            Record(
                {
                    **dict.fromkeys(("router", "kind", "labels"), _NAME),
                    "seed": Whole(0, 10**6),
                    **dict.fromkeys(("auc", "auc_max_probability"), Maybe(SHARE)),
                    "ece": SHARE,
                    "validation_loss": Real(-1e9, 1e9),
                    "n_tokens": COUNT,
                }
            ),
            200,
        ),
        "outcomes": Record(dict.fromkeys(("both_right", "slm_only", "llm_only", "neither"), COUNT)),
        "seconds": MapOf(SECONDS, 300),
    }
)
_BRANCHES = Record(
    {
        **dict.fromkeys(("n_tokens", "n", "n_same_token", "n_decided", "n_undecided", "n_right"), COUNT),
        **{f"slm_{a}_llm_{b}": COUNT for a in ("right", "wrong") for b in ("right", "wrong")},
    }
)
_SHORTCUT = MapOf(Record({"threshold": SHARE, "n_examples": COUNT, "cases": MapOf(_BRANCHES, 3)}), 8)
_FLIPS = Record(dict.fromkeys(("n", "n_lost", "n_won"), COUNT))
_MISJUDGED = Record(
    {
        "router": _NAME,
        "threshold": SHARE,
        **dict.fromkeys(("n_problems", "n_right", "n_tokens", "n_llm_tokens"), COUNT),
        **dict.fromkeys(("to_slm", "to_llm"), _FLIPS),
    }
)
_TRANSFER = ListOf(
    Record(
        {
            "router": _NAME,
            "trained_on": Text(20, 1),
            "tested_on": FORMATS,
            "share_wanted": SHARE,
            "threshold": SHARE,
            "n": Whole(1, MAX_PROBLEMS),
            "right": HEX,
            **dict.fromkeys(("n_tokens", "n_llm_tokens"), COUNT),
        }
    ),
    200,
)
_OVERHEAD = Record(
    {
        "routers": ListOf(
            Record({"router": _NAME, "n_params": COUNT, **dict.fromkeys(("ms", "mb", "mflop"), SECONDS)}), 100
        ),
        **dict.fromkeys(("slm_step_ms", "llm_step_ms"), SECONDS),
        "n_cached": COUNT,
        "switch": ListOf(Record({"n_skipped": COUNT, "kept_ms": SECONDS, "again_ms": SECONDS}), 20),
    }
)
_LENGTH = Record(
    {
        "n": Whole(1, MAX_PROBLEMS),
        **dict.fromkeys(("question_of", "answer_of"), Text(MAX_PROBLEMS, 1, "0123")),
        **dict.fromkeys(("question_bounds", "answer_bounds"), ListOf(COUNT, N_LENGTHS - 1, N_LENGTHS - 1)),
        "points": ListOf(
            Record({**_WHO, "right": HEX, **dict.fromkeys(("by_question", "by_answer"), _QUARTERS)}), MAX_POINTS, 1
        ),
    }
)
_OTHERS = MapOf(Real(0.0, float(MAX_NEW_TOKENS)), len(SETTINGS))  # settings beside tau
_SPECULATIVE = Record(
    {
        **_TALLY,
        "n": Whole(1, MAX_PROBLEMS),
        **dict.fromkeys(("n_drafted", "n_accepted"), COUNT),
        "one_by_one": ListOf(
            Record(
                {
                    "router": _NAME,
                    "threshold": Maybe(SHARE),
                    "n": Whole(1, MAX_PROBLEMS),
                    **dict.fromkeys(("n_right", "n_tokens", "n_llm_tokens"), COUNT),
                    **dict.fromkeys(("seconds", "llm_seconds"), SECONDS),
                },
                {"settings": _OTHERS},
            ),
            100,
            1,
        ),
    }
)
_LOOKED = ListOf(
    Record(
        {**_TALLY, "router": _NAME, "label": Text(200), "settings": _OTHERS, "n_params": COUNT, "n_llm_tokens": COUNT},
        {"threshold": SHARE},  # 0 where it is not said
    ),
    500,
    1,
)
_RULES = Record({"n": Whole(1, MAX_PROBLEMS), "points": _LOOKED})
_TRUTH = Choice("gold", "llm", "walk")
_TRUTHS = Record(
    {
        "n": Whole(1, MAX_PROBLEMS),
        "labels": ListOf(
            Record({"truth": _TRUTH, **dict.fromkeys(("n_problems", "n_tokens"), COUNT), "seconds": SECONDS}), 3
        ),
        "points": ListOf(
            Record(
                {
                    "truth": _TRUTH,
                    "seed": Whole(0, 10**6),
                    **dict.fromkeys(("share_wanted", "threshold"), SHARE),
                    "right": HEX,
                    **dict.fromkeys(("n_labelled", "n_tokens", "n_llm_tokens"), Whole()),
                }
            ),
            MAX_POINTS,
            1,
        ),
    }
)
_LOOK_BACK = Record({"n": Whole(1, MAX_PROBLEMS), "points": _LOOKED, "n_grid": Whole(1, MAX_PROBLEMS), "grid": _LOOKED})
_SPENT: dict[str, Kind[Any]] = {"seconds": SECONDS, "slm": PASSES, "llm": PASSES}
_SETUP = Record(
    {
        "n_labelled": Whole(1),
        "share_wanted": SHARE,
        "labels": ListOf(Record({"labels": _NAME, "n_problems": Whole(1, MAX_PROBLEMS), **_SPENT}), 20),
        "training": ListOf(
            Record(
                {
                    "router": _NAME,
                    "seconds": SECONDS,
                    "n_params": COUNT,
                    "n_epochs": COUNT,
                    **dict.fromkeys(("flops", "n_bytes"), Real(0.0, 1e30)),
                }
            ),
            20,
        ),
        "tuning": ListOf(Record({"router": _NAME, "n_answers": COUNT, **_SPENT}), 20),
        "roads": MapOf(ListOf(_NAME, 20), 20),
    },
    {"kinds": ListOf(_NAME, 10, 1)},  # of problems; without it all that its regime has
)
CONTENT: dict[str, Kind[Any]] = {
    "routers": _ROUTERS,
    "accuracy": MapOf(_ACCURACY, 2),
    "shortcut": MapOf(_SHORTCUT, 2),
    "misjudged": MapOf(_MISJUDGED, 2),
    "transfer": _TRANSFER,
    "overhead": _OVERHEAD,
    "length": MapOf(_LENGTH, 2),
    "speculative": MapOf(_SPECULATIVE, 2),
    "look_back": MapOf(_LOOK_BACK, 2),
    "rules": MapOf(_RULES, 2),
    "truths": MapOf(_TRUTHS, 2),
    "setup": _SETUP,
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
