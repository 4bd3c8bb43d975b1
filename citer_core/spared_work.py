"""What libraries work out while they are imported and nobody here reads: a second of a cold start's processor time.

- gradio reads, parses and compares the source of every component it defines, to keep type stubs for its own authors
  beside it (`component_meta.create_or_modify_pyi`); the stubs that it comes with stay as they are.
- torch asks `inspect` where each custom operator was declared, which looks through all modules of the process for the
  lines of source too; `_library.utils.get_source` keeps only the file's name and the line's number of what it finds.

Another version without these names is imported as it is, at its own pace. Standard library only; called by
`large_import`, before each module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def no_stubs(*_: object) -> None:
    """In place of `gradio.component_meta.create_or_modify_pyi`."""


def place_of_caller(stacklevel: int) -> str:
    """In place of `torch._library.utils.get_source`: "FILE:LINE" of the caller so many calls above, 1 for its own."""
    frame = sys._getframe(stacklevel)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


SPARED: dict[tuple[str, str], Callable[..., Any]] = {
    ("gradio.component_meta", "create_or_modify_pyi"): no_stubs,
    ("torch._library.utils", "get_source"): place_of_caller,
}


def spare() -> None:
    """Replaces what is there by now. Cheap: a module is looked up by name, and never imported for it."""
    for (name, attribute), instead in SPARED.items():
        module = sys.modules.get(name)
        if module is not None and getattr(module, attribute, instead) is not instead:
            setattr(module, attribute, instead)
