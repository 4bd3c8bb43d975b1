"""Text that a model wrote, with one way of writing what can be written in many: spaces, digits, brackets, LaTeX.

Knows nothing about problems or answers. Mirrored by `assets/tasks/plain_text.js`; both read the table of
`answer_patterns`.
"""

from __future__ import annotations

import re
import unicodedata

from citer_core.tasks.answer_patterns import CLEANED, PLAINER, WRAP

_CLEANED = [(re.compile(pattern), by.replace("\\", r"\\")) for pattern, by in CLEANED]
_WRAP = re.compile(WRAP)
_PLAINER = [(re.compile(pattern), by.replace("$", "\\")) for pattern, by in PLAINER]
_FRACTION_SIGN = re.compile("(?=[\u00bc-\u00be\u2150-\u215e])")
_COMPATIBLE = re.compile("[\u00bc-\u00be\u2150-\u215e\uff01-\uff5e]")
_DIGIT = re.compile(r"[^\D0-9]")
_BLANK_LINES = re.compile(r"[^\S\n]*\n[^\S\n]*\n\s*")
_SPACE = re.compile(r"[^\S\n]+|(?<!\n)\n(?!\n)")


def clean(text: str) -> str:
    r"""`text` in one spelling: straight quotes, ASCII digits and brackets, plain spaces, no `$`, `\(` or `\left`.

    A blank line becomes ` \n `; every other white space one space. Marks of LaTeX that set a font stay: `unwrapped`.
    """
    text = _FRACTION_SIGN.sub(" ", text)
    text = _COMPATIBLE.sub(lambda char: unicodedata.normalize("NFKC", char[0]).replace("\u2044", "/"), text)
    text = _DIGIT.sub(lambda char: str(int(char[0])), text)
    # So that every character has one counterpart in upper and in lower case: ß becomes ss.
    text = "".join(c if c.isascii() or len(c.upper()) == len(c.lower()) == 1 else c.upper().lower() for c in text)
    text = _SPACE.sub(" ", _BLANK_LINES.sub("\n\n", text)).replace("\n\n", " \n ")
    for pattern, by in _CLEANED:
        text = pattern.sub(by, text)
    return text.strip(" \n")


def unwrapped(text: str) -> str:
    r"""Without the commands that only set a font: `\text{C}` is `{C}`."""
    return _WRAP.sub("", text)


def plainer(text: str) -> str:
    r"""`clean` text as a choice is written without LaTeX: `\frac{3}{2}` is 3/2, `x^{2}` x^2, `\text{C}` C."""
    for pattern, by in _PLAINER:
        text = pattern.sub(by, text)
    return unwrapped(text)


def fold(text: str) -> str:
    """`clean` text without letter case, as long as it was."""
    return text.upper().lower().replace("\u03c2", "\u03c3")
