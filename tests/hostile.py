"""500 texts that try to be more than text: markup, templates, formulas, control characters, directions, joiners.

python -m tests.hostile      # prints them as JSON, for the tests in node
"""

from __future__ import annotations

import json
import random

N_STRINGS = 500
_PIECES = (
    "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=2>",
    "</script><script>window.hacked=3</script>",
    "<!--", "-->", "<svg onload=window.hacked=4>", '"><b>', "'&lt;", "&amp;", "<style>*{display:none}</style>", "]]>",
    "${window.hacked=5}", "{{value}}", "{{{value}}}", "`${1+1}`", "{%if%}", "<%= 1 %>", "#{1}", "$&", "$1", "$`",
    "$\\boxed{12}$", "\\frac{1}{2}", "$$x^2$$", "\\(a\\)", "\\u003c", "\\n", "=SUM(A1)", "+1", "-1",
    "@cmd", '"', ",", "\\",
    "\x00", "\x07", "\x08", "\t", "\n", "\r", "\x1b[31m", "\x7f", "\x85", "\x9f",
    "\u2028", "\u2029", "\ufeff", "\ufffe",
    "\u202eabc\u202c", "\u2066x\u2069", "שלום", "مرحبا", "\u200f", "\u061c", "नमस्ते", "ก็", "e\u0301\u0327", "Z̸̢̛̺",
    "\u200b", "\u200c", "\u200d", "\u00ad", "\u2060", "\u3164", "\u00a0", "\u3000", "  ", " ",
    "🎉", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "👍🏽", "\ufe0f", "漢字", "A" * 120, "javascript:alert(1)", "file:///etc/passwd",
)  # fmt: skip


def hostile_strings(n: int = N_STRINGS, seed: int = 7) -> list[str]:
    """The same `n` different strings every time; the first ones are the pieces themselves."""
    chance = random.Random(seed)
    strings = list(_PIECES)
    seen = set(strings)
    while len(strings) < n:
        text = "".join(chance.choice(_PIECES) for _ in range(chance.randint(2, 4)))
        if text not in seen:
            seen.add(text)
            strings.append(text)
    return strings[:n]


if __name__ == "__main__":
    print(json.dumps(hostile_strings()))
