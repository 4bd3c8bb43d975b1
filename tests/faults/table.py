"""The fault table of `assets/docs/faults.md`, as rows: what the tests of this folder are checked against.

In its second column what a person reads stands in quotation marks, with `…` for what differs from case to case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "assets" / "docs" / "faults.md"
HEAD = ["what happened", "what the person saw", "what was lost", "how it went on", "test"]
PLACE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@dataclass(frozen=True)
class FaultRow:
    """One row.

    Attributes:
        what, saw, lost, then: its cells.
        file, test: of the test, the file from the repository's root.
    """

    what: str
    saw: str
    lost: str
    then: str
    file: str
    test: str

    @property
    def words(self) -> list[str]:
        """What is quoted of what was to be read."""
        return re.findall(r"“(.+?)”", self.saw)

    def said(self, *texts: str) -> None:
        """Fails unless everything that the table quotes was said, in any of `texts`; and no traceback."""
        everything = "\n".join(texts)
        assert "Traceback" not in everything, everything
        flat = " ".join(everything.split())
        for words in self.words:
            pattern = ".*?".join(re.escape(part.strip()) for part in words.split("…"))
            assert re.search(pattern, flat), f"not said: {words}\nbut: {everything}"


def read_table() -> list[FaultRow]:
    """All rows, of every section."""
    rows = []
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells == HEAD or set(line) <= set("|- "):
            continue
        if len(cells) != len(HEAD):
            continue  # the table of exit codes
        place = PLACE.fullmatch(cells[-1])
        assert place, f"no test in: {line}"
        rows.append(FaultRow(*cells[:-1], *place.groups()))
    return rows
