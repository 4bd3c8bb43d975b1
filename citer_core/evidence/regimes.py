"""Every `Regime` that is stored.

    one-wording     the bundled pair's first edition, whose solutions have one wording: `matched_regime`
    SET             every folder of `stored`: `part_regime`
    qwen            the real pair: `real_regime`

Computes no run. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.evidence.matched_regime import of_matched
from citer_core.evidence.part_regime import of_parts
from citer_core.evidence.real_regime import REAL_PAIR, of_qwen
from citer_core.evidence.regime import Regime
from citer_core.evidence.stored import stored_sets

BENCHMARKS = ASSETS / "benchmarks"


def regimes(folder: Path = BENCHMARKS) -> Iterator[Regime]:
    """All that is stored, the newest evidence first.

    Raises:
        DatasetError: a file is damaged.
    """
    sets = dict(stored_sets(folder / "evidence"))
    for name in sorted(sets, key=lambda name: (sets[name]["accuracy"].date, name), reverse=True):
        yield of_parts(name, sets[name])
    for path in sorted((folder / "evidence").glob("*/matched_shares.json")):
        if path.parent.name not in sets:
            yield of_matched(path)
    if all((folder / f"{file}.jsonl").exists() for file in REAL_PAIR):
        yield of_qwen(folder)
