"""`RunLabels`: case and label of a finished run's tokens, for as long as the run is its problem's known solution.

A label compares both models' choice with the true token, given the true tokens before it. A run has those up to the
first token in which it leaves the known solution, that one included; after it nothing says what would have been true.
Knows nothing about pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.labelling.rollouts import Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import Example, teacher_force
from citer_core.models.pair import ModelPair


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The S first tokens of a run, S at least 1 for a run that has any.

    Attributes:
        n_shared: how many of the run's tokens are the known solution's; S, or S - 1 where the last one leaves it.
        truth_ids: [S], the true tokens.
        case: [S], 1: the SLM writes the true token; 2: only the LLM does; 3: neither.
        label: [S], 1: prefer the SLM; 0: prefer the LLM. Case 3 as for training: by the SLM going on alone.
    """

    n_shared: int
    truth_ids: tuple[int, ...]
    case: tuple[int, ...]
    label: tuple[int, ...]


def label_run(pair: ModelPair, example: Example, token_ids: Sequence[int]) -> RunLabels:
    """Labels a run of the problem of `example`, as far as it is defined.

    Args:
        pair: the two models.
        example: the problem with its known solution.
        token_ids: what the run wrote, end of text included.

    Raises:
        PairError: the LLM's weights are not here.
    """
    shared = 0
    for written, true in zip(token_ids, example.truth_ids, strict=False):
        if written != true:
            break
        shared += 1
    n_labelled = min(shared + 1, len(token_ids), len(example.truth_ids))
    (forced,) = teacher_force(pair, [example])
    case = forced.case[:n_labelled].tolist()
    label = [int(one == 1) for one in case]
    starts = [Start(0, position) for position, one in enumerate(case) if one == 3]
    for number, outcome in roll_out(pair, [example], starts, Policy.slm_alone()):
        label[starts[number].position] = int(outcome.is_correct)
    return RunLabels(shared, tuple(example.truth_ids[:n_labelled]), tuple(case), tuple(label))
