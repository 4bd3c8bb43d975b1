"""What each trained router learns: its architecture, which tokens, which target, which loss. One entry per name.

    citer        the preference labels (binary cross-entropy, which is Bradley-Terry on the policy)
    citer-plus   the same, with the SLM's own uncertainty beside its state
    citer-outcome, citer-outcome-mlp
                 labels by outcome where the models disagree, with the architecture of citer-plus and the published one
    citer-s-a    CITER-S, "no long-term influence", read as: case 3 is left out
    citer-s-b    CITER-S, read as: prefer the SLM iff its token is the true one
    co-llm       no labels: the marginal likelihood of the truth under "one of the two writes it" (Shen et al.,
                 arXiv 2403.03870), from its start by weak supervision, both models frozen
    query-level  one decision per question: does the SLM alone answer it right?

Knows nothing about optimization.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.errors import SettingError
from citer_core.labelling.labels import LabelMode, Labels, prior_logits
from citer_core.routing.routers.citer import CiterRouter, QueryLevelRouter
from citer_core.routing.routers.citer_plus import CiterPlusRouter
from citer_core.routing.stored import StoredRouter


@dataclass(frozen=True)
class Objective(ABC):
    """How one kind of router is trained.

    Attributes:
        name: of the router it makes.
        label: for people.
        architecture: what computes its logit.
        is_rescaled: whether the level and scale that training left mean nothing, so that the logit is brought to those
            of the target afterwards.
        labels: which labels it learns; None reads cases, probabilities or whole answers, which all labels hold.
    """

    labels: ClassVar[LabelMode | None] = None
    is_rescaled: ClassVar[bool] = False

    name: str
    label: str
    architecture: type[StoredRouter]

    def tokens(self, labels: Labels) -> Tensor:
        """Index of the tokens that it learns from: all, where nothing else is said."""
        return torch.arange(len(labels))

    @abstractmethod
    def target(self, labels: Labels) -> Tensor:
        """[N] int8, 1 where the SLM is to be preferred, else 0: what AUC and calibration are measured on."""

    def start(self) -> Objective | None:
        """What the network learns first, if anything; it has the same tokens and offset."""
        return None

    def offset(self, labels: Labels, group: Tensor) -> Tensor:
        """[N] float32 that the loss adds to the logit: the log-odds of the target in each token's group.

        Nearly all tokens prefer the SLM, in one format more than in another. A router trained on them as they are has
        every tau that matters above 0.99, and another one for each format. With the log-odds in the loss (Menon et al.,
        "Long-tail learning via logit adjustment", arXiv 2007.07314) it learns what the state adds to them, and its
        confidence is meant for equal priors. No token is repeated or weighted.
        """
        return prior_logits(self.target(labels), group)

    def loss(self, logit: Tensor, labels: Labels, tokens: Tensor) -> Tensor:
        """Mean loss of [n] logits, offset included, of some tokens."""
        return F.binary_cross_entropy_with_logits(logit, self.target(labels)[tokens].float())


class Preference(Objective):
    """Learns the labels."""

    labels: ClassVar[LabelMode | None] = "published"

    def tokens(self, labels: Labels) -> Tensor:
        """Every token whose label is known."""
        return (labels.label >= 0).nonzero().flatten()

    def target(self, labels: Labels) -> Tensor:
        """The label."""
        return labels.label


class OutcomePreference(Preference):
    """Learns labels by outcome, whose ties have been read."""

    labels = "outcome"


class TokenCorrectness(Objective):
    """Learns whether the SLM's token is the true one."""

    def target(self, labels: Labels) -> Tensor:
        """Case 1."""
        return (labels.case == 1).to(torch.int8)


class ShortcutOnly(TokenCorrectness):
    """Learns cases 1 and 2, as the shortcut labels them."""

    def tokens(self, labels: Labels) -> Tensor:
        """All tokens but those of case 3."""
        return (labels.case != 3).nonzero().flatten()


class WeakDeferral(Objective):
    """Learns the pseudo-labels that Co-LLM starts from: defer where the SLM's token is wrong and the LLM's is right."""

    def target(self, labels: Labels) -> Tensor:
        """All cases but the second."""
        return (labels.case != 2).to(torch.int8)


class MarginalLikelihood(WeakDeferral):
    """Learns who should write by what either would have written, from where the pseudo-labels have brought it.

    The likelihood knows no cost: where the LLM is the better one by a hair, and that is nearly everywhere, it is for
    the LLM. So it orders tokens and says nothing about the level, which the published method chooses by a threshold on
    held-out data; here the logit is rescaled to the pseudo-labels, which leaves the order. Both models are frozen; the
    published method goes on training the base as well, which is `finetune`'s business.
    """

    is_rescaled = True

    def start(self) -> Objective:
        """The pseudo-labels."""
        return WeakDeferral(self.name, self.label, self.architecture)

    def loss(self, logit: Tensor, labels: Labels, tokens: Tensor) -> Tensor:
        """-log(p(slm) * p_slm(truth) + p(llm) * p_llm(truth))."""
        by_slm = F.logsigmoid(logit) + labels.slm_log_prob[tokens]
        by_llm = F.logsigmoid(-logit) + labels.llm_log_prob[tokens]
        return -torch.logaddexp(by_slm, by_llm).mean()


class QueryCorrectness(Objective):
    """Learns whether the SLM alone answers the question right."""

    def tokens(self, labels: Labels) -> Tensor:
        """The prompt's end of every question that was asked.

        Raises:
            SettingError: none was.
        """
        tokens = ((labels.position == 0) & (labels.slm_is_correct >= 0)).nonzero().flatten()
        if not len(tokens):
            raise SettingError(
                "These labels do not say which questions the SLM answers alone: label with --ask-slm to train a "
                "query-level router."
            )
        return tokens

    def target(self, labels: Labels) -> Tensor:
        """Whether the SLM's own answer is right."""
        return labels.slm_is_correct


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Preference("citer", "CITER (hidden-state MLP)", CiterRouter),
        Preference("citer-plus", "CITER plus (state and uncertainty)", CiterPlusRouter),
        OutcomePreference("citer-outcome", "Outcome labels (state and uncertainty)", CiterPlusRouter),
        OutcomePreference("citer-outcome-mlp", "Outcome labels (hidden-state MLP)", CiterRouter),
        ShortcutOnly("citer-s-a", "CITER-S (a): without case 3", CiterRouter),
        TokenCorrectness("citer-s-b", "CITER-S (b): token correctness", CiterRouter),
        MarginalLikelihood("co-llm", "Co-LLM (marginal likelihood)", CiterRouter),
        QueryCorrectness("query-level", "Query level (prompt's state)", QueryLevelRouter),
    )
}
