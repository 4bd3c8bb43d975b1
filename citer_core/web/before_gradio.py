"""What has to be right before gradio is imported or listens: its folder for what it writes, no proxy before it, and
whether the page can be served at its address.

The folder is this process's own and gone with it; those of killed processes go at the next start. The page takes no
files, so almost nothing is written there. A lock says whether the process of a folder lives: the system lets go of it
however the process ends. Gradio reads the place from `GRADIO_TEMP_DIR` when it is imported.

Proxies are for what this process fetches from elsewhere. Gradio makes its clients when it is imported, and asks itself
whether it listens when it starts: a proxy that is named in the environment would be asked for 127.0.0.1, or not even be
of a kind that the client knows. And it looks at a port of the loopback interface only: where another interface's is
used, it says after five seconds that no port is empty.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from citer_core.errors import SettingError
from citer_core.file_lock import try_lock

PREFIX = "citer-page-"
LOCK = "in-use"
VARIABLE = "GRADIO_TEMP_DIR"


def own_scratch(environment: MutableMapping[str, str] | None = None) -> Path:
    """Makes the folder, tells gradio, and removes what killed processes left.

    Args:
        environment: whose `GRADIO_TEMP_DIR`, if set, is where the folder is made; else the system's temporary folder.
    """
    env = os.environ if environment is None else environment
    parent = Path(env.get(VARIABLE) or tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try_lock(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600))  # as long as the file is open, as this process is
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    env[VARIABLE] = str(folder)
    return folder


def clear_leftovers(parent: Path) -> list[Path]:
    """Removes our folders there whose processes are gone; returns them."""
    gone = []
    for folder in _ours(parent):
        with contextlib.suppress(OSError):  # no lock in it: not known to be ours
            lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            if try_lock(lock, where_unknown=False):
                shutil.rmtree(folder, ignore_errors=True)
                gone.append(folder)
            os.close(lock)
    return gone


def _ours(parent: Path) -> Iterator[Path]:
    uid = os.getuid() if hasattr(os, "getuid") else None
    for folder in parent.glob(f"{PREFIX}*"):
        # Others may write into the system's temporary folder: a link of theirs is not followed.
        with contextlib.suppress(OSError):
            if not folder.is_symlink() and folder.is_dir() and (uid is None or folder.lstat().st_uid == uid):
                yield folder


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
