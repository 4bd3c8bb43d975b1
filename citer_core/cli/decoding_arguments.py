"""The settings of decoding as arguments: a flag for each row of their table, all of them as one JSON object, and
`--budget`: a share of LLM tokens in place of tau, for one question or a data set.

Called by the commands that decode; knows no command.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import Allowed, flag_of, option
from citer_core.cli.model_arguments import router_name
from citer_core.cli.terminal import say
from citer_core.decode_settings import LOOKING_BACK, SETTINGS, DecodeSettings, Others, in_words, read_settings
from citer_core.errors import SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Whole

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.tasks.problems import Problem

N_PROBLEMS = 16  # of a data set, the first ones, on which its tau is found
FAR = 0.03  # of the share that was asked for: said with the result


SETTINGS_OBJECT = option("--settings JSON", "settings of decoding as one object, such as '{\"threshold\": 0.5}'")
# A flag for each setting, None where it is not given, and all in one.
SETTING_FLAGS = (
    *(
        option(
            flag_of(name),
            f"{row.about.rstrip('.')} ({row.default:g})",
            type=int if isinstance(row.kind, Whole) else float,
            metavar=row.metavar,
        )
        for name, row in SETTINGS.items()
    ),
    SETTINGS_OBJECT,
)
BUDGET = option(
    "--budget S",
    "instead of tau: about this share of LLM tokens, 0 to 1; tau is found by decoding the question, or the "
    f"first {N_PROBLEMS} of a data set, a few times",
    allowed=Allowed(lambda share: 0 <= share <= 1, "a share of tokens from 0 to 1"),
)


def decoding_limits(args: argparse.Namespace) -> dict[str, Any]:
    """`--max-new-tokens` and `--batch-size` of commands that decode many problems.

    Raises:
        SettingError: a value outside its range.
    """
    DecodeSettings(max_new_tokens=args.max_new_tokens)
    return {"max_new_tokens": args.max_new_tokens, "batch_size": args.batch_size}


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags and `--settings` say, by name; `DecodeSettings(**...)` checks the values.

    Raises:
        SettingError: `--settings` is no object or names something else; or a setting is given twice.
    """
    flags = {name: getattr(args, name, None) for name in SETTINGS}
    flags = {name: value for name, value in flags.items() if value is not None}
    named = read_settings(args.settings)
    if twice := sorted(flags.keys() & named):
        flag = flag_of(twice[0])
        raise SettingError(f"{flag} is given, and --settings holds {twice[0]} too: give one of the two.")
    return flags | named


def router_with_settings(text: str) -> tuple[str, float | None, Others]:
    """A router as it was given, its tau, and other settings that say which model writes.

    Args:
        text: NAME, NAME=TAU or NAME=TAU,setting=value,...; without TAU the router's recommended one is meant, None.

    Raises:
        SettingError: it is none.
    """
    first, *more = text.split(",")
    name, has_tau, number = first.rpartition("=") if "=" in first else (first, "", "")
    try:
        tau = float(number) if has_tau else None
        others = tuple((other, float(value)) for other, _, value in (one.partition("=") for one in more))
    except ValueError:
        raise SettingError(
            f"{excerpt(text)} is no router with its settings: give a name, or a name and a tau, as in citer=0.8, and "
            f"behind commas other settings, as in citer=0,{','.join(in_words(list(LOOKING_BACK.items())[1:3]))}."
        ) from None
    DecodeSettings(**read_settings({**dict(others), "threshold": tau or 0.0}))
    if wrong := next((other for other, _ in others if other not in LOOKING_BACK or other == "threshold"), None):
        known = ", ".join(name for name in LOOKING_BACK if name != "threshold")
        raise SettingError(f"{excerpt(text)} has {wrong}: beside its tau a router may have {known} of its own.")
    return name, tau, others


def asked_settings(args: argparse.Namespace) -> DecodeSettings:
    """The settings that were given; with a budget, tau is not known yet.

    Raises:
        SettingError: a wrong value.
    """
    given = given_settings(args)
    if args.budget is not None and "threshold" in given:
        raise SettingError("--budget and a threshold: give one of the two, a budget is turned into a tau.")
    return DecodeSettings(**given)


def settings_for(
    args: argparse.Namespace, engine: Engine, problems: Sequence[Problem], batch_size: int = 1
) -> DecodeSettings:
    """The settings of decoding; a budget becomes the tau that keeps to it on the first of the problems, and is told.

    Raises:
        CiterError: a wrong value, an unknown router, a prompt that is too long.
    """
    settings = asked_settings(args)
    if args.budget is None:
        return settings
    from citer_core.evaluation.accuracy import tau_for_share

    router, tried = router_name(args.router), problems[:N_PROBLEMS]
    found = tau_for_share(engine, tried, args.budget, router=router, settings=settings, batch_size=batch_size)
    if found.n_passes:
        of = f"the first {len(tried)} rows" if len(tried) > 1 else "the question"
        gives = f"tau {found.threshold:.4g} gives {found.share:.1%} LLM tokens on {of}"
        say(f"{gives}, decoded {found.n_passes}x to find it")
    return replace(settings, threshold=found.threshold)


def warn_if_far(budget: float | None, share: float) -> None:
    """Says that the share of LLM tokens that came is far from the one that was asked for, if it is."""
    if budget is not None and abs(share - budget) > FAR:
        say(f"asked for {budget:.1%} LLM tokens, got {share:.1%}: correct it with --threshold")
