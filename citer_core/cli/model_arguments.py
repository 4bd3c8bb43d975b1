"""`--pair` and what says how it is loaded, `--router`, `--llm-url`: the arguments of commands that load models."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.terminal import say
from citer_core.config import LlmServer, add_pair_options, pair_options
from citer_core.errors import SettingError
from citer_core.large_import import large_import
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
        help='a name that `pairs` lists, or "SLM,LLM", each a folder, a hub id, a GGUF file or "embedded" for the '
        "bundled one (%(default)s)",
    )
    models.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16"),
        default="float32",
        help="auto: bfloat16 where it is faster (%(default)s)",
    )
    models.add_argument("--device", default="cpu", help="as torch names it, e.g. cuda (%(default)s)")
    add_pair_options(models)


def model_identity(args: argparse.Namespace) -> dict[str, Any]:
    """What two runs must agree in, of the models, for their rows to stand in one file."""
    named = {"pair": args.pair, "dtype": args.dtype, "device": args.device}
    return {**named, **pair_options(args).identity()}


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where the LLM runs if not here; for commands that only need its tokens."""
    server = parser.add_argument_group("an LLM on a server")
    server.add_argument(
        "--llm-url", metavar="URL", help="e.g. http://host:8000/v1; --pair's LLM_DIR then needs config.json only"
    )
    server.add_argument("--llm-model", metavar="NAME", help="the name that it is served under (the only one)")
    server.add_argument("--llm-timeout", type=float, metavar="S", help="seconds to wait for a token (60)")


def llm_server(args: argparse.Namespace) -> LlmServer | None:
    """The server that the arguments name; None where they name none, or the command takes none.

    Raises:
        SettingError: a URL that cannot be used, or a model without a server.
    """
    names = ("llm_url", "llm_model", "llm_timeout")
    return LlmServer.read(*(getattr(args, name, None) for name in names))


def load_engine(args: argparse.Namespace, *cards: str | None) -> Engine:
    """Loads the pair that the arguments name; the slow part of a command.

    Args:
        args: of `add_model_arguments`.
        cards: routers as they were given; those that are paths are loaded from there.

    Raises:
        CiterError: the pair or a router cannot be loaded.
    """
    with large_import("citer_core.engine"):
        from citer_core.engine import Engine

    files = [Path(card) for card in cards if card is not None and is_card(card)]
    show_what_takes_long()
    return Engine.load(
        args.pair,
        device=args.device,
        dtype=args.dtype,
        router_files=files,
        options=pair_options(args),
        llm_server=llm_server(args),
    )


class _Saying(logging.Handler):
    """To standard error as it is now, and as tolerant as all that is said there: no traceback for a full log."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def show_what_takes_long() -> None:
    """Lets downloads and conversions, which take minutes, say so on stderr."""
    log = logging.getLogger("citer_core.models")
    if not log.handlers:
        log.addHandler(_Saying())
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
