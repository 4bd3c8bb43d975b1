"""A stored router's card: the JSON beside its weights, or in the header of a file that holds both, read field by field.
Knows nothing about networks or pairs.

Fields that no program reads, and those of later versions, are kept as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from citer_core.errors import GateError, RouterError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import ListOf, Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_bytes, read_json
from citer_core.gate.json_text import parse_json

CARD_SCHEMA_VERSION = 1
IN_ONE_FILE = ".safetensors"  # of a path that is asked for as a router: its card is in its header
MAX_CARD_BYTES = 5_000_000
MAX_WEIGHTS_BYTES = 1_000_000_000
AGAIN = (
    "For what ships, `git checkout -- assets/routers` gets it again; for the bundled pair, `python -m citer_core "
    "embedded router` trains one; for another, `python -m citer_core train-router`."
)
WEIGHTS_HASH = "weights_sha256"
# Of the training: the share of validation tokens that goes to the LLM at tau = 0, 0.01, ..., 1.
SHARES_AT_TAU, N_TAUS = "llm_shares_at_tau", 101
_HEX = "0123456789abcdef"
_SHARE = Real(0.0, 1.0)
_COUNT = Whole()
_WORDS = Text(2000)
_TRAINING = Record(
    {},
    {
        "confidence_quantiles": ListOf(_SHARE, most=10_001),
        SHARES_AT_TAU: ListOf(_SHARE, most=N_TAUS, least=N_TAUS),
        "n_tokens": Record({}, {"train": _COUNT, "validation": _COUNT}),
        "n_questions": Record({}, {"train": _COUNT, "validation": _COUNT}),
        "prefer_slm_share": _SHARE,
        "auc": Maybe(_SHARE),
        "auc_max_probability": Maybe(_SHARE),
        "ece": _SHARE,
        "best_epoch": _COUNT,
    },
)
CARD = Record(
    {
        "label": Text(200, min_chars=1),
        "hidden_size": Whole(1, 10**6),
        "pair_revision": Text(300, min_chars=1),
        "revision": Text(16, min_chars=16, alphabet=_HEX),
    },
    {
        "name": Text(200, min_chars=1),
        "kind": Text(50),
        "pair": Text(300),
        "prompt_form": Text(50),
        "prompt_version": _COUNT,
        "n_params": _COUNT,
        "recommended_threshold": _SHARE,
        "recommended_for_share": _SHARE,
        WEIGHTS_HASH: Text(64, min_chars=64, alphabet=_HEX),
        "training": _TRAINING,
        "prior": _WORDS,
        "date": Text(100),
        "hardware": _WORDS,
        "command": Text(20_000),
        "matrices": _WORDS,
    },
)


def read_card(path: Path) -> dict[str, Any]:
    """The card of a stored router.

    Args:
        path: of the card, or of a router in one file.

    Raises:
        RouterError: it is missing, damaged or of another version, or a field is outside what it may be.
    """
    try:
        document = _within(path) if path.suffix == IN_ONE_FILE else read_json(path, max_bytes=MAX_CARD_BYTES)
        if not isinstance(document, dict):
            raise GateError(f"It is {excerpt(document)}, not an object.")
        version = document.get("schema_version")
        if version != CARD_SCHEMA_VERSION:
            raise GateError(f"Its schema_version is {excerpt(version)}; it must be {CARD_SCHEMA_VERSION}.")
        card = document | CARD.read(document, "")
        training = document.get("training")
        if isinstance(training, dict):
            card["training"] = training | card["training"]
            _check_order(card["training"])
    except GateError as error:
        raise RouterError(f'The card of router "{path.stem}" cannot be used. {error} {AGAIN}') from error
    return card


def holds_card(weights: Path) -> bool:
    """Whether a safetensors file is a router in one file."""
    try:
        return "card" in _metadata(weights)
    except GateError:
        return False


def _within(path: Path) -> Any:
    """The card in a file's header, without a hash: no file can hold its own, and the card's revision names the weights.

    Raises:
        GateError: the file cannot be read, or holds no card.
    """
    metadata = _metadata(path)
    if "card" not in metadata:
        raise GateError("It holds no card: give the path of its card (.json), if that is beside it.")
    document = parse_json(metadata["card"], max_chars=MAX_CARD_BYTES)
    if isinstance(document, dict):
        document.pop(WEIGHTS_HASH, None)
    return document


def _metadata(path: Path) -> dict[str, Any]:
    """What a safetensors file says of itself; nothing where it does not."""
    content = read_bytes(path, max_bytes=MAX_WEIGHTS_BYTES)
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    document = parse_json(header, max_chars=2 * MAX_CARD_BYTES)
    metadata = document.get("__metadata__") if isinstance(document, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _check_order(training: dict[str, Any]) -> None:
    """Of numbers that older cards do not have."""
    quantiles, shares = training.get("confidence_quantiles", []), training.get(SHARES_AT_TAU, [0, 1])
    if len(quantiles) == 1 or quantiles != sorted(quantiles):
        raise GateError("Its training.confidence_quantiles must be two or more numbers that do not fall.")
    if shares[0] != 0 or shares[-1] != 1 or shares != sorted(shares):
        raise GateError(f"Its training.{SHARES_AT_TAU} must begin with 0, end with 1, and not fall in between.")
