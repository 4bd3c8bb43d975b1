"""Whether two names of weights are of the same ones. Standard library only: also for those who load no model.

    e7c5919ce67a0fc4.5d0f6a1b      sample.whole, of a model (`revision`)
    SLM-LLM                        of a pair; `server:NAME` for an LLM whose weights cannot be read

The sample (64 values of every tensor) is all that names had at first, so a changed bit elsewhere kept the name. The
whole covers every weight. A name without it, from before, or of weights that are packed or of fewer bits than bfloat16
needs, is compared by its sample.
"""

from __future__ import annotations

SERVER_REVISION = "server:"  # begins the LLM's half of a pair's revision where its weights cannot be read
WHOLE = "."


def is_same_pair(recorded: str, loaded: str) -> bool:
    """Whether two revisions of pairs name the same weights, as far as can be known.

    Args:
        recorded: the revision that something was made for.
        loaded: of the loaded pair. Of an LLM on a server nothing is known, so only the SLM is compared then: a router
            reads the SLM's states.
    """
    slm, _, llm = loaded.partition("-")
    recorded_slm, _, recorded_llm = recorded.partition("-")
    if not _is_same_model(recorded_slm, slm):
        return False
    return llm.startswith(SERVER_REVISION) or _is_same_model(recorded_llm, llm)


def is_same_run(recorded: str, loaded: str) -> bool:
    """As `is_same_pair`, for what both models wrote: an LLM on a server must be that server's too."""
    halves = zip(recorded.partition("-")[::2], loaded.partition("-")[::2], strict=True)
    return all(_is_same_model(*half) for half in halves)


def _is_same_model(recorded: str, loaded: str) -> bool:
    if recorded.startswith(SERVER_REVISION) or loaded.startswith(SERVER_REVISION):
        return recorded == loaded
    (sample, _, whole), (our_sample, _, our_whole) = recorded.partition(WHOLE), loaded.partition(WHOLE)
    return sample == our_sample and (whole == our_whole or not whole or not our_whole)
