"""Preference labels: which model should have written each ground-truth token.

State = prompt + ground-truth prefix, at every position of the ground truth, its end of text included. The shortcut
needs one teacher-forced pass per model and example:

    case 1  the SLM's greedy token is the true one                    -> prefer the SLM (label 1)
    case 2  it is not, but the LLM's greedy token is                  -> prefer the LLM (label 0)
    case 3  both are wrong: roll out from here                        -> label 1 iff the final answer is right

In iteration 1 the SLM rolls out alone from the true prefix. Later, the SLM's token is appended and both models go on
under the router of the iteration before; cases 1 and 2 stay what they are, or case 2 is rolled out in the same way.

Labels by outcome are another mode. Where both models write the same token, whatever it is, the SLM is preferred. Where
they differ, both tokens are tried, by the LLM or by a routed policy, and the answers decide. Files are `label_files`'
business.

Source: CITER, arXiv 2502.01976, and the authors' published code for case 3; labels by outcome are ours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor

from citer_core.errors import SettingError
from citer_core.gate.dataclass_kind import filled
from citer_core.labelling.rollouts import Policy, Start, disagreements, preferred_source, roll_out, roll_out_branches
from citer_core.labelling.rollouts_file import NOTHING, RolledOut
from citer_core.labelling.teacher_forcing import Example, TeacherForced, teacher_force
from citer_core.labelling.truth import Truth
from citer_core.models.pair import ModelPair
from citer_core.routing.router import STATISTICS, Router, RouterFeatures

# What labels by outcome know beyond the published ones, whose files are without.
BRANCHES = ("slm_branch", "llm_branch")
UNKNOWN = -1  # the label of a token that was not rolled out, or of which the rollouts say nothing
LabelMode = Literal["published", "outcome"]
BothFail = Literal["drop", "slm", "llm"]
BothRight = Literal["slm", "drop"]
_TIED = {"drop": UNKNOWN, "slm": 1, "llm": 0}
# Tokens for the LLM that routed rollouts aim at; None takes the published tau.
ROLLOUT_SHARES: dict[LabelMode, float | None] = {"published": None, "outcome": 0.2}


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of N tokens of some examples, with what routers learn from.

    Attributes:
        hidden: [N, H] float32, the SLM's state at each token's position.
        case: [N] int8, 1 to 3.
        label: [N] int8, 1 to prefer the SLM, 0 the LLM, -1 where it is not known.
        question: [N] int32, which example a token belongs to: splits go by question, never by token.
        position: [N] int32, of the token in its ground truth; 0 is the state at the prompt's end.
        max_probability, margin, entropy: [N] float32, of the SLM's distribution.
        slm_log_prob, llm_log_prob: [N] float32, what each model gives the true token, in nats.
        slm_is_correct: [N] int8, whether the SLM alone answers the token's question right; -1 where it was not asked.
        slm_branch, llm_branch: [N] int8, whether the text with that model's token ends right; -1 where it was not tried
            and everywhere in published labels.
    """

    hidden: Tensor
    case: Tensor
    label: Tensor
    question: Tensor
    position: Tensor
    max_probability: Tensor
    margin: Tensor
    entropy: Tensor
    slm_log_prob: Tensor
    llm_log_prob: Tensor
    slm_is_correct: Tensor
    slm_branch: Tensor
    llm_branch: Tensor

    def __len__(self) -> int:
        return len(self.label)

    def take(self, tokens: Tensor) -> Labels:
        """The tokens of an index or a mask."""
        return Labels(**{f.name: getattr(self, f.name)[tokens] for f in fields(self)})

    @classmethod
    def concatenate(cls, parts: Sequence[Labels]) -> Labels:
        """All tokens of several parts; question numbers must already be distinct."""
        return cls(**{f.name: torch.cat([getattr(part, f.name) for part in parts]) for f in fields(cls)})

    def features(self, tokens: Tensor) -> RouterFeatures:
        """What a router sees at some tokens, an [n] index. `prompt_hidden` is each token's question's first state."""
        first = (self.position == 0).nonzero().flatten()
        of_question = torch.zeros(int(self.question.max()) + 1, dtype=torch.long)
        of_question[self.question[first].long()] = first
        return RouterFeatures.from_statistics(
            self.hidden[tokens],
            [getattr(self, name)[tokens] for name in STATISTICS],
            prompt_hidden=self.hidden[of_question[self.question[tokens].long()]],
        )

    @property
    def is_tried(self) -> Tensor:
        """[N] bool, where both branches were rolled out."""
        return (self.slm_branch >= 0) & (self.llm_branch >= 0)

    def case_shares(self) -> dict[str, float]:
        """Fraction of tokens in each case."""
        return {str(case): float((self.case == case).float().mean()) for case in (1, 2, 3)}

    def outcomes(self) -> dict[str, int]:
        """How often which branches end right, of tokens at which both were rolled out."""
        slm, llm = (branch[self.is_tried] == 1 for branch in (self.slm_branch, self.llm_branch))
        ends = {"both_right": slm & llm, "slm_only": slm & ~llm, "llm_only": ~slm & llm, "neither": ~slm & ~llm}
        return {name: int(mask.sum()) for name, mask in ends.items()}

    def flips(self, before: Labels, rolled: Tensor) -> tuple[int, int]:
        """Of the tokens of a mask that have a label in both: how many there are, and how many have another one now."""
        both = rolled & (before.label >= 0)
        return int(both.sum()), int((self.label[both] != before.label[both]).sum())


