"""`LabelledText`: a ground truth with, at every token, both models' choice, case, label and each router's confidence.

What the page's Labels tab shows. One teacher-forced pass per model settles cases 1 and 2; case 3 is settled as the
training labels of iteration 1 are, by the SLM going on alone from the true prefix. `outcome_labels`: what labels by
outcome say of the same tokens. `RunLabels`: the labels of a finished run's tokens, for as long as the run is its
problem's known solution: a label needs the true tokens before it, which a run has up to the first token in which it
leaves that solution, that one included. Knows nothing about pages, files or curves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from citer_core.errors import RouterError
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import BATCH_TOKENS, Example, TeacherForced, teacher_force
from citer_core.models.pair import ModelPair
from citer_core.models.tensor_checks import is_finite
from citer_core.models.transfer import is_host
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import Router, RouterFeatures
from citer_core.text import TextStream

CHUNK_EXAMPLES = 20  # rollouts of several examples share a batch; between two chunks a caller may stop
CPU_TOKENS = (
    1024  # positions per pass on a CPU: it is as fast with four times as many, and they hold four times as much
)
LOGIT_ELEMENTS = 32_000_000  # of both models kept at once: a large vocabulary reads fewer positions per pass


@dataclass(frozen=True, slots=True)
class LabelledText:
    """The T ground-truth tokens of one example, end of text included.

    Attributes:
        example: the problem with its ground truth.
        pieces: T texts that join to exactly the ground truth; the end of text is "", and so is a token that only begins
            a character.
        slm_ids, llm_ids: [T] int64, each model's greedy token, given the true tokens before it.
        slm_probability, llm_probability: [T] float32, of these tokens.
        slm_truth_probability, llm_truth_probability: [T] float32, of the true token.
        case: [T] int8, 1: the SLM is right; 2: only the LLM is; 3: both are wrong.
        label: [T] int8, 1: prefer the SLM; 0: prefer the LLM.
        confidence: [T] float32 by router name.
    """

    example: Example
    pieces: tuple[str, ...]
    slm_ids: Tensor
    llm_ids: Tensor
    slm_probability: Tensor
    llm_probability: Tensor
    slm_truth_probability: Tensor
    llm_truth_probability: Tensor
    case: Tensor
    label: Tensor
    confidence: Mapping[str, Tensor]

    @property
    def n_tokens(self) -> int:
        """T."""
        return len(self.pieces)


def label_texts(
    pair: ModelPair,
    routers: Sequence[Router],
    examples: Sequence[Example],
    *,
    labels: Sequence[Tensor] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[LabelledText]:
    """Labels examples and scores them with every router.

    Args:
        pair: the two models.
        routers: all are asked at every position, `reads_llm` ones with the LLM's logits. A router that looks at the
            LLM's last entropy sees none, as if the SLM had written the whole prefix.
        examples: in any order.
        labels: [T] of each example, where they are known already; else case 3 is rolled out.
        is_cancelled: asked between steps; the stream then ends early.

    Yields:
        One result per example, in order.
    """
    for start in range(0, len(examples), CHUNK_EXAMPLES):
        chunk = examples[start : start + CHUNK_EXAMPLES]
        texts = [] if is_cancelled() else _read(pair, routers, chunk)
        right = set() if labels is not None else _right_rollouts(pair, texts, is_cancelled)
        if is_cancelled():
            return
        for number, text in enumerate(texts):
            label = text.label.clone() if labels is None else labels[start + number]
            label[[position for n, position in right if n == number]] = 1
            yield replace(text, label=label)


def outcome_labels(pair: ModelPair, examples: Sequence[Example]) -> list[Tensor]:
    """Labels by outcome of each example: where the models differ, both tokens are tried and the LLM goes on alone.

    Args:
        pair: the two models.
        examples: in any order.

    Returns:
        [T] int8 of each, 1: prefer the SLM; 0: prefer the LLM; -1: both answers are wrong.
    """
    labels, _ = label_examples(pair, examples, LabelSettings(Policy.llm_alone(), labels="outcome"))
    return [labels.label[labels.question == number] for number in range(len(examples))]


def _read(pair: ModelPair, routers: Sequence[Router], examples: Sequence[Example]) -> list[LabelledText]:
    """The texts with their cases; labels are those of the shortcut, so case 3 is still open."""
    most = CPU_TOKENS if is_host(pair.slm.device) else BATCH_TOKENS
    batch_tokens = max(1, min(most, LOGIT_ELEMENTS // (2 * pair.vocab_size)))
    found = teacher_force(pair, examples, keep_logits=True, batch_tokens=batch_tokens)
    return [_labelled(pair, routers, example, forced) for example, forced in zip(examples, found, strict=True)]


@torch.inference_mode()
def _labelled(pair: ModelPair, routers: Sequence[Router], example: Example, forced: TeacherForced) -> LabelledText:
    features = features_of(pair, example, forced)
    assert forced.llm_logits is not None, "logits were asked for"
    llm_log_probs = torch.log_softmax(forced.llm_logits.float(), dim=-1)
    return LabelledText(
        example=example,
        pieces=_pieces(pair, example.truth_ids),
        slm_ids=forced.slm_ids,
        llm_ids=forced.llm_ids,
        slm_probability=forced.max_probability,
        llm_probability=llm_log_probs.amax(-1).exp(),
        slm_truth_probability=forced.slm_log_prob.exp(),
        llm_truth_probability=forced.llm_log_prob.exp(),
        case=forced.case,
        label=(forced.case == 1).to(torch.int8),
        confidence={router.name: _scores(router, features) for router in routers},
    )


def _scores(router: Router, features: RouterFeatures) -> Tensor:
    scores = router.confidence(features).float().cpu()
    if not is_finite(scores):
        raise RouterError(
            f'The router "{router.name}" gives scores that are not numbers for this text, so it cannot be judged here. '
            "Choose another router; if it happens again, train this one again."
        )
    return scores


def features_of(pair: ModelPair, example: Example, forced: TeacherForced) -> RouterFeatures:
    """What every router may look at, at all T positions at once, on the pair's device.

    Args:
        pair: the two models.
        example: whose positions they are.
        forced: made with `keep_logits`.
    """
    assert forced.slm_logits is not None and forced.llm_logits is not None, "logits were asked for"
    device = pair.slm.device
    hidden = forced.hidden.to(device)
    n_tokens = len(hidden)
    return RouterFeatures(
        hidden=hidden,
        logits=forced.slm_logits.to(device),
        prompt_hidden=hidden[:1].expand_as(hidden),  # the first token is written from the prompt's last state
        sequence_key=torch.full((n_tokens,), sequence_key(example.prompt_ids), device=device),
        position=torch.arange(n_tokens, device=device),
        llm_logits=forced.llm_logits.to(device),
    )


def _right_rollouts(
    pair: ModelPair, texts: Sequence[LabelledText], is_cancelled: Callable[[], bool]
) -> set[tuple[int, int]]:
    """Those (text, position) of case 3 from whose true prefix the SLM alone reaches the right answer."""
    starts = [Start(n, i) for n, text in enumerate(texts) for i in (text.case == 3).nonzero()[:, 0].tolist()]
    right = set()
    for number, outcome in roll_out(pair, [text.example for text in texts], starts, Policy.slm_alone()):
        if is_cancelled():
            break
        if outcome.is_correct:
            right.add((starts[number].example, starts[number].position))
    return right


def _pieces(pair: ModelPair, truth_ids: Sequence[int]) -> tuple[str, ...]:
    """One text per token; an end of text has the rest. A special token inside the truth itself is spelled out."""
    special = set(pair.tokenizer.all_special_ids)
    stream = TextStream(pair.tokenizer)
    pieces = list[str]()
    is_ended = truth_ids[-1] in pair.eos_ids  # what the LLM wrote may end at a limit
    for token_id in truth_ids[:-1] if is_ended else truth_ids:
        if token_id in special:
            pieces.append(stream.flush() + pair.token_text(token_id))
            stream = TextStream(pair.tokenizer)
        else:
            pieces.append(stream.push(token_id))
    rest = stream.flush()
    return (*pieces, rest) if is_ended else (*pieces[:-1], pieces[-1] + rest)


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
