"""What the site's document and the page in one file share: the view Explore, data for the script, hashes of scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from citer_core.ui.site.form import controls, tau_block


def explore(question: str, data_type: str, tau: float, cards: str = "") -> str:
    """The view Explore; `question` opens in the editor, `cards` are those of recorded runs."""
    return f"""<div id="cx-explore"><div id="cx-first"><div id="cx-hero">
<div id="cx-run"><div id="cx-viewer"><div class="cx-viewer"></div></div></div>
<div id="cx-side"><div id="cx-figures"></div>{tau_block(tau)}</div>
</div>
<div id="cx-presets">{cards}</div>
{controls(question, data_type)}
</div><div id="cx-more"></div></div>"""


def data_block(name: str, text: str) -> str:
    """JSON that the page's script reads by its id; nothing in it can end the element."""
    return f'<script type="application/json" id="{name}">{text}</script>'


def as_data(value: Any) -> str:
    """JSON without `<`."""
    return json.dumps(value).replace("<", "\\u003c")


def hash_of(script: str) -> str:
    """An inline script as a page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
