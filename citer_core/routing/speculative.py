"""Speculative decoding: the SLM drafts, the LLM reads the whole draft in one pass and keeps what it would have written.

The semantics of transformers' assisted generation for greedy decoding: the text is the LLM's own greedy text, whatever
the SLM drafts; only how many passes that takes depends on the SLM. Knows nothing about prompts, answers or pages.
Called by `citer_core.engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import torch

from citer_core.errors import SettingError
from citer_core.models.greedy import greedy_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.transfer import to_host
from citer_core.routing.prompt import check_prompt
from citer_core.routing.said import not_a_number
from citer_core.speculation import DraftedToken, Drafting, SpeculativePass
from citer_core.text import TextStream
from citer_core.types import FinishReason


def speculate(
    pair: ModelPair,
    prompt_ids: Sequence[int],
    max_new_tokens: int,
    drafting: Drafting,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Generator[SpeculativePass, None, FinishReason]:
    """Writes a completion greedily, a pass of the LLM at a time.

    Args:
        pair: the two models, both loaded here.
        prompt_ids: at least one token.
        max_new_tokens: at least 1.
        drafting: how much is drafted before the LLM reads.
        is_cancelled: asked between passes.

    Yields:
        One pass after another; each writes at least one token.

    Returns:
        Why it ended: `eos`, `length` (of the request, or of the models' context) or `cancelled`.

    Raises:
        PromptError: the prompt is empty or leaves no room in the models' context.
        SettingError: the LLM is on a server, which gives one token a call and reads no draft.
        NotANumberError: a model computed no number; after the passes until then.
    """
    n_steps = min(max_new_tokens, check_prompt(pair, prompt_ids))
    if isinstance(pair.llm, RemoteLM):
        raise SettingError(
            "Speculative decoding needs the LLM's token behind every drafted one, but an LLM on a server writes one "
            "token a call. Load the LLM here."
        )
    slm, llm = Reader(pair.slm), Reader(pair.llm)
    text = TextStream(pair.tokenizer)
    ids, end = list(prompt_ids), len(prompt_ids) + n_steps
    while len(ids) < end:
        if is_cancelled():
            return "cancelled"
        yield _pass(pair, slm, llm, ids, end, drafting, text)
        if ids[-1] in pair.eos_ids:
            return "eos"
    return "length"


def _pass(
    pair: ModelPair, slm: Reader, llm: Reader, ids: list[int], end: int, drafting: Drafting, text: TextStream
) -> SpeculativePass:
    """A draft behind `ids`, read by the LLM; what it keeps and writes is put behind them, at most up to `end`."""
    with torch.inference_mode():
        draft = _drafted(pair, slm, ids, min(drafting.n_tokens, end - len(ids) - 1), drafting.confidence)
        drafted_ids = [token.token_id for token in draft.tokens]
        read = llm.read([[*ids, *drafted_ids]], n_last=[len(draft.tokens) + 1])
        finite, chosen = to_host(read.logits.isfinite().all().view(1).int(), greedy_tokens(read.logits))
    if not finite[0]:
        raise not_a_number("LLM")
    n_accepted = _n_alike(drafted_ids, chosen)
    own_id: int | None = chosen[n_accepted]
    written = [*drafted_ids[:n_accepted], chosen[n_accepted]]
    if n_accepted and written[-2] in pair.eos_ids:  # a draft ends behind the end of the text, so it is the last
        own_id = None
        written.pop()
    context_len = len(ids)
    ids += written
    # What was rejected must not be read again; the token that was just written is in neither cache yet.
    slm.truncate(0, len(ids) - 1)
    llm.truncate(0, len(ids) - 1)
    texts = [text.push(token_id) for token_id in written]
    if written[-1] in pair.eos_ids or len(ids) == end:
        texts[-1] += text.flush()
    return SpeculativePass(
        drafted=tuple(draft.tokens),
        n_accepted=n_accepted,
        own_id=own_id,
        texts=tuple(texts),
        slm_tokens_fed=tuple(draft.n_fed),
        llm_tokens_fed=read.n_fed[0],
        context_len=context_len,
        slm_s=draft.seconds,
        llm_s=read.seconds,
    )


@dataclass(slots=True)
class _Draft:
    """Drafted tokens, the tokens that the SLM read for each, and its seconds."""

    tokens: list[DraftedToken]
    n_fed: list[int]
    seconds: float = 0.0


def _drafted(pair: ModelPair, slm: Reader, ids: Sequence[int], n_most: int, confidence: float) -> _Draft:
    """The SLM's greedy tokens behind `ids`, up to one of which it is unsure, or to the end of the text."""
    draft = _Draft([], [])
    text = list(ids)
    while len(draft.tokens) < n_most:
        read = slm.read([text])
        probabilities = torch.softmax(read.logits[0].float(), dim=-1)
        chosen = greedy_tokens(read.logits)
        (token_id,), (probability,) = to_host(chosen, probabilities.gather(-1, chosen))
        if not probability >= 0:  # nor is a NaN
            raise not_a_number("SLM")
        draft.tokens.append(DraftedToken(token_id, pair.token_text(token_id), round(probability, 6)))
        draft.n_fed += read.n_fed
        draft.seconds += read.seconds
        text.append(token_id)
        if token_id in pair.eos_ids or probability < confidence:
            break
    return draft


def _n_alike(drafted: Sequence[int], chosen: Sequence[int]) -> int:
    """How many first tokens are the same."""
    pairs = enumerate(zip(drafted, chosen, strict=False))
    return next((i for i, (ours, theirs) in pairs if ours != theirs), len(drafted))
