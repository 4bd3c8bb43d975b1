"""`one_file_page`: the page in one file, with a run, the bundled pair and its decoder inside. It opens from a disk,
generates there, and makes no requests.

Called by the command line, and by the page, which fills the template in by itself.
"""

from __future__ import annotations

import base64
import functools

from citer_core.assets import ASSETS
from citer_core.browser_pair import engine_script, held_files, pair_facts
from citer_core.errors import ModelFileError
from citer_core.html_page import as_data, data_block, hash_of, html_page
from citer_core.joined_script import JoinedScript
from citer_core.offline import NO_ICON, TRACE_PLACE, VIEW_PLACE, offline_page, styles
from citer_core.trace import RoutingTrace
from citer_core.ui.about_pair import told_of_bundled
from citer_core.ui.document import inline_script, inline_text, usual_props
from citer_core.ui.form import SAMPLE_QUESTION, explore
from citer_core.ui.page_assets import path_in_assets
from citer_core.ui.views import header

FILES_PLACE = "CITER-FILES-GO-HERE"
STYLES = ("viewer/viewer.css", "app/app.css")


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
    script = f"\n{JoinedScript.of(ASSETS / 'app' / 'one_file.js', path_in_assets).text}\n"
    policy = (
        f"default-src 'none'; script-src {hash_of(script)} {hash_of(inline_text('theme.js'))} 'wasm-unsafe-eval'; "
        "worker-src blob:; style-src 'unsafe-inline'; img-src blob: data:"
    )
    props = {**usual_props({**facts, "is_only": True}), **told_of_bundled({})}
    body = f"""{inline_script("theme.js")}
<div class="cx-main">
<div id="cx-header">{header(())}</div>
<main>
{explore(SAMPLE_QUESTION, "math", 0.7)}
</main>
</div>
{data_block("citer-trace", TRACE_PLACE)}
{data_block("citer-view", VIEW_PLACE)}
{data_block("cx-props", as_data(props))}
<script type="text/plain" id="cx-worker">{engine_script()}</script>
<script type="module">{script}</script>
{data_block("cx-files", FILES_PLACE)}"""
    head, about = f"{NO_ICON}\n{styles(STYLES)}", 'class="cx-page" data-drawn'
    return html_page("A routed answer that goes on · CITER", head, body, policy=policy, about_body=about)


def one_file_page(trace: RoutingTrace) -> str:
    """The whole page of a run: some megabytes (`browser_pair.one_file_bytes`)."""
    return offline_page(trace, _with_files())


@functools.cache
def _with_files() -> str:
    files = {path: base64.b64encode((ASSETS / path).read_bytes()).decode() for path in held_files()}
    before, after = one_file_template().split(FILES_PLACE)
    return before + as_data(files) + after
