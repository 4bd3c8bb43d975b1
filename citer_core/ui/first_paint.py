"""What the document's head says so that the first screen comes soon and in one piece."""

from __future__ import annotations

from citer_core.ui.markup import literal

# The parts are drawn one by one: they are seen together, with the run in them, when `page.js` says so. Where that
# script does not come, after a while; once it has begun (`data-drawing`) it always comes to that, however slow the
# machine is, and what is seen earlier would jump. In the document: a sheet may come later than the first part.
SEEN_TOGETHER = (
    "<style>body:not([data-drawn]) :is(#cx-explore, footer, .wrap.full.translucent) "
    "{ visibility: hidden; animation: cx-seen 0s 10s forwards; } "
    "body[data-drawing]:not([data-drawn]) :is(#cx-explore, footer, .wrap.full.translucent) { animation: none; } "
    "@keyframes cx-seen { to { visibility: visible; } }</style>"
)


def preload_of(url: str) -> str:
    """Has the browser fetch a file that the page's script will ask for, while that script is still on its way."""
    return f'<link rel="preload" as="fetch" crossorigin href="{literal(url)}">'