def prior_logits(label: Tensor, group: Tensor) -> Tensor:
    """The log-odds of label 1 in each token's group, [N] float32: what to know before looking.

    Args:
        label: [N] in {0, 1}.
        group: [N] int, such as the format of each token's question. A group without both labels gets 0.
    """
    logits = torch.zeros(len(label))
    for g in group.unique().tolist():
        inside = group == g
        n_slm = int((label[inside] == 1).sum())
        n_llm = int((label[inside] == 0).sum())
        if n_slm and n_llm:
            logits[inside] = math.log(n_slm / n_llm)
    return logits


def policy_for(labels: LabelMode, router: Router | None = None, share: float | None = None, **limits: Any) -> Policy:
    """Who rolls out where nothing else is said: one model alone, or both under the router of the round before.

    Args:
        labels: the SLM alone rolls out those that are published, the LLM those by outcome.
        router: of the round before, if there is one.
        share: of LLM tokens with it; None takes that of `ROLLOUT_SHARES`.
        limits: of rollouts; see `Policy`.

    Raises:
        SettingError: a share of a router that was not trained.
    """
    if router is None:
        return Policy.llm_alone(**limits) if labels == "outcome" else Policy.slm_alone(**limits)
    return Policy.routed(router, ROLLOUT_SHARES[labels] if share is None else share, **limits)


@dataclass(frozen=True)
class LabelSettings:
    """How what the shortcut leaves open is settled.

    Attributes:
        policy: who rolls out.
        iteration: 1: from the true prefix. 2 and more: with the SLM's token appended to it. Of labels by outcome, only
            a number.
        n_rollouts: tokens per example that are rolled out, drawn at random; None takes all.
        ask_slm: also let the SLM answer each question alone, which query-level routing learns from.
        seed: of the draw.
        labels: published, or by outcome where the models disagree.
        roll_out_case_2: of published labels, settle case 2 as case 3 is.
        truth: whose text is labelled.

    Raises:
        SettingError: case 2 apart in labels by outcome, which roll it out in any case.
    """

    policy: Policy
    iteration: int = 1
    n_rollouts: int | None = None
    ask_slm: bool = False
    seed: int = 0
    labels: LabelMode = "published"
    roll_out_case_2: bool = False
    truth: Truth = "gold"

    def __post_init__(self) -> None:
        if self.labels == "outcome" and self.roll_out_case_2:
            raise SettingError("Labels by outcome roll case 2 out in any case: leave out --roll-out-case-2.")

    @property
    def least_case(self) -> int:
        """Of published labels: tokens of this case and above are rolled out."""
        return 2 if self.roll_out_case_2 else 3


def label_examples(
    pair: ModelPair,
    examples: Sequence[Example],
    settings: LabelSettings,
    first_question: int = 0,
    known: Sequence[RolledOut] = (),
) -> tuple[Labels, list[TeacherForced]]:
    """Labels every ground-truth token of `examples`.

    Args:
        pair: the two models.
        examples: with ground truth.
        settings: how case 3 is settled.
        first_question: number of the first example; the others follow.
        known: of each example, what rollouts under these settings found before; it is not rolled out again.

    Returns:
        The labels, and what both models said at each example.
    """
    forced = list(teacher_force(pair, examples))
    known = known or [NOTHING] * len(examples)
    parts = [_shortcut(truth, settings, question) for question, truth in enumerate(forced, first_question)]
    places = [
        (number, position)
        for number, truth in enumerate(forced)
        for position in _drawn(_left_open(truth, settings), settings, first_question + number)
    ]
    asked = [(number, position) for number, position in places if position not in known[number].outcomes]
    fresh = dict(zip(asked, _tried(pair, examples, asked, forced, settings), strict=True))
    for number, position in places:
        _settle(parts[number], position, fresh.get((number, position)) or known[number].outcomes[position])
    if settings.ask_slm:
        rules = settings.policy  # one limit for all answers: a longer one for some would make them right more often
        alone = Policy.slm_alone(max_new_tokens=rules.max_new_tokens, batch_size=rules.batch_size)
        new = [number for number, before in enumerate(known) if before.slm_alone is None]
        for part, before in zip(parts, known, strict=True):
            part.slm_is_correct.fill_(UNKNOWN if before.slm_alone is None else before.slm_alone)
        for i, outcome in roll_out(pair, examples, [Start(number, 0) for number in new], alone):
            parts[new[i]].slm_is_correct.fill_(int(outcome.is_correct))
    return Labels.concatenate(parts), forced


