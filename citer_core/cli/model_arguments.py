"""`--pair`, `--device`, `--dtype`, `--router`: the arguments of every command that loads models, and the loading."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.errors import SettingError
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine

ROUTER_HELP = "a router's name, or the path of its card (.json)"


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds which pair is loaded, where and in which precision."""
    models = parser.add_argument_group("models")
    models.add_argument("--pair", default="embedded", metavar="NAME", help="embedded, or SLM_DIR,LLM_DIR (%(default)s)")
    models.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16"),
        default="float32",
        help="auto: bfloat16 where it is faster (%(default)s)",
    )
    models.add_argument("--device", default="cpu", help="as torch names it, e.g. cuda (%(default)s)")


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
    return Engine.load(args.pair, device=args.device, dtype=args.dtype, router_files=files)


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
