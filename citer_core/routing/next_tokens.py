"""`next_tokens`: what both models may write at one position, and, where tokens are drawn, how the draw went.

Asked about a finished run, so it is no part of the run and of its cost. The mirror of `assets/engine/next_tokens.js`.
Knows nothing about pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from citer_core.models.greedy import top_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.candidates import candidates_of
from citer_core.routing.probe import check_ids
from citer_core.routing.said import not_a_number
from citer_core.routing.sampling import nucleus, rank_at, uniform_at
from citer_core.types import Candidate, DecodeSettings

N_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Draw:
    """How a model's token is drawn: the number of the position, on the tokens that top-p keeps, side by side.

    Attributes:
        number: in [0, 1), of seed and position alone.
        probabilities: of the shown tokens after temperature and top-p, best first; 0 for one that is cut.
        n_kept: tokens that may be drawn.
        kept: their probability before the others were cut.
        token: what the number falls on, with its probability after both.
        rank: of that token, 0 for the most probable.
        low: where the token's stretch of the kept probability begins.
    """

    number: float
    probabilities: list[float]
    n_kept: int
    kept: float
    token: Candidate
    rank: int
    low: float


@dataclass(frozen=True, slots=True)
class Offer:
    """One model at one position.

    Attributes:
        top: its `N_SHOWN` most probable tokens, best first, as it computes them.
        draw: None where nothing is drawn.
    """

    top: tuple[Candidate, ...]
    draw: Draw | None


@dataclass(frozen=True, slots=True)
class NextTokens:
    """Both models at one position.

    Attributes:
        slm, llm: `llm` is None where it is on a server, which gives tokens and no distribution.
        typed: id and text of the first token of a text that was asked about; None where it has none.
        n_typed: how many tokens that text has.
    """

    slm: Offer
    llm: Offer | None
    typed: tuple[int, str] | None
    n_typed: int


def next_tokens(
    pair: ModelPair,
    prompt_ids: Sequence[int],
    written_ids: Sequence[int],
    settings: DecodeSettings,
    text: str | None = None,
) -> NextTokens:
    """One pass of each model over a text.

    Args:
        pair: the two models.
        prompt_ids: at least one token.
        written_ids: the completion's tokens before the position.
        settings: of the run: temperature, top-p and seed.
        text: to be read as tokens too.

    Raises:
        SettingError: see `probe`.
        NotANumberError: a model computed no number.
    """
    ids = [*prompt_ids, *written_ids]
    check_ids(pair, [*ids, ids[-1]])
    typed: list[int] = pair.tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
    with torch.inference_mode():
        logits = [("SLM", Reader(pair.slm).read([ids]).logits[0])]
        if not isinstance(pair.llm, RemoteLM):
            logits.append(("LLM", Reader(pair.llm).read([ids]).logits[0]))
        slm, *llm = (_offer(pair, which, row, settings, len(written_ids)) for which, row in logits)
    first = (typed[0], pair.token_text(typed[0])) if typed else None
    return NextTokens(slm, llm[0] if llm else None, first, len(typed))


def _offer(pair: ModelPair, which: str, logits: Tensor, settings: DecodeSettings, index: int) -> Offer:
    values, ids = top_tokens(torch.log_softmax(logits.float(), dim=-1), N_SHOWN)
    if not values.isfinite().all():
        raise not_a_number(which)
    top = candidates_of(pair, values.tolist(), ids.tolist())
    if settings.temperature == 0:
        return Offer(top, None)
    ordered, cumulative, last = nucleus(logits, settings.temperature, settings.top_p)
    number = uniform_at(settings.seed, index)
    rank = int(rank_at(cumulative, last, number))
    kept = float(cumulative[last])
    edges = [0.0, *(cumulative[: max(len(top), rank + 1)].clamp_max(kept) / kept).tolist()]
    chances = [high - low for low, high in pairwise(edges)]
    token_id = int(ordered[rank])
    token = Candidate(token_id, pair.token_text(token_id), chances[rank])
    return Offer(top, Draw(number, chances[: len(top)], int(last) + 1, kept, token, rank, edges[rank]))
