"""`--pair` and what says how it is loaded, `--router`: the arguments of every command that loads models."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.config import add_pair_options, pair_options
from citer_core.errors import SettingError
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine

ROUTER_HELP = "a router's name, or the path of its card (.json)"


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds which pair is loaded, where and in which precision."""
    models = parser.add_argument_group("models")
    models.add_argument(
        "--pair",
        default="embedded",
        metavar="PAIR",
        help='a name that `pairs` lists, or "SLM,LLM", each a folder, a hub id or a GGUF file (%(default)s)',
    )
    models.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="(%(default)s)")
    models.add_argument("--device", default="cpu", help="as torch names it, e.g. cuda (%(default)s)")
    add_pair_options(models)


def model_identity(args: argparse.Namespace) -> dict[str, Any]:
    """What two runs must agree in, of the models, for their rows to stand in one file."""
    named = {"pair": args.pair, "dtype": args.dtype, "device": args.device}
    return {**named, **pair_options(args).identity()}


def load_engine(args: argparse.Namespace, *cards: str | None) -> Engine:
    """Loads the pair that the arguments name; the slow part of a command.

    Args:
        args: of `add_model_arguments`.
        cards: routers as they were given; those that are paths are loaded from there.

    Raises:
        CiterError: the pair or a router cannot be loaded.
    """
    from citer_core.engine import Engine

    files = [Path(card) for card in cards if card is not None and is_card(card)]
    show_what_takes_long()
    return Engine.load(args.pair, device=args.device, dtype=args.dtype, router_files=files, options=pair_options(args))


def show_what_takes_long() -> None:
    """Lets downloads and conversions, which take minutes, say so on stderr."""
    log = logging.getLogger("citer_core.models")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


def decoding_limits(args: argparse.Namespace) -> dict[str, int]:
    """`--max-new-tokens` and `--batch-size` of commands that decode many problems.

    Raises:
        SettingError: a value outside its range.
    """
    if args.batch_size < 1:
        raise SettingError(f"--batch-size is {args.batch_size}: give a whole number from 1.")
    DecodeSettings(max_new_tokens=args.max_new_tokens)
    return {"max_new_tokens": args.max_new_tokens, "batch_size": args.batch_size}


def is_card(router: str) -> bool:
    """Whether a router was given as the path of its card."""
    return router.endswith(".json")


def router_name(router: str | None) -> str | None:
    """The name under which the engine knows a router that was given by name or by path."""
    return Path(router).stem if router is not None and is_card(router) else router
