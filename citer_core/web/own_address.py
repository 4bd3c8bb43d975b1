"""Nothing that a server asks itself goes through a proxy.

Proxies are for what this process fetches from elsewhere. Gradio makes its clients when it is imported, and asks itself
whether it listens when it starts: a proxy that is named in the environment would be asked for 127.0.0.1, or not even be
of a kind that the client knows. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@contextlib.contextmanager
def without_proxies() -> Iterator[None]:
    """The environment's proxies are not there inside, and there again behind it."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.lower() in PROXIES}
    try:
        yield
    finally:
        os.environ.update(kept)
