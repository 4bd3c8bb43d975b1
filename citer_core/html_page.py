"""What every page of HTML that is made here has: its frame, its policy's hashes, and data in it. Standard library only.

Called by whatever writes a whole page: the page itself, those in one file, a gallery, chapters, the login.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def html_page(title: str, head: str, body: str, *, policy: str = "", about_body: str = "", about_html: str = "") -> str:
    """A whole document.

    Args:
        title, head, body: markup; the head without what every page has.
        policy: Content-Security-Policy, for pages that no server sends with one.
        about_body, about_html: attributes of these elements.
    """
    own = f'\n<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    return f"""<!doctype html>
<html lang="en"{about_html and f" {about_html}"}>
<head>
<meta charset="utf-8">{own}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}
</head>
<body{about_body and f" {about_body}"}>
{body}
</body>
</html>
"""


def hash_of(script: str) -> str:
    """An inline script as a page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def escaped_json(text: str) -> str:
    """JSON without `<`, so that nothing in it can end the element that holds it."""
    return text.replace("<", "\\u003c")


def as_data(value: Any) -> str:
    """JSON without `<`."""
    return escaped_json(json.dumps(value))


def data_block(name: str, text: str) -> str:
    """JSON that the page's script reads by its id; nothing in it can end the element."""
    return f'<script type="application/json" id="{name}">{text}</script>'
