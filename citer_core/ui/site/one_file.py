"""`one_file_page`: the page in one file, with a run, the bundled pair and its decoder inside. It opens from a disk,
generates there, and asks nobody for anything.

Called by the command line, and by the page, which fills the template in by itself.
"""

from __future__ import annotations

import base64
import functools
from pathlib import Path

from citer_core import __version__
from citer_core.assets import ASSETS
from citer_core.browser_pair import engine_script, held_files, pair_facts
from citer_core.errors import ModelFileError
from citer_core.joined_script import JoinedScript
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.offline import TRACE_PLACE, VIEW_PLACE, offline_page
from citer_core.trace import RoutingTrace
from citer_core.ui.controls import SAMPLE_QUESTION
from citer_core.ui.header import TAGLINE
from citer_core.ui.markup import literal
from citer_core.ui.pricing import price_list
from citer_core.ui.site.markup import as_data, data_block, explore, hash_of

FILES_PLACE = "CITER-FILES-GO-HERE"
SITE = ASSETS / "site"
STYLES = ("viewer/viewer.css", "page/page.css", "site/site.css")
_HEADER = """
<header class="cx-header">
  <h1 class="cx-name" title="{tagline}" aria-label="CITER"><span>CIT</span><span class="cx-llm">ER</span></h1>
  <p class="cx-tagline">{tagline}</p>
  <button type="button" class="cx-tool" id="cx-menu" aria-expanded="false" aria-controls="cx-menu-list">Menu</button>
  <div class="cx-menu" id="cx-menu-list">
    <div class="cx-tools">
      <button type="button" class="cx-tool" id="cx-size" aria-label="Text size">A+</button>
      <button type="button" class="cx-tool" id="cx-theme" aria-label="Dark theme" aria-pressed="false">◐</button>
      <span class="cx-version" title="The version of this page">v{version}</span>
    </div>
  </div>
</header>
"""


@functools.cache
def one_file_template() -> str:
    """The page without its run, which goes where `TRACE_PLACE` stands, and without the files, for `FILES_PLACE`.

    Its policy allows its own scripts, by their hashes, the worker that it makes of its own text, and no request at all.

    Raises:
        ModelFileError: the pair's files or a script are damaged.
    """
    facts = pair_facts("./", "")
    if facts is None:
        raise ModelFileError("The bundled pair's files or their card are damaged: install again.")
    script = f"\n{JoinedScript.of(SITE / 'one_file.js', _url).text}\n"
    theme = (SITE / "theme.js").read_text(encoding="utf-8")
    styles = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in STYLES)
    policy = (
        f"default-src 'none'; script-src {hash_of(script)} {hash_of(theme)} 'wasm-unsafe-eval'; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src blob: data:"
    )
    props = {
        "value": "", "pair": PRESETS[EMBEDDED].title, "has_cards": False, "pricing": price_list(),
        "browser_pair": {**facts, "is_only": True},
    }  # fmt: skip
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A routed answer that goes on · CITER</title>
<link rel="icon" href="data:,">
<style>
{styles}
</style>
</head>
<body class="gradio-container" data-drawn>
<script>{theme}</script>
<div class="cx-site">
<div id="cx-header">{_HEADER.format(tagline=literal(TAGLINE), version=__version__)}</div>
<main>
{explore(SAMPLE_QUESTION, "math", 0.7)}
<div id="cx-tabs"><button type="button" hidden id="cx-tab-explore-button"></button></div>
</main>
</div>
{data_block("citer-trace", TRACE_PLACE)}
{data_block("citer-view", VIEW_PLACE)}
{data_block("cx-props", as_data(props))}
<script type="text/plain" id="cx-worker">{engine_script()}</script>
<script type="module">{script}</script>
{data_block("cx-files", FILES_PLACE)}
</body>
</html>
"""


def one_file_page(trace: RoutingTrace) -> str:
    """The whole page of a run: some megabytes (`browser_pair.one_file_bytes`)."""
    return offline_page(trace, _with_files())


@functools.cache
def _with_files() -> str:
    files = {path: base64.b64encode((ASSETS / path).read_bytes()).decode() for path in held_files()}
    before, after = one_file_template().split(FILES_PLACE)
    return before + as_data(files) + after


def _url(path: Path) -> str:
    return path.resolve().relative_to(ASSETS.resolve()).as_posix()
