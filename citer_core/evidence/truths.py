"""What labels without answers are worth: routers of a few problems, by whose text is labelled. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citer_core.evaluation.metrics import unpack
from citer_core.evidence.claim import Claim, FigureRow, Finding, Stored, figures
from citer_core.evidence.regime import Difference, of_seeds

LABELLED = {
    "gold": "the data set's solutions",
    "llm": "the LLM's own text",
    "walk": "AutoJudge's search",
}
AT_SHARE = 0.05  # of LLM tokens, at which they are compared


def cells(entry: Mapping[str, Any]) -> dict[tuple[str, int, float], list[Any]]:
    """Right answers, [n] bool of each seed, by whose text, labelled problems and share of LLM tokens."""
    found: dict[tuple[str, int, float], list[Any]] = {}
    for point in entry["points"]:
        key = point["truth"], point["n_labelled"], point["share_wanted"]
        found.setdefault(key, []).append(unpack(point["right"], entry["n"]))
    return found


def answered(stored: Stored) -> Claim:
    """Whether labels need answers."""
    regime, part = stored.parts["truths"]
    words, rows, less = list[str](), list[FigureRow](), dict[str, list[Difference]]()
    for kind, entry in part.content.items():
        found = cells(entry)
        rows += [
            FigureRow.of(f"{kind}, {LABELLED[truth]}", f"{size} problems", of_seeds(right), entry["n"])
            for (truth, size, share), right in found.items()
            if share == AT_SHARE
        ]
        most = max(size for _, size, _ in found)
        for truth in ("llm", "walk"):
            difference = Difference.paired(found[truth, most, AT_SHARE], found["gold", most, AT_SHARE])
            less.setdefault(truth, []).append(difference)
            words.append(f"{kind}, {LABELLED[truth]}, less gold with {most} problems: {difference}")
    return Claim(
        Finding(tuple(words), regime.title),
        " ".join(f"{_headed(LABELLED[truth])}: {_verdict(differences)}." for truth, differences in less.items()),
        part.command,
        figures((f"Right answers at {AT_SHARE:.0%} LLM tokens, routers of one format", "share", rows)),
    )


def _headed(words: str) -> str:
    """With a capital at its beginning, and the others as they are."""
    return words[0].upper() + words[1:]


def _verdict(differences: list[Difference]) -> str:
    if any(one.high < 0 for one in differences):
        return "behind" if all(one.high < 0 for one in differences) else "behind in places"
    return "ahead" if all(one.low > 0 for one in differences) else "not measurably behind"
