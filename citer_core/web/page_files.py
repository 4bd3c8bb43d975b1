"""`PageFiles`: the files that the page is made of, under addresses of our own: `citer/assets/VERSION/FOLDER/NAME`.

Relative to the document, so that they work under a proxy's path, and without a path of this machine. VERSION is a hash
of what is in them: a browser may keep them for ever, every replica has the same, and no module meets an older one.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

FOR_EVER = "public, max-age=31536000, immutable"
ROOT = "citer/assets"
TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json",
    ".md": "text/markdown", ".png": "image/png", ".jsonl": "application/jsonl",
    ".safetensors": "application/octet-stream",
}  # fmt: skip


class PageFiles:
    """Files that browsers may have, and no others: what is not there when it is made is not served.

    Args:
        places: a folder, all of whose files are served, or a single file; each by the name that it has in addresses.
            Folders below are not served.
    """

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._files: dict[str, Path] = {}
        self._names: dict[Path, str] = {}
        for place, path in places.items():
            found = sorted(path.iterdir()) if path.is_dir() else [path]
            for file in found:
                if file.suffix in TYPES and file.is_file():
                    name = f"{place}/{file.name}"
                    self._files[name] = file
                    self._names[file.resolve()] = name
        self._version = self._hash()

    def _hash(self) -> str:
        # These files are not forged, so a checksum tells one state from another; it costs a tenth of SHA-256 of 8 MB.
        digest = hashlib.sha256()
        for name, file in self._files.items():
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0{zlib.crc32(content)}\0".encode())
        return digest.hexdigest()[:12]

    @property
    def root(self) -> str:
        """The address, relative to the page, that all of them begin with."""
        return f"{ROOT}/{self._version}"

    def url(self, file: Path) -> str:
        """The address of a file, relative to the page.

        Raises:
            KeyError: it is not served.
        """
        return f"{self.root}/{quote(self._names[file.resolve()])}"

    def route(self) -> Route:
        """Answers for all of them."""
        return Route(f"/{ROOT}/{{version}}/{{name:path}}", self._answer)

    async def _answer(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        # An address of an older version is a page from before an update: it gets the new file, but does not keep it.
        is_current = request.path_params["version"] == self._version
        headers = {"Cache-Control": FOR_EVER if is_current else "no-store"}
        return FileResponse(file, media_type=TYPES[file.suffix], headers=headers)
