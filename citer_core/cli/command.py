"""`Command`: what a subcommand's module offers, and `main`, which lists them, calls. Knows none of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


class Command(Protocol):
    """What a subcommand's module offers."""

    def add_parser(self, subparsers: Subparsers) -> None:
        """Adds the subcommand and its arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work and returns the exit code; raises `CiterError` for what the person should know."""
