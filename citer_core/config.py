"""`AppConfig`: where the page is served, which pair it loads and how many runs it takes at once.

The only reader of environment variables and of the page's flags. Knows nothing about gradio or models; called by `app`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citer_core.errors import SettingError

EVERY_INTERFACE = "0.0.0.0"  # what a container on Spaces must listen on


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Settings of one process.

    Attributes:
        host, port: where the page is served.
        pair: a bundled pair's name or a folder.
        device, dtype: of both models, as torch spells them.
        n_concurrent_runs: runs that decode at the same time; more than the device has room for makes all of them slow.
        n_queued_runs: runs that may wait for a place; one more is refused with a message.
        mcp: offer the documented endpoints as MCP tools too, where gradio's `mcp` extra is installed.
    """

    host: str = "127.0.0.1"
    port: int = 7860
    pair: str = "embedded"
    device: str = "cpu"
    dtype: str = "float32"
    n_concurrent_runs: int = 2
    n_queued_runs: int = 16
    mcp: bool = True

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("port", self.port, 1, 65_535),
            ("n_concurrent_runs", self.n_concurrent_runs, 1, 64),
            ("n_queued_runs", self.n_queued_runs, 1, 1024),
        ):
            if not low <= value <= high:
                raise SettingError(f"{name} is {value}: give a whole number from {low} to {high}.")

    @classmethod
    def read(cls, flags: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> AppConfig:
        """Flags win over variables, variables over defaults.

        `PORT` (what hosts and `make app` set) wins over gradio's own `GRADIO_SERVER_PORT`.

        Raises:
            SettingError: a number is none, or outside its range.
        """
        env = os.environ if environment is None else environment
        default = cls()
        on_spaces = bool(env.get("SPACE_ID"))
        port = env.get("PORT") or env.get("GRADIO_SERVER_PORT")
        parser = argparse.ArgumentParser(prog="app.py", description="Serves the CITER page.", allow_abbrev=False)
        host = env.get("GRADIO_SERVER_NAME") or (EVERY_INTERFACE if on_spaces else default.host)
        parser.add_argument("--host", default=host)
        parser.add_argument("--port", type=int, default=_whole_number("PORT", port, default.port))
        parser.add_argument("--pair", default=env.get("CITER_PAIR") or default.pair)
        parser.add_argument("--device", default=env.get("CITER_DEVICE") or default.device)
        parser.add_argument("--dtype", default=env.get("CITER_DTYPE") or default.dtype)
        args = parser.parse_args(list(flags))
        return cls(
            host=args.host,
            port=args.port,
            pair=args.pair,
            device=args.device,
            dtype=args.dtype,
            n_concurrent_runs=_whole_number(
                "CITER_CONCURRENT_RUNS", env.get("CITER_CONCURRENT_RUNS"), default.n_concurrent_runs
            ),
            n_queued_runs=_whole_number("CITER_QUEUED_RUNS", env.get("CITER_QUEUED_RUNS"), default.n_queued_runs),
            mcp=bool(_whole_number("CITER_MCP", env.get("CITER_MCP"), int(default.mcp))),
        )


def launch_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's number among those that `accelerate launch` or `torchrun` started; 0 when started by hand."""
    env = os.environ if environment is None else environment
    return _whole_number("RANK", env.get("RANK"), 0)


def _whole_number(name: str, text: str | None, default: int) -> int:
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name} is {text!r}: give a whole number.") from None
