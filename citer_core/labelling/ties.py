"""What becomes of a token after which both branches end alike: decided in training, since labels keep both outcomes.

Labels by outcome say who reaches the right answer. Where both do, or neither does, that says nothing about the token by
itself; which reading trains the better router is to be measured, and costs no rollout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from citer_core.labelling.labels import UNKNOWN, Labels

BothFail = Literal["drop", "slm", "llm"]
BothRight = Literal["slm", "drop"]
_LABEL = {"drop": UNKNOWN, "slm": 1, "llm": 0}


@dataclass(frozen=True, slots=True)
class Ties:
    """How ties are read.

    Attributes:
        both_fail: leave the token out of training, prefer the SLM (nothing is lost), or prefer the LLM ("the SLM only
            where its branch ends right").
        both_right: prefer the SLM, which is cheaper, or leave the token out.
    """

    both_fail: BothFail = "drop"
    both_right: BothRight = "slm"

    def settle(self, labels: Labels) -> Labels:
        """The same tokens with the labels of ties as they are read; those of published labels have none."""
        label = labels.label.clone()
        tied = labels.is_tried & (labels.slm_branch == labels.llm_branch)
        label[tied & (labels.slm_branch == 0)] = _LABEL[self.both_fail]
        label[tied & (labels.slm_branch == 1)] = _LABEL[self.both_right]
        return replace(labels, label=label)
