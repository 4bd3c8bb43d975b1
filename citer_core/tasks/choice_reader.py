r"""Which choice of a multiple-choice question a text names.

The grammar. First every place where a choice is named becomes a mark: its label in brackets, its text, its label and
its text, its label alone where a sentence allows it. A text counts as a whole word, the longer before the shorter, in
its own letter case before any other: 5 is not in 0.5, house not in bathhouse; spaces around operators do not count. A
label behind a text decides. What is negated is no mark; two choices joined by "or", "and", "/", or a text that two
choices share, are one mark of no choice.

Then an answer is looked for at what announces it, the last announcement first: behind "answer is", "the correct option
is", `<answer>`, `\boxed{`; before "is correct"; behind "therefore", "thus", "hence", "choose", "I think". The mark
right behind it counts, articles and quotes passed over, else the first label of the paragraph, else the first text;
behind "therefore" and its like a text in mid-sentence counts only if nothing else was found. A number that is no
choice is no answer. Without any announcement the text must be a choice as a whole, or its first or last line must be,
or it begins or ends with a label, or ends with a choice behind "is".

Mirrored by `assets/tasks/choice_reader.js`. Knows nothing about problems; never raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from citer_core.tasks import answer_patterns as table
from citer_core.tasks.plain_text import clean, fold, plainer

_PATTERN = {
    name: re.compile(pattern) for name, pattern in vars(table).items() if name.isupper() and isinstance(pattern, str)
}
# Of a text of any length the end is read.
_MOST_CHARS = 10_000
_NEAR_CHARS = 20


class ChoiceReader:
    """Reads texts about one question's choices, (label, text) pairs."""

    def __init__(self, choices: Sequence[tuple[str, str]]) -> None:
        self._names = [label for label, _ in choices]
        self._labels = {fold(clean(label)): i for i, label in enumerate(self._names)}
        keys = [_key(text) for _, text in choices]
        folded = [fold(key) for key in keys]
        self._texts = {key: table.NO_CHOICE if keys.count(key) > 1 else table.TEXT + i for i, key in enumerate(keys)}
        # A letter alone keeps its case, and so do texts that only their case tells apart; 12 has none.
        self._folded = {
            key: table.TEXT + i
            for i, key in enumerate(folded)
            if folded.count(key) == 1 and key.upper() != key.lower() and not (len(key) == 1 and key.isalpha())
        }

    def label(self, completion: str) -> str | None:
        """The label of the choice that `completion` names; None for none, or for two at once."""
        written = _PATTERN["NEW_QUESTION"].split(completion.strip(), maxsplit=1)[0].strip()[-_MOST_CHARS:]
        marked, lines = self._marked(written), written.splitlines()
        mark = self._announced(marked) or self._whole(
            [marked] if len(lines) == 1 else list(map(self._marked, _ends(lines)))
        )
        return None if not mark or ord(mark) == table.NO_CHOICE else self._names[ord(mark) & 0x3FF]

    def _announced(self, marked: str) -> str | None:
        concluded = ""
        for cue in reversed(list(_PATTERN["CUE"].finditer(marked))):
            if mark := cue[3] or cue[4]:
                return mark
            paragraph = marked[cue.end() :].strip(" \n:").split("\n", 1)[0]
            if found := _PATTERN["FIRST" if cue[1] else "FIRST_LABEL"].search(paragraph):
                return found[0]
            if cue[1] and _PATTERN["NUMERIC"].match(paragraph):
                return chr(table.NO_CHOICE)
            concluded = concluded or (paragraph if cue[2] is None else "")
        found = _PATTERN["FIRST"].search(concluded)
        return found[0] if found else chr(table.NO_CHOICE) if concluded else None

    def _whole(self, ends: list[str]) -> str | None:
        """What the first or the last line is as a whole, or begins or ends with; of marked lines."""
        found = [_PATTERN["WHOLE"].match(line) for line in ends]
        if len(ends) == 1:
            found.append(_PATTERN["AT_THE_START"].match(ends[0]))
        if ends:
            found.append(_PATTERN["AT_THE_END"].search(ends[-1]))
        marks = {ord(match[1]) & 0x3FF: match[1] for match in found if match}
        return next(iter(marks.values())) if len(marks) == 1 else None

    def _marked(self, written: str) -> str:
        """The cleaned text in lower case, with one mark for every choice that it names."""
        text = plainer(clean(written))
        folded = fold(text)
        spots = [(*match.span(), table.LABEL + self._labels[match[1]])
                 for match in _PATTERN["BRACKETED"].finditer(folded) if match[1] in self._labels]  # fmt: skip
        for searched, texts in ((text, self._texts), (folded, self._folded)):
            for key, mark in texts.items():
                written_key, found = _written(key), 0
                while match := written_key.search(searched, found):
                    start, end = match.span()
                    if _is_whole(text[max(0, start - _NEAR_CHARS) : start], text[end : end + _NEAR_CHARS]):
                        spots.append((start, end, mark))
                    found = start + 1
        announced = {i for match in _PATTERN["STATED"].finditer(folded) for i in range(*match.span())}
        pieces, at = list[str](), 0
        for start, end, mark in sorted(spots, key=lambda spot: (spot[0], -spot[1])):
            if start >= at and start not in announced:
                pieces += folded[at:start], chr(mark)
                at = end
        marked = _PATTERN["WITH_OWN_TEXT"].sub(self._with_own_text, "".join([*pieces, folded[at:]]))
        marked = _PATTERN["LABEL_ALONE"].sub(self._label_alone, marked)
        marked = _PATTERN["NEGATED"].sub(r"\1", _PATTERN["WITH_LABEL"].sub(r"\1", marked))
        return _PATTERN["JOINED"].sub(_joined, marked)

    def _with_own_text(self, match: re.Match[str]) -> str:
        i = self._labels.get(match[1])
        return chr(table.LABEL + i) if i is not None and ord(match[2]) == table.TEXT + i else match[0]

    def _label_alone(self, match: re.Match[str]) -> str:
        i = self._labels.get(match[1])
        return match[0] if i is None else chr(table.BARE + i)


def _ends(lines: list[str]) -> list[str]:
    return lines[:1] + lines[1:][-1:]


def _joined(match: re.Match[str]) -> str:
    return match[1] if ord(match[1]) & 0x3FF == ord(match[2]) & 0x3FF else chr(table.NO_CHOICE)


def _key(text: str) -> str:
    plain = plainer(clean(text)).replace("\n", "").strip()
    return plain.rstrip(".,;").strip("\"'") or plain


@lru_cache(maxsize=1000)  # the same choices are looked for in every text about them
def _written(key: str) -> re.Pattern[str]:
    """Finds a choice's text, in itself too, with or without spaces around its operators."""
    return re.compile(" ?".join(re.escape(part) for part in _PATTERN["OPERATOR"].split(key) if part))


@lru_cache(maxsize=1000)  # a text in which a choice stands a thousand times has few surroundings
def _is_whole(before: str, behind: str) -> bool:
    """Is it no part of a word or a sum, between these characters?"""
    if not _PATTERN["BEFORE"].search(before) or _PATTERN["SUM_BEFORE"].search(before):
        return False
    return bool(_PATTERN["BEHIND"].match(behind))
