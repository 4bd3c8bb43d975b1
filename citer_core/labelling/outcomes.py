"""Both branches of a token: each model's is put behind the true prefix, one policy goes on, and the answers decide.

What labels by outcome are made of, and how the shortcut is judged. Knows nothing about labels. Called by `labels` and
`evaluation.shortcut`.
"""

from __future__ import annotations

from collections.abc import Sequence

from citer_core.labelling.rollouts import Outcome, Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import Example, TeacherForced
from citer_core.models.pair import ModelPair


def disagreements(truth: TeacherForced) -> list[int]:
    """Positions at which the two models would write different tokens, whichever of them is the true one."""
    positions: list[int] = (truth.slm_ids != truth.llm_ids).nonzero().flatten().tolist()
    return positions


def roll_out_branches(
    pair: ModelPair,
    examples: Sequence[Example],
    places: Sequence[tuple[int, int]],
    tokens: Sequence[tuple[int, int]],
    policy: Policy,
    forced: Sequence[TeacherForced] = (),
) -> list[tuple[Outcome, Outcome]]:
    """Goes on from each place with the SLM's and with the LLM's token; equal texts are rolled out once.

    Args:
        pair: the two models.
        examples: with ground truth.
        places: (example, position of the token in its ground truth).
        tokens: (SLM's, LLM's) greedy token at each place.
        policy: who goes on.
        forced: what both models say at all examples, if that is known. Where the LLM goes on alone and would write the
            ground truth for a while, a branch then begins where it leaves it, as many others do; its limit counts from
            there.

    Returns:
        (SLM's, LLM's) outcome of each place.
    """
    follow = forced if policy.is_llm_alone else ()
    both = [
        tuple(_leaving(Start(example, position, (token,)), follow) for token in pair_of_tokens)
        for (example, position), pair_of_tokens in zip(places, tokens, strict=True)
    ]
    starts = list(dict.fromkeys(start for branches in both for start in branches))
    outcomes = {starts[i]: outcome for i, outcome in roll_out(pair, examples, starts, policy)}
    return [(outcomes[slm], outcomes[llm]) for slm, llm in both]


def _leaving(start: Start, forced: Sequence[TeacherForced]) -> Start:
    """Where a branch that the LLM writes leaves the ground truth; its end of text where it never does."""
    if not forced:
        return start
    truth, position, (token,) = forced[start.example], start.position, start.forced_ids
    while token == int(truth.truth_ids[position]) and position + 1 < len(truth.truth_ids):
        position += 1
        token = int(truth.llm_ids[position])
    return Start(start.example, position, (token,))
