"""`probe`: both models read a finished run once and say, at each of its tokens, what they would have written.

Asked afterwards, so it is no part of the run and of its cost. Knows nothing about routers or pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from citer_core.errors import SettingError, TraceError
from citer_core.gate.excerpt import excerpt
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.models.same_pair import is_same_run
from citer_core.routing.candidates import top_candidates
from citer_core.routing.router import entropy_of
from citer_core.trace import RoutingTrace
from citer_core.types import Candidate

CHUNK = 256  # positions at once: logits of a long run over a large vocabulary would not fit into memory


@dataclass(frozen=True, slots=True)
class ProbedToken:
    """What both models say at one token, each given the tokens before it.

    Attributes:
        slm_top, llm_top: most probable tokens, best first.
        slm_entropy, llm_entropy: of their distributions, in nats.
        kl: Kullback-Leibler divergence of the SLM's distribution from the LLM's, KL(LLM || SLM), in nats, at least 0.
        agree: both have the same most probable token.
    """

    slm_top: tuple[Candidate, ...]
    llm_top: tuple[Candidate, ...]
    slm_entropy: float
    llm_entropy: float
    kl: float
    agree: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON values, as the page, the API and the files beside recorded runs have them; numbers to six decimals.

        Returns:
            `slm_top` and `llm_top` as lists of [token id, text, probability], `slm_entropy`, `llm_entropy`, `kl` and
            `agree`.
        """
        return {
            "slm_top": [[c.token_id, c.text, round(c.probability, 6)] for c in self.slm_top],
            "llm_top": [[c.token_id, c.text, round(c.probability, 6)] for c in self.llm_top],
            "slm_entropy": round(self.slm_entropy, 6),
            "llm_entropy": round(self.llm_entropy, 6),
            "kl": round(self.kl, 6),
            "agree": self.agree,
        }


def probe(pair: ModelPair, prompt_ids: Sequence[int], completion_ids: Sequence[int]) -> Iterator[ProbedToken]:
    """One teacher-forced pass of each model over prompt and completion.

    Args:
        pair: the two models.
        prompt_ids: at least one token.
        completion_ids: the tokens that were written, end of text included; together they fit the models' context.

    Yields:
        One result per token of the completion, in order.

    Raises:
        SettingError: a token that the pair does not have, or too many of them.
    """
    ids = [*prompt_ids, *completion_ids]
    check_ids(pair, ids)
    first = len(prompt_ids) - 1  # the position whose logits give the completion's first token
    readers = Reader(pair.slm), Reader(pair.local_llm)
    for reader in readers if first else ():
        reader.read([ids[:first]])
    for start in range(first, len(ids) - 1, CHUNK):
        with torch.inference_mode():
            end = min(start + CHUNK, len(ids) - 1)
            both = (reader.read([ids[:end]], n_last=[end - start]).logits for reader in readers)
            slm, llm = (torch.log_softmax(logits.float(), dim=-1).to(pair.slm.device) for logits in both)
            kl = (llm.exp() * (llm - slm)).nan_to_num(0.0).sum(-1).clamp_min(0.0).tolist()
            entropies = zip(entropy_of(slm).tolist(), entropy_of(llm).tolist(), strict=True)
            found = []
            for row, (slm_entropy, llm_entropy) in enumerate(entropies):
                slm_top, llm_top = top_candidates(pair, slm[row]), top_candidates(pair, llm[row])
                agree = int(slm[row].argmax()) == int(llm[row].argmax())
                found.append(ProbedToken(slm_top, llm_top, slm_entropy, llm_entropy, kl[row], agree))
        yield from found


def check_ids(pair: ModelPair, ids: Sequence[int]) -> None:
    """Raises `SettingError` for a token that the pair does not have, or where all but the last are too many to read."""
    if any(not 0 <= token_id < pair.vocab_size for token_id in ids):
        raise SettingError("The run has tokens that this pair does not know: choose the pair it is of.")
    if len(ids) - 1 > pair.max_context:
        raise SettingError(f"The run has {len(ids):,} tokens with its prompt; this pair reads {pair.max_context:,}.")


def probe_trace(pair: ModelPair, trace: RoutingTrace) -> list[ProbedToken]:
    """The probe of a run that is only known by its trace.

    Returns:
        One result per token.

    Raises:
        TraceError: the run was made by another pair or by other weights, or its prompt does not fit the tokenizer.
        SettingError: see `probe`.
    """
    if not is_same_run(trace.pair.revision, pair.info.revision):
        raise TraceError(
            f"This run was written by {excerpt(trace.pair.name)} with other weights than the loaded pair "
            f"{excerpt(pair.info.name)}, so its tokens mean something else here. Record it again with this pair."
        )
    prompt = pair.prompt_form.encode_text(trace.prompt.text)
    if len(prompt) != trace.prompt.n_tokens:
        raise TraceError("This trace is damaged: its prompt does not fit the tokenizer. Export it again.")
    return list(probe(pair, prompt, [event.token_id for event in trace.events]))
