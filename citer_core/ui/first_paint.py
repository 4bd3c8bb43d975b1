"""What the document says so that the first screen comes soon and in one piece."""

from __future__ import annotations

import json
import logging
from html import escape
from pathlib import Path

from citer_core.errors import TraceError
from citer_core.recording import read_probe
from citer_core.replay import replay
from citer_core.trace import RoutingTrace

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
    return json.dumps(run, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
