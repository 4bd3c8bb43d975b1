"""A regime of a table of `embedded matched`: the bundled pair's first edition, of which counts alone are kept."""

from __future__ import annotations

from pathlib import Path

from citer_core.errors import DatasetError, GateError
from citer_core.evidence.evaluated import ACCURACY
from citer_core.evidence.part_tables import SHARE
from citer_core.evidence.regime import Regime, counted, table_of
from citer_core.gate.fields import ListOf, MapOf, Real, Record, Text
from citer_core.gate.json_file import read_json

_TEXT = Text(500, 1)
_MATCHED = Record(
    {
        **dict.fromkeys(("title", "pair", "pair_revision", "date", "hardware", "command"), _TEXT),
        "points": MapOf(
            ListOf(
                Record(
                    {
                        "router": Text(100, 1),
                        **dict.fromkeys(("share_wanted", "threshold", "llm_token_share"), SHARE),
                        "bytes_share": Real(0.0, 100.0),
                        "accuracy": ACCURACY,
                    }
                ),
                1000,
            ),
            2,
        ),
        "alone": MapOf(Record({"slm": ACCURACY, "llm": ACCURACY}), 2),
    }
)


def of_matched(path: Path) -> Regime:
    """A table of `embedded matched`, with either model alone.

    Raises:
        DatasetError: it is damaged.
    """
    try:
        table = _MATCHED.read(read_json(path), "")
    except GateError as error:
        raise DatasetError(f"{path.name} of {path.parent.name} cannot be read ({error}): restore it.") from error
    tables = {}
    for kind, points in table["points"].items():
        rows = [counted(f"always-{w}", table["alone"][kind][w]) for w in ("slm", "llm")]
        rows += [
            counted(point["router"], point["accuracy"])
            | {"share_wanted": point["share_wanted"], "tau": point["threshold"], "share": point["llm_token_share"]}
            | {"bytes_share": point["bytes_share"]}
            for point in points
        ]
        tables[kind] = table_of(rows)
    return Regime(
        path.parent.name,
        table["title"],
        table["pair_revision"],
        table["date"],
        table["hardware"],
        table["command"],
        "tau found on 60 other problems. Which problems were right was not kept, so differences are those of "
        "independent samples. Co-LLM is from before its published start.",
        tables,
    )
