"""The settings of decoding as arguments: one flag for each row of their table, and all of them as one JSON object.

Called by the commands that decode; knows no command.
"""

from __future__ import annotations

import argparse
from typing import Any

from citer_core.decode_settings import SETTINGS, read_settings
from citer_core.errors import SettingError
from citer_core.gate.fields import Whole


def add_settings_object(group: argparse._ActionsContainer) -> None:
    """Adds `--settings`."""
    group.add_argument(
        "--settings", metavar="JSON", help="settings of decoding as one object, such as '{\"threshold\": 0.5}'"
    )


def add_setting_flags(group: argparse._ActionsContainer) -> None:
    """Adds a flag for each setting, None where it is not given, and `--settings`."""
    for name, row in SETTINGS.items():
        group.add_argument(
            flag_of(name),
            type=int if isinstance(row.kind, Whole) else float,
            metavar=row.metavar,
            help=f"{row.about.rstrip('.')} ({row.default:g})",
        )
    add_settings_object(group)


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


def flag_of(name: str) -> str:
    """How a setting is spelled on the command line."""
    return f"--{name.replace('_', '-')}"
