"""What the document's head says so that the first screen comes soon and in one piece."""

from __future__ import annotations

from citer_core.ui.markup import literal

# The parts are drawn one by one: they are seen together, with the run in them, when `page.js` says so. Where that
# script does not come, after a while; once it has begun (`data-drawing`) it always comes to that, however slow the
# machine is, and what is seen earlier would jump. In the document: a sheet may come later than the first part.
_SEEN_TOGETHER = (
    "body:not([data-drawn]) :is(#cx-explore, footer, .wrap.full.translucent) "
    "{ visibility: hidden; animation: cx-seen 0s 10s forwards; } "
    "body[data-drawing]:not([data-drawn]) :is(#cx-explore, footer, .wrap.full.translucent) { animation: none; } "
    ".cx-header { visibility: hidden; animation: cx-seen 0s 10s forwards; } "
    "@keyframes cx-seen { to { visibility: visible; } }"
)
# The page's frame. Gradio's own has other margins: where our sheets came after it, all of the page moved by them.
_FRAME = (
    ".gradio-container.gradio-container { max-width: none; width: 100%; margin: 0; padding: 0; } "
    ".gradio-container.gradio-container .main.fillable "
    "{ padding: 0 max(56px, 50vw - 784px) 8px; max-width: none; width: 100%; } "
    "@media (max-width: 1100px) { .gradio-container.gradio-container .main.fillable { padding-inline: 32px; } } "
    "@media (max-width: 767px) { .gradio-container.gradio-container .main.fillable { padding: 0 16px 140px; } }"
)
AT_ONCE = f"<style>{_FRAME} {_SEEN_TOGETHER}</style>"


def preload_of(url: str) -> str:
    """Has the browser fetch a file that the page's script will ask for, while that script is still on its way."""
    return f'<link rel="preload" as="fetch" crossorigin href="{literal(url)}">'