def _left_open(truth: TeacherForced, settings: LabelSettings) -> list[int]:
    """Positions that rollouts settle: cases that the shortcut leaves open; by outcome, where the models disagree."""
    if settings.labels == "outcome":
        return disagreements(truth)
    positions: list[int] = (truth.case >= settings.least_case).nonzero().flatten().tolist()
    return positions


def _tried(
    pair: ModelPair,
    examples: Sequence[Example],
    places: Sequence[tuple[int, int]],
    forced: Sequence[TeacherForced],
    settings: LabelSettings,
) -> list[tuple[int, ...]]:
    """Whether the branches of each (example, position) end right: the SLM's, and by outcome the LLM's."""
    if settings.labels == "outcome":
        tokens = [(int(forced[n].slm_ids[p]), int(forced[n].llm_ids[p])) for n, p in places]
        both = roll_out_branches(pair, examples, places, tokens, settings.policy, forced)
        return [(int(slm.is_correct), int(llm.is_correct)) for slm, llm in both]
    is_first = settings.iteration == 1
    starts = [Start(n, p, () if is_first else (int(forced[n].slm_ids[p]),)) for n, p in places]
    outcomes = dict(roll_out(pair, examples, starts, settings.policy))
    return [(int(outcomes[i].is_correct),) for i in range(len(starts))]


def _settle(part: Labels, position: int, found: tuple[int, ...]) -> None:
    """The label of a token whose branches were tried; where the LLM's was too, both are kept."""
    slm, *others = found
    part.label[position] = slm
    for llm in others:
        part.slm_branch[position], part.llm_branch[position] = slm, llm
        source = preferred_source(slm_is_correct=bool(slm), llm_is_correct=bool(llm))
        part.label[position] = UNKNOWN if source is None else int(source == "slm")


def rolled_out(labels: Labels, settings: LabelSettings) -> RolledOut:
    """What rollouts found of one example's tokens: what `label_examples` takes as `known`.

    Args:
        labels: of one example, as these settings made them.
        settings: see `LabelSettings`.
    """
    mask = (labels.case >= settings.least_case) & (labels.label != UNKNOWN)
    branches: tuple[Tensor, ...] = (labels.label,)
    if settings.labels == "outcome":
        mask, branches = labels.is_tried, (labels.slm_branch, labels.llm_branch)
    alone = int(labels.slm_is_correct[0])
    found = zip(labels.position[mask].tolist(), *(branch[mask].tolist() for branch in branches), strict=True)
    return RolledOut({position: tuple(bits) for position, *bits in found}, None if alone == UNKNOWN else alone)


def _shortcut(truth: TeacherForced, settings: LabelSettings, question: int) -> Labels:
    """What is known without a rollout; a token that could be tried and is not drawn stays so."""
    if settings.labels == "outcome":
        known = torch.where(truth.slm_ids == truth.llm_ids, 1, UNKNOWN)
    else:
        known = torch.where(truth.case == 1, 1, torch.where(truth.case < settings.least_case, 0, UNKNOWN))
    label = known.to(torch.int8)
    return filled(
        Labels,
        truth,
        label=label,
        question=torch.full_like(label, question, dtype=torch.int32),
        position=torch.arange(len(label), dtype=torch.int32),
        **{name: torch.full_like(label, UNKNOWN) for name in ("slm_is_correct", *BRANCHES)},
    )


def _drawn(positions: list[int], settings: LabelSettings, question: int) -> list[int]:
    """All positions that could be rolled out, or a draw of them that depends on seed and question alone."""
    if settings.n_rollouts is None or len(positions) <= settings.n_rollouts:
        return positions
    return sorted(random.Random(f"rollouts:{settings.seed}:{question}").sample(positions, settings.n_rollouts))


@dataclass(frozen=True, slots=True)
class Ties:
    """What becomes of a token after which both branches end alike, decided in training: labels keep both outcomes.

    Labels by outcome say who reaches the right answer. Where both do, or neither does, that says nothing about the
    token by itself; which reading trains the better router is to be measured, and costs no rollout.

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
        label[tied & (labels.slm_branch == 0)] = _TIED[self.both_fail]
        label[tied & (labels.slm_branch == 1)] = _TIED[self.both_right]
        return replace(labels, label=label)
