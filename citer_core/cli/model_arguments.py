"""`--pair` and what says how it is loaded, `--router`, `--llm-url`: the arguments of commands that load models."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import group, option
from citer_core.cli.terminal import say
from citer_core.config import LlmServer, add_pair_options, pair_options
from citer_core.large_import import large_import
from citer_core.models.presets import PRESETS

if TYPE_CHECKING:
    from citer_core.engine import Engine

ROUTER_HELP = "a router's name, or the path of its card (.json) or of the file that the page saved (.safetensors)"
ROUTER = option("--router NAME", f"{ROUTER_HELP} (the pair's default)")
# Which pair is loaded, where and in which precision.
MODELS = group(
    "models",
    option(
        "--pair PAIR",
        'a name that `pairs` lists, or "SLM,LLM", each a folder, a hub id, a GGUF file or "embedded" for the '
        "bundled one",
        "embedded",
    ),
    option("--dtype", "auto: bfloat16 where it is faster", "float32", choices=("auto", "float32", "bfloat16")),
    option("--device", "as torch names it, e.g. cuda", "cpu"),
    add_pair_options,
)
# Where the LLM runs if not here; for commands that only need its tokens.
SERVER = group(
    "an LLM on a server",
    option("--llm-url URL", "e.g. http://host:8000/v1; --pair's LLM_DIR then needs config.json only"),
    option("--llm-model NAME", "the name that it is served under (the only one)"),
    option("--llm-timeout S", "seconds to wait for a token (60)", type=float),
)


def model_identity(args: argparse.Namespace) -> dict[str, Any]:
    """What two runs must agree in, of the models, for their rows to stand in one file."""
    named = {"pair": args.pair, "dtype": args.dtype, "device": args.device}
    return {**named, **pair_options(args).identity()}


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
        args: of `MODELS`.
        cards: routers as they were given; those that are paths are loaded from there.

    Raises:
        CiterError: the pair or a router cannot be loaded.
    """
    with large_import("citer_core.engine"):
        from citer_core.engine import Engine

    files = [Path(card) for card in cards if card is not None and _is_path(card)]
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


def show_what_takes_long(room: str = "citer_core.models") -> None:
    """Lets downloads and conversions, or another room's work that takes minutes, say so on stderr."""
    log = logging.getLogger(room)
    if not log.handlers:
        log.addHandler(_Saying())
        log.setLevel(logging.INFO)


def router_name(router: str | None) -> str | None:
    """The name under which the engine knows a router that was given by name or by path."""
    return Path(router).stem if router is not None and _is_path(router) else router


def _is_path(router: str) -> bool:
    return router.endswith((".json", ".safetensors"))


def pair_to_tell(args: argparse.Namespace) -> str:
    """`--pair` for a command that is stored: a pair without a name of ours is told as SLM,LLM."""
    return args.pair if args.pair in PRESETS else "SLM,LLM"
