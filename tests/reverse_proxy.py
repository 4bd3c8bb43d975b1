"""A real nginx in front of servers of ours, with the configuration that assets/docs/publish.md shows.

Found on PATH or in /usr/sbin, else installed as Debian's package where we are root and have apt-get.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

CHAPTER = Path(__file__).parents[1] / "assets" / "docs" / "publish.md"
INSTALL_TIMEOUT_S = 300
NAME = "citer.example.org"


def find_nginx() -> str | None:
    """The executable, installed if need be; None where it cannot be had."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    found = shutil.which("nginx", path=path)
    if found is None and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for step in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "nginx-light"]):
            command = ["apt-get", *step]
            subprocess.run(command, check=False, capture_output=True, timeout=INSTALL_TIMEOUT_S, env=environment)
        found = shutil.which("nginx", path=path)
    return found


def block(language: str) -> str:
    """The code block of the chapter that is marked with a language."""
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", CHAPTER.read_text(encoding="utf-8"), re.M | re.S)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return str(found[0])


class Nginx:
    """nginx in the foreground, on a port of this machine; a context manager."""

    def __init__(self, executable: str, folder: Path, port: int, backends: Sequence[int], *, sticky: bool) -> None:
        self._executable, self._folder, self._port = executable, folder, port
        site = block("nginx")
        if sticky:
            site = re.sub(r"^upstream .*?^}\n", block("nginx-replicas"), site, count=1, flags=re.M | re.S)
        site, n_ports = re.subn(r"listen 80;", f"listen 127.0.0.1:{port};", site)
        # The host has an icon of its own, for which browsers look before they have read a page.
        own = "server_name 127.0.0.1;\n    location = /favicon.ico { return 204; }"
        site, n_names = re.subn(rf"server_name {re.escape(NAME)};", own, site)
        for number, backend in enumerate(backends):
            site, n_backends = re.subn(rf"127\.0\.0\.1:{7860 + number}\b", f"127.0.0.1:{backend}", site)
            assert n_backends == 1
        assert n_ports == n_names == 1
        temporary = "".join(
            f"{what}_temp_path {folder}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        # Workers run as this user, who owns the folder; root's would change to a user who may not enter it.
        user = "user root;\n" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(
            f"{user}daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{\nlog_format who '$remote_addr $upstream_addr $request_uri $status';\n"
            f"access_log {folder}/access.log who;\n{temporary}{site}}}\n",
            encoding="utf-8",
        )
        self.url = f"http://127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Nginx:
        command = [self._executable, "-c", str(self._folder / "nginx.conf"), "-p", str(self._folder)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            try:
                httpx.get(f"{self.url}/nothing-here", timeout=5, verify=False)
                return self
            except httpx.TransportError:
                assert self._process.poll() is None and time.monotonic() < deadline, self.errors()
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(10)

    def asked(self) -> list[tuple[str, str]]:
        """Of every request that has ended, who asked and which backend answered, `-` where none did."""
        lines = (self._folder / "access.log").read_text(encoding="utf-8").splitlines()
        return [(words[0], words[1]) for words in map(str.split, lines)]

    def errors(self) -> str:
        """What it has complained of."""
        log = self._folder / "error.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""
