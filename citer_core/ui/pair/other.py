"""A finished run that another pair wrote: it can be looked at, and not gone on with. What is said then, and offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citer_core.errors import CiterError, SettingError
from citer_core.models.presets import preset_of
from citer_core.models.same_pair import is_same_run
from citer_core.ui.streaming import Message, notice

if TYPE_CHECKING:
    from citer_core.engine import Engine


class OtherPairError(SettingError):
    """The loaded pair is not the one that is needed.

    Attributes:
        needed: its title, as traces have it.
    """

    def __init__(self, message: str, needed: str) -> None:
        super().__init__(message)
        self.needed = needed


def check_pair(engine: Engine, title: str, revision: str) -> None:
    """Whether a run of the pair of that title and revision can go on with the loaded one.

    Raises:
        OtherPairError: it cannot.
    """
    loaded = engine.pair_info
    if is_same_run(revision, loaded.revision):
        return
    if not title or title == loaded.name:
        raise OtherPairError(
            f"This run was made by other weights, or in another precision, than {loaded.name} in {loaded.dtype}, which "
            "is loaded: generate it again to go on from it.",
            title,
        )
    raise OtherPairError(
        f"This run was made by {title}, and {loaded.name} is loaded. To go on from it, change the pair to {title}; or "
        f"generate it again with {loaded.name}.",
        title,
    )


def error_notice(error: CiterError) -> Message:
    """An error as a message for the page; where another pair is needed, it says which, so that it can be offered."""
    message = notice(str(error))
    if isinstance(error, OtherPairError):
        message["needs"] = {"title": error.needed, "pair": preset_of(error.needed)}
    return message
