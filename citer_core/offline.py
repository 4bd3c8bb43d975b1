"""One-file pages: the viewer with one run in it, which opens from a disk and asks no server for anything.

The browser's modules are joined into one inline script (`joined_script`). Standard library only. Called by the page
(which fills in the run that is on the screen) and by `python -m citer_core gallery`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.assets import ASSETS
from citer_core.html_page import data_block, escaped_json, hash_of, html_page
from citer_core.joined_script import JoinedScript
from citer_core.trace import RoutingTrace

ENTRY = ASSETS / "share" / "offline.js"
STYLES = ("share/offline.css", "viewer/viewer.css")
NO_ICON = '<link rel="icon" href="data:,">'
TRACE_PLACE, VIEW_PLACE = "CITER-TRACE-GOES-HERE", "CITER-VIEW-GOES-HERE"


def offline_template() -> str:
    """The one-file page without its trace, which goes where `TRACE_PLACE` stands, and what is kept beside it.

    Its own policy allows this one script, by its hash, and no request at all: even if a text of a run got where it must
    not, nothing would come of it.
    """
    script = f"\n{JoinedScript.of(ENTRY).text}\n"
    body = f"""<main id="citer-offline"></main>
{data_block("citer-trace", TRACE_PLACE)}
{data_block("citer-view", VIEW_PLACE)}
<script type="module">{script}</script>"""
    policy = f"default-src 'none'; script-src {hash_of(script)}; style-src 'unsafe-inline'; img-src blob: data:"
    return html_page("A routed answer · CITER", f"{NO_ICON}\n{styles(STYLES)}", body, policy=policy)


def offline_page(trace: RoutingTrace, template: str | None = None) -> str:
    """The one-file page of a run; `template` spares joining the modules again."""
    before, after = (template or offline_template()).replace(VIEW_PLACE, "null").split(TRACE_PLACE)
    return before + escaped_json(trace.to_json()) + after


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """One page of a gallery: its file name and the run that it shows."""

    file: str
    trace: RoutingTrace


def gallery_index(entries: Sequence[GalleryEntry]) -> str:
    """The page that lists a gallery's runs: plain HTML without any script."""
    cards = "\n".join(map(_card, entries))
    body = f"""<main>
<h1>CITER: two models write one answer</h1>
<p class="co-small">A small model writes. Where a router expects it to fail, a large one writes the token. Each
run below was recorded token by token; open one to play it, to see why each writer was chosen, and to move the
threshold.</p>
<ul class="co-cards">
{cards}
</ul>
</main>"""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head = f"{NO_ICON}\n{styles(STYLES[:1])}"
    return html_page("CITER: recorded runs", head, body, policy=policy, about_html='class="co-auto"')


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


def styles(names: Sequence[str]) -> str:
    """Sheets as one element."""
    text = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    return f"<style>\n{text}\n</style>"
