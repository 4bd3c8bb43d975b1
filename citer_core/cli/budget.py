"""`--budget`: a share of LLM tokens in place of tau, for one question or a data set."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citer_core.cli.decoding_arguments import given_settings
from citer_core.cli.model_arguments import router_name
from citer_core.cli.terminal import say
from citer_core.errors import SettingError
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.tasks.problems import Problem

N_PROBLEMS = 16  # of a data set, the first ones, on which its tau is found
FAR = 0.03  # of the share that was asked for: said with the result


def add_budget_flag(group: argparse._ArgumentGroup) -> None:
    """Adds `--budget`."""
    group.add_argument(
        "--budget",
        type=float,
        metavar="S",
        help="instead of tau: about this share of LLM tokens, 0 to 1; tau is found by decoding the question, or the "
        f"first {N_PROBLEMS} of a data set, a few times",
    )


def asked_settings(args: argparse.Namespace) -> DecodeSettings:
    """The settings that were given; with a budget, tau is not known yet.

    Raises:
        SettingError: a wrong value.
    """
    if args.budget is not None and not 0 <= args.budget <= 1:
        raise SettingError(f"--budget is {args.budget}: give a share of tokens from 0 to 1.")
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
    from citer_core.evaluation.budget import tau_for_share

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
