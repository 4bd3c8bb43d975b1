"""The page's own modules as one script: one request instead of one for each module, level after level of imports.

Over a network each level costs a round trip before anything is on the screen. An import map leads every module's
address to the joined script, so that modules which are loaded later (a tab, the tour) share what is there already.
gradio's script puts the map into the document when others run already; a browser that takes no map so late loads the
modules one by one, and the page is the same.
"""

from __future__ import annotations

import hashlib
import html
import json
import tempfile
from pathlib import Path

from citer_core.joined_script import JoinedScript
from citer_core.ui.viewer import file_url

ENTRY = "viewer/page.js"


class PageScript:
    """The joined script in a folder of its own, which lasts until `remove`.

    Args:
        assets: where the modules are.
    """

    def __init__(self, assets: Path) -> None:
        joined = JoinedScript.of(assets / ENTRY, file_url)
        self._folder = tempfile.TemporaryDirectory(prefix="citer-page-", ignore_cleanup_errors=True)
        self.folder, self.remove = Path(self._folder.name).resolve(), self._folder.cleanup
        # The name says what is in it: a browser may keep what it has, and never keeps what is old.
        digest = hashlib.sha256(joined.module_text.encode()).hexdigest()[:12]
        path = self.folder / f"page-{digest}.js"
        path.write_text(joined.module_text, encoding="utf-8")
        self._url = file_url(path)
        self._modules = [file_url(module) for module in joined.modules]

    def head(self) -> str:
        """What goes into the document's head."""
        # An address in an import map has to begin with a dot or a slash, and these are relative to the document.
        import_map = {"imports": {f"./{module}": f"./{self._url}" for module in self._modules}}
        text = json.dumps(import_map).replace("<", "\\u003c")
        preload = f'<link rel="modulepreload" href="{html.escape(self._url)}">'
        return f'<script type="importmap">{text}</script>{preload}'
