"""Text into gr.HTML templates, which are evaluated in the browser: nothing that we insert may be taken for code.

A template passes through Handlebars (`{{...}}`) and then through a JavaScript template string (`${...}`, back-ticks),
so escaping for HTML alone leaves two ways in. Token text never comes this way at all; see `assets/viewer`.
"""

from __future__ import annotations

import html

_CODE = str.maketrans({"$": "&#36;", "`": "&#96;", "{": "&#123;", "}": "&#125;", "\\": "&#92;"})


def literal(text: object) -> str:
    """`text` for an element or a quoted attribute of a template, shown exactly as it is."""
    return html.escape(str(text), quote=True).translate(_CODE)
