"""One-file pages: the viewer with one run in it, which opens from a disk and asks no server for anything.

The browser's modules are joined into one inline script (`joined_script`). Standard library only. Called by the page
(which fills in the run that is on the screen) and by `python -m citer_core gallery`.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.assets import ASSETS
from citer_core.joined_script import JoinedScript
from citer_core.trace import RoutingTrace

ENTRY = ASSETS / "share" / "offline.js"
STYLES = (ASSETS / "share" / "offline.css", ASSETS / "viewer" / "viewer.css")
TRACE_PLACE, VIEW_PLACE = "CITER-TRACE-GOES-HERE", "CITER-VIEW-GOES-HERE"


def offline_template() -> str:
    """The one-file page without its trace, which goes where `TRACE_PLACE` stands, and what is kept beside it.

    Its own policy allows this one script, by its hash, and no request at all: even if a text of a run got where it must
    not, nothing would come of it.
    """
    script = f"\n{JoinedScript.of(ENTRY).text}\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src blob: data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A routed answer · CITER</title>
<link rel="icon" href="data:,">
<style>
{_styles()}
</style>
</head>
<body>
<main id="citer-offline"></main>
<script type="application/json" id="citer-trace">{TRACE_PLACE}</script>
<script type="application/json" id="citer-view">{VIEW_PLACE}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def offline_page(trace: RoutingTrace, template: str | None = None) -> str:
    """The one-file page of a run; `template` spares joining the modules again."""
    before, after = (template or offline_template()).replace(VIEW_PLACE, "null").split(TRACE_PLACE)
    # Nothing in a run can end the element that holds it: there is no `<` left.
    return before + trace.to_json().replace("<", "\\u003c") + after


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """One page of a gallery: its file name and the run that it shows."""

    file: str
    trace: RoutingTrace


def gallery_index(entries: Sequence[GalleryEntry]) -> str:
    """The page that lists a gallery's runs: plain HTML without any script."""
    cards = "\n".join(map(_card, entries))
    return f"""<!doctype html>
<html lang="en" class="co-auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>CITER: recorded runs</title>
<link rel="icon" href="data:,">
<style>
{STYLES[0].read_text(encoding="utf-8")}
</style>
</head>
<body>
<main>
<h1>CITER: two models write one answer</h1>
<p class="co-small">A small model writes. Where a router expects it to fail, a large one writes the token. Each
run below was recorded token by token; open one to play it, to see why each writer was chosen, and to move the
threshold.</p>
<ul class="co-cards">
{cards}
</ul>
</main>
</body>
</html>
"""


def _card(entry: GalleryEntry) -> str:
    trace = entry.trace
    verdict = {True: "answer right", False: "answer wrong", None: ""}[trace.answer.is_correct if trace.answer else None]
    facts = [
        f"{trace.n_tokens} tokens",
        f"{trace.llm_token_share:.0%} by the LLM",
        f"τ {trace.settings.threshold:g}",
        verdict,
        trace.record.date,
    ]
    question = " ".join(trace.prompt.question.split())
    shown = question if len(question) <= 140 else f"{question[:139]}…"
    width = round(100 * trace.llm_token_share)
    return (
        f'<li><a href="{html.escape(entry.file)}"><span class="co-card-title">{html.escape(title_of(trace))}</span>'
        f'<span class="co-card-text">{html.escape(shown)}</span>'
        f'<span class="co-card-text">{html.escape(" · ".join(filter(None, facts)))}</span>'
        f'<span class="co-bar" aria-hidden="true"><span style="width:{width}%"></span></span></a></li>'
    )


def title_of(trace: RoutingTrace) -> str:
    """What a run is called: its title, or the beginning of its question."""
    return trace.title or " ".join(trace.prompt.question.split())[:60] or "A routed answer"


def _styles() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in STYLES)
