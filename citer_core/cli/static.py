"""Pages that need no server: `static` writes the whole page as a folder, with nothing of Python behind it, `gallery`
one page per recorded run, each the viewer in one file.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.cli.command import command, option, switch
from citer_core.cli.terminal import say
from citer_core.errors import GateError, TraceError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder, why, write_whole
from citer_core.gate.json_file import read_limited
from citer_core.offline import GalleryEntry, gallery_index, offline_page, offline_template
from citer_core.trace import RoutingTrace
from citer_core.trace_schema import MAX_TRACE_BYTES

OUTPUT = option("output_dir OUT", "the folder; made where it does not exist", type=Path)


@command(
    "static",
    "write the whole page as files, for a static host",
    "Writes OUT/index.html and all that it needs: the bundled pair runs in the visitor's browser, so any web server "
    "will do, a static Space (README.md says so there), or none after the first visit.",
    OUTPUT,
    switch("--no-labels", "leave out the recorded labels"),
)
def static(args: argparse.Namespace) -> None:
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


def _labels() -> dict[str, str]:
    """The recorded labels."""
    from citer_core.ui.labels.recorded_labels import FOLDER, read_stored

    return {f"{one.pair}: {one.title}": (FOLDER / one.file).read_text(encoding="utf-8") for one in read_stored()}


@command(
    "gallery",
    "write recorded runs as pages that need no server",
    "Writes OUT/index.html and one HTML file per run: those that come with the project, then the given ones. Every "
    "file opens from a disk and from any static host.",
    OUTPUT,
    option("traces TRACE", "JSON of the page or of `route --json`", nargs="*", type=Path),
    switch(
        "--engine", "put the bundled pair and its decoder into every page, which generates then: up to 20 MB a page"
    ),
    switch("--only-given", "leave out the runs that come with the project"),
)
def gallery(args: argparse.Namespace) -> None:
    """Writes the folder.

    Raises:
        TraceError: a trace cannot be read, or there is none at all.
        CiterError: the folder cannot be written.
    """
    bundled = [] if args.only_given else _bundled()
    entries: list[GalleryEntry] = []
    for path in [*bundled, *args.traces]:
        entries.append(GalleryEntry(_free_name(path.stem, {entry.file for entry in entries}), _read(path)))
    if not entries:
        raise TraceError("There is no run to show: give traces, or leave out --only-given.")
    need_folder(args.output_dir)
    with only_writer(args.output_dir / "index.html"):
        page_of = _page_of(with_engine=args.engine)
        for entry in entries:
            write_whole(args.output_dir / entry.file, page_of(entry.trace))
        write_whole(args.output_dir / "index.html", gallery_index(entries))  # last: it names pages that are there
    size = (args.output_dir / entries[-1].file).stat().st_size
    each = f", {size / 1e6:.1f} MB each" if args.engine else ""
    say(f"{len(entries)} runs are in {args.output_dir / 'index.html'}{each}")


def _page_of(*, with_engine: bool) -> Callable[[RoutingTrace], str]:
    if with_engine:
        from citer_core.ui.one_file import one_file_page  # gradio, which only this needs

        return one_file_page
    template = offline_template()
    return lambda trace: offline_page(trace, template)


def _bundled() -> list[Path]:
    """The runs that come with the project, in the order of their index."""
    from citer_core.ui.presets import read_presets  # gradio, which only this needs

    folder = ASSETS / "traces"
    return [folder / preset.file for preset in read_presets(folder)]


def _read(path: Path) -> RoutingTrace:
    try:
        return RoutingTrace.from_json(read_limited(path, MAX_TRACE_BYTES))
    except OSError as error:
        raise TraceError(f"The trace {path} cannot be read ({why(error)}).") from error
    except (GateError, TraceError) as error:
        raise TraceError(f"{path}: {error}") from error


def _free_name(stem: str, taken: set[str]) -> str:
    """A file name that every host takes: letters, digits and dashes, numbered where it is taken."""
    base = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "run"
    names = (f"{base}.html" if n == 1 else f"{base}-{n}.html" for n in range(1, len(taken) + 3))
    return next(name for name in names if name not in taken and name != "index.html")
