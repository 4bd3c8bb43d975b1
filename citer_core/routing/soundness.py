"""Whether what models and routers computed are numbers at all, and what a person is told where they are not.

A NaN compares as false, so that an unsound confidence would quietly give every token to the SLM. Called by the decode
loops.
"""

from __future__ import annotations

from citer_core.errors import NotANumberError
from citer_core.routing.router import Router


def is_confidence(value: float) -> bool:
    """Whether it is a number from 0 to 1, as routers promise."""
    return 0.0 <= value <= 1.0


def no_confidence(router: Router) -> NotANumberError:
    """For a router that did not keep its promise."""
    return NotANumberError(
        f'The router "{router.name}" gave a confidence that is not a number from 0 to 1, so it is unknown which model '
        "writes next, and this run ended. Its weights may be damaged: train or fetch it again, or choose another "
        "router."
    )


def not_a_number(which: str) -> NotANumberError:
    """For a model, `SLM` or `LLM`, whose logits are NaN or infinite."""
    return NotANumberError(
        f"The {which} computed values that are not numbers (NaN or infinity), so it has no next token, and this run "
        "ended. Its weights may be damaged, or the precision too low for them: load the pair again, or in float32."
    )
