r"""Finds the final answer in `\boxed{}`: one pass over the braces, because a regular expression cannot count.

Knows nothing about problems; reads solutions and completions alike.
"""

from __future__ import annotations

import re

# A run of backslashes, perhaps with an opening box behind it, or a brace; models also write `\\boxed`. Possessive: a
# long run is read once.
_MARK = re.compile(r"(?P<escape>\\++)(?:boxed\s*+(?P<box>\{))?|[{}]")


def last_boxed(text: str) -> str | None:
    r"""The content of the last balanced, non-empty `\boxed{}` of `text`, stripped; None where there is none.

    A box that was cut off by the token limit has no content that could be trusted, and an empty one is usually the
    instruction repeated; both are passed over. Of two boxes in each other the inner one counts.
    """
    found: tuple[int, str] | None = None
    starts: list[int | None] = []  # of each open brace: where its content begins, if it is a box's
    position = 0
    while match := _MARK.search(text, position):
        position = match.end()
        if match["box"]:
            starts.append(position)
        elif match["escape"]:
            position += len(match["escape"]) % 2  # pairs escape each other, the odd one what follows: `\\{` is no brace
        elif match[0] == "{":
            starts.append(None)
        elif match[0] == "}" and starts:
            start = starts.pop()
            if start is None or (found and found[0] > start):
                continue
            if content := text[start : match.start()].strip():
                found = start, content
    return found[1] if found else None
