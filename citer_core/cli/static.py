"""`static`: the whole page as a folder for any web server, with nothing of Python behind it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.terminal import say
from citer_core.file_lock import only_writer
from citer_core.files import need_folder

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Adds `static` and its arguments."""
    parser = subparsers.add_parser(
        "static",
        help="write the whole page as files, for a static host",
        description="Writes OUT/index.html and all that it needs: the bundled pair runs in the visitor's browser, so "
        "any web server will do, a static Space (README.md says so there), or none after the first visit.",
        allow_abbrev=False,
    )
    parser.add_argument("output_dir", type=Path, metavar="OUT", help="the folder; made where it does not exist")
    parser.add_argument("--no-labels", action="store_true", help="leave out the recorded labels")


def run(args: argparse.Namespace) -> int:
    """Writes the folder.

    Raises:
        CiterError: it cannot be written, or the bundled pair cannot be read.
    """
    from citer_core.ui.build import build_site, needed_bytes  # gradio, which only this needs

    need_folder(args.output_dir)
    with only_writer(args.output_dir / "index.html"):
        files = build_site(args.output_dir, {} if args.no_labels else _labels())
    size = sum(path.stat().st_size for path in files)
    say(
        f"{len(files)} files, {size / 1e6:.1f} MB, are in {args.output_dir}; a visitor generates after "
        f"{needed_bytes(args.output_dir) / 1e6:.1f} MB. Try it: python -m http.server --directory {args.output_dir}"
    )
    return 0


def _labels() -> dict[str, str]:
    """The recorded labels."""
    from citer_core.ui.labels.recorded_labels import FOLDER, read_stored

    return {f"{one.pair}: {one.title}": (FOLDER / one.file).read_text(encoding="utf-8") for one in read_stored()}
