"""The page's document, for a server and for the page as files: the same but for what each host can answer.

Everything that the first screen needs is in it, so that it comes soon and in one piece: styles, the opening run's text,
what the script is to know. Addresses are relative, so that it works anywhere.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.errors import TraceError
from citer_core.html_page import as_data, data_block, escaped_json, hash_of, html_page
from citer_core.joined_script import JoinedScript
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.offline import styles
from citer_core.recording import RecordedRun, read_probe
from citer_core.replay import replay
from citer_core.trace import RoutingTrace
from citer_core.ui.form import SAMPLE_QUESTION, explore, price_list
from citer_core.ui.presets import cards_markup, opening_of
from citer_core.ui.views import View, header, panels

logger = logging.getLogger(__name__)

# The parts are drawn one by one: they are seen together, with the run in them, when `page.js` says so. Where that
# script does not come, after a while; once it has begun (`data-drawing`) it always comes to that, however slow the
# machine is, and what is seen earlier would jump. Until then the opening run's text stands there (`early.js`).
_SEEN_TOGETHER = (
    "body:not([data-drawn]) #cx-explore "
    "{ visibility: hidden; animation: cx-seen 0s 10s forwards; } "
    "body:not([data-drawn]) #cx-explore { content-visibility: hidden; } "
    "body[data-drawing]:not([data-drawn]) #cx-explore { animation: none; } "
    "body:not([data-drawing]) #cx-early { animation: cx-gone 0s 10s forwards; } "
    "@keyframes cx-gone { to { visibility: hidden; } } "
    "html:has(#cx-early) { overflow-y: scroll; } "  # as it will be, or lines would end elsewhere
    "@keyframes cx-seen { to { visibility: visible; content-visibility: visible; } }"
)

AT_ONCE = f"<style>{_SEEN_TOGETHER}</style>"


def preload_of(url: str) -> str:
    """Has the browser fetch a file that the page's script will ask for, while that script is still on its way."""
    return f'<link rel="preload" as="fetch" crossorigin href="{escape(url)}">'


def opening_text(folder: Path, file: str, *, is_probed: bool) -> str | None:
    """The tokens of the run that the page opens with, as the data that `early.js` draws; None where it is damaged.

    Args:
        folder: of the recorded runs.
        file: of the run in it.
        is_probed: there is a probe beside it.
    """
    try:
        trace = RoutingTrace.from_json((folder / file).read_bytes())
        probe = read_probe(folder, file) if is_probed else None
    except (OSError, TraceError) as error:
        logger.warning("the page opens without its text: %s", error)
        return None
    decisive = replay(trace, trace.settings.threshold, probe=probe).decisive
    tokens = [(event.text, event.source, bool(found)) for event, found in zip(trace.events, decisive, strict=True)]
    run = {"question": trace.prompt.question, "is_math": trace.prompt.data_type == "math", "tokens": tokens}
    return escaped_json(json.dumps(run, ensure_ascii=False, separators=(",", ":")))


ENTRY = ASSETS / "app" / "app.js"

STYLES = ("viewer/viewer.css", "app/app.css", "app/pairs.css")

TITLE = "CITER: two models write one answer"

DESCRIPTION = (
    "Token-level routing live: a small language model writes, a router sends the tokens where it would fail to a large "
    "one, and every token shows who wrote it, why, and what it cost."
)

_INLINE = re.compile(r'<script(?![^>]*(?: src=|json"))[^>]*>(.*?)</script>', re.DOTALL)


@cache
def inline_text(name: str) -> str:
    """The text of a script of `assets/app` that stands in the document itself."""
    return f"(() => {{\n{JoinedScript.of(ASSETS / 'app' / name).text}}})();"


def inline_script(name: str) -> str:
    """A script of `assets/app` that stands in the document itself."""
    return f"<script>{inline_text(name)}</script>"


def usual_props(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the script knows on every host; `facts` are those of `browser_pair.pair_facts`."""
    return {
        "pair": PRESETS[EMBEDDED].title,
        "pricing": price_list(),
        "browser_pair": facts,
        "comparisons": [],
        "labels": [],
        "profiles": [],
        "may_measure": False,
    }


class Document:
    """The page of one host.

    Args:
        props: what its script is told, see `PageProps` in `assets/types.d.ts`.
        views: that it has.
        content: of their panels.
        script: address of the page's script.
        import_map: leads the modules' addresses to it.
        presets: recorded runs, whose files stand below `traces`.
        traces: address of their folder.
        head: more elements of the head.
    """

    def __init__(
        self,
        props: Mapping[str, Any],
        views: Sequence[View],
        content: Mapping[str, str],
        *,
        script: str,
        import_map: str,
        presets: Sequence[RecordedRun],
        traces: str,
        head: str = "",
    ) -> None:
        opening = opening_of(list(presets))
        question, data_type = (opening.question, opening.data_type) if opening else (SAMPLE_QUESTION, "math")
        preload = "".join(preload_of(f"{traces}/{file}") for file in opening.files) if opening else ""
        early = opening_text(ASSETS / "traces", opening.file, is_probed=opening.is_probed) if opening else None
        first = f"{data_block('cx-early-run', early)}{inline_script('early.js')}" if early else ""
        self._head = f"""<meta name="description" content="{DESCRIPTION}"><meta property="og:type" content="website">
<meta property="og:title" content="{TITLE}"><meta property="og:description" content="{DESCRIPTION}">
{head}{AT_ONCE}
<link rel="modulepreload" href="{script}">{preload}
{styles(STYLES)}
<script type="importmap">{import_map}</script>
<script type="module" src="{script}"></script>"""
        self._body = f"""{inline_script("theme.js")}
<div class="cx-main">
<div id="cx-header">{header(views)}</div>
<main>
{first}
{explore(question, data_type, opening.tau if opening else 0.7, cards_markup(list(presets)))}
<div id="cx-tabs">{panels(views, content)}</div>
</main>
</div>
{data_block("cx-props", as_data(props))}"""

    @cached_property
    def text(self) -> str:
        """All of it, with a policy of its own, for hosts that send none."""
        return html_page(TITLE, self._head, self._body, policy=self.policy, about_body='class="cx-page"')

    @cached_property
    def policy(self) -> str:
        """Content-Security-Policy: no inline script but its own, by their hashes."""
        hashes = dict.fromkeys(map(hash_of, _INLINE.findall(self._head + self._body)))
        return (
            f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {' '.join(hashes)}; style-src 'self' "
            "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
            "base-uri 'self'; form-action 'self'"
        )

    @cached_property
    def body(self) -> bytes:
        """What a server sends, whose policy is a header."""
        return html_page(TITLE, self._head, self._body, about_body='class="cx-page"').encode()
