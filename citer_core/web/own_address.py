"""The address that the page is served at: whether it can be, asked before anything is built there; no proxy before it.

Proxies are for what this process fetches from elsewhere. Gradio makes its clients when it is imported, and asks itself
whether it listens when it starts: a proxy that is named in the environment would be asked for 127.0.0.1, or not even be
of a kind that the client knows. And it looks at a port of the loopback interface only: where another interface's is
used, it says after five seconds that no port is empty.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

from citer_core.errors import SettingError

PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@contextlib.contextmanager
def without_proxies() -> Iterator[None]:
    """The environment's proxies are not there inside, and there again behind it."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.lower() in PROXIES}
    try:
        yield
    finally:
        os.environ.update(kept)


OTHER_PORT = "End what uses it, or choose another one: --port 7861, or PORT=7861 make app."


def check_address(host: str, port: int) -> None:
    """Takes the port for a moment, as the server will.

    Raises:
        SettingError: it is used, or may not be, or the host is none of this machine's.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise SettingError(f"The host to serve on is not known here: {_why(error)}. {OTHER_HOST}") from error
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as probe:
        if os.name == "posix":  # as uvicorn does: connections of a server that has just ended are no hindrance
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            # With that option several may bind a port, but one may listen.
            probe.listen(1)
        except OSError as error:
            raise SettingError(_refusal(port, error)) from error


OTHER_HOST = "Give --host 127.0.0.1 for this machine alone, or --host 0.0.0.0 for all who reach it."


def _refusal(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is used by another program already. {OTHER_PORT}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} is not yours to use: ports below 1024 mostly need special rights. Choose a higher one."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"The host to serve on is not an address of this machine. {OTHER_HOST}"
    return f"Port {port} cannot be used ({_why(error)}). {OTHER_PORT}"


def _why(error: OSError | UnicodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "it is not a host name"
