"""What the rounds of labels and the routers that learn from them are called. Imports no torch."""

from __future__ import annotations

OUTCOME = "outcome"  # labels that have no rounds
_PUBLISHED = "published-"


def round_of(kind: str, number: int) -> str:
    """The name of a round's router; the first has its kind's."""
    return kind if number == 1 else f"{kind}-{number}"


def published(number: int) -> str:
    """The folder of a round's labels."""
    return f"{_PUBLISHED}{number}"


def on_the_way(router: str, folders: list[str]) -> list[str]:
    """The routers that are trained up to this one, which needs these folders: each round is the policy of the next."""
    n_rounds = sum(folder.startswith(_PUBLISHED) for folder in folders)
    kind = router.removesuffix(f"-{n_rounds}")
    return [*(round_of(kind, k) for k in range(1, n_rounds)), router]
