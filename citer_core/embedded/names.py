"""Writes into the shipped cards what their files are: SHA-256 of each, and the pair's name where that is the same pair.

Run after anything that ships was made or changed on purpose; what is loaded is compared with it. Everything else in the
cards stays as it is. Called by `python -m citer_core embedded hashes`, and by the steps that write weights.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.models.hashes import CARD, FILES, bundled_files, sums_of
from citer_core.models.pair import load_pair
from citer_core.models.presets import EMBEDDED
from citer_core.models.same_pair import is_same_pair
from citer_core.routing.router_card import WEIGHTS_HASH

log = logging.getLogger(__name__)


def publish_hashes(assets: Path = ASSETS) -> None:
    """Brings all cards up to date: of the bundled pair, and of the routers of every pair.

    A recorded name of the bundled pair from before it covered all weights becomes the whole one, in cards and runs.
    """
    publish_model_hashes(assets)
    for card in sorted((assets / "routers").rglob("*.json")):
        weights = card.with_suffix(".safetensors").read_bytes()
        _update(card, {WEIGHTS_HASH: hashlib.sha256(weights).hexdigest()})
    models = assets / "models"
    revision = load_pair(EMBEDDED if assets == ASSETS else f"{models / 'slm'},{models / 'llm'}").info.revision
    before = json.loads((models / CARD).read_text(encoding="utf-8"))["pair_revision"]
    if before != revision and is_same_pair(before, revision):
        recorded = [models / CARD, *(assets / "routers" / EMBEDDED).glob("*.json"), *(assets / "traces").glob("*.json")]
        for path in sorted(recorded):
            text = path.read_text(encoding="utf-8")
            _write(path, text.replace(f'"{before}"', f'"{revision}"'))


def publish_model_hashes(assets: Path = ASSETS) -> None:
    """Writes the hashes of the bundled pair's files into its card, which is made if there is none."""
    models = assets / "models"
    _update(models / CARD, {FILES: sums_of(models, bundled_files(models))})


def _update(card: Path, fields: dict[str, Any]) -> None:
    document = json.loads(card.read_text(encoding="utf-8")) if card.exists() else {}
    _write(card, json.dumps(document | fields, indent=2) + "\n")
    log.info("%s: hashes written", card.name)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
