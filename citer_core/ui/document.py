"""`PageDocument`: what the page says in its own document, before gradio's script has put anything there.

gradio carries `head` in its configuration and adds it when its script runs: sheets, preloads and our script's address
would come a second late on a phone. Here they stand in the document, and with them the opening run's text, which is
read while the page is on its way. `PagePolicy` asks for it with each document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from citer_core.assets import ASSETS
from citer_core.joined_script import JoinedScript
from citer_core.ui.gradio_files import GradioFiles

_SOCIAL = re.compile(rb'\s*<meta\s+(?:property|name)="(?:og|twitter):[^>]*>')
_BEFORE_ALL = re.compile(rb"<base\b[^>]*>|<head>(?![\s\S]*<base\b)")
_PAGE = b"<gradio-app"
_GRADIO_SHEET = re.compile(rb'<link rel="stylesheet" crossorigin href="(\./assets/[^"]+)">')
_GRADIO_SCRIPT = re.compile(rb'<script type="module" crossorigin src="(\./assets/[^"]+)">\s*</script>')
_GRADIO_THEME = re.compile(rb'"theme_hash":\s*"(\w+)"')
_LOGIN = re.compile(rb'"auth_required":\s*true')


@cache
def _early_script() -> str:
    return JoinedScript.of(ASSETS / "page" / "early.js").text


class PageDocument:
    """Changes gradio's document.

    Args:
        head: of ours, markup. Addresses in it are relative to the page.
        run: of the text that is there at once, as `opening_text` makes it; None leaves it out.
        later: addresses of sheets that this text does not need.
        files: of gradio's, that its scripts will ask for; None leaves them to it.
    """

    def __init__(self, head: str, run: str | None, later: Sequence[str] = (), files: GradioFiles | None = None) -> None:
        self._head = head.encode()
        self._later = [address.encode() for address in later]
        self._gradio_later = [files.url.encode()] if files and files.sheets else []
        names = files.data() if files else ""
        data = f'<script type="application/json" id="cx-early-run">{run}</script>'
        # No module: those run in the document's order, which is after gradio's.
        script = f"<script>(() => {{\n{_early_script()}}})();</script>"
        self._text = b"" if run is None else (names + data + script).encode()

    def __call__(self, document: bytes) -> bytes:
        """The document with both in it; one that asks for a password says nothing of ours. A chapter stays as it is."""
        if _PAGE not in document:
            return document
        document = _SOCIAL.sub(b"", document)  # gradio's, which name gradio
        if _LOGIN.search(document):
            return document
        document = _BEFORE_ALL.sub(lambda found: found.group() + self._head, document, count=1)
        if not self._text:
            sheets = b"".join(b'<link rel="stylesheet" href="%s">' % address for address in self._later)
            return document.replace(b"</head>", sheets + b"</head>", 1)
        # gradio's script and sheets hold back the text, which needs none of them: `early.js` puts them in force.
        document = _GRADIO_SCRIPT.sub(rb'<link rel="modulepreload" crossorigin href="\1" data-begins>', document)
        own = _sheets_for_later(self._gradio_later)  # before the theme's and ours, which have the last word
        if (theme := _GRADIO_THEME.search(document)) and self._gradio_later:
            own += b'<link rel="preload" as="style" href="theme.css?v=%s">' % theme.group(1)
        document = _GRADIO_SHEET.sub(
            rb'<link rel="preload" as="style" crossorigin href="\1" data-later>' + own, document
        )
        return document.replace(b"</body>", _sheets_for_later(self._later) + self._text + b"</body>", 1)


def _sheets_for_later(addresses: Sequence[bytes]) -> bytes:
    return b"".join(b'<link rel="preload" as="style" href="%s" data-later>' % address for address in addresses)
