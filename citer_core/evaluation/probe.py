"""`probe`: what the LLM would have said at every token of a finished run, also where it was not asked.

One teacher-forced pass per model over the recorded text. Nothing is generated, and the run's cost is not touched: this
is for looking, not for routing. Knows nothing about pages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch

from citer_core.errors import TraceError
from citer_core.models.pair import ModelPair
from citer_core.trace import RoutingTrace
from citer_core.types import Candidate

N_TOP = 5


@dataclass(frozen=True, slots=True)
class ProbedToken:
    """Both models at one position, each given the recorded tokens before it.

    Attributes:
        index: of the recorded token.
        llm_top: the LLM's `N_TOP` most probable tokens, best first.
        agrees: whether both models' greedy tokens are the same.
        kl: KL(LLM || SLM) of the two distributions, in nats; at least 0.
    """

    index: int
    llm_top: tuple[Candidate, ...]
    agrees: bool
    kl: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; candidates are `[token_id, text, probability]` as in a trace."""
        return {**asdict(self), "llm_top": [list(candidate) for candidate in self.llm_top]}


@torch.inference_mode()
def probe(pair: ModelPair, trace: RoutingTrace) -> tuple[ProbedToken, ...]:
    """Reads a run's text with both models.

    Raises:
        TraceError: the run was made by another pair, by other weights, or is longer than the models' context.
    """
    if trace.pair.revision != pair.info.revision:
        raise TraceError(
            f"This run was written by {trace.pair.name!r} with other weights than the loaded pair {pair.info.name!r}, "
            "so its tokens mean something else here. Record it again with this pair."
        )
    prompt = pair.encode(trace.prompt.text)
    written = [event.token_id for event in trace.events]
    if not written:
        return ()
    if len(prompt) != trace.prompt.n_tokens or not all(0 <= token < pair.vocab_size for token in written):
        raise TraceError("This trace is damaged: its prompt or tokens do not fit the tokenizer. Export it again.")
    text = [*prompt, *written[:-1]]
    if len(text) > pair.max_context:
        raise TraceError(f"This run has {len(text):,} tokens; the pair reads at most {pair.max_context:,}.")
    (slm_logits, _), (llm_logits, _) = (
        next(iter(model.read([text], [len(written)]))) for model in (pair.slm, pair.llm)
    )
    slm, llm = (torch.log_softmax(logits.float(), dim=-1) for logits in (slm_logits, llm_logits))
    kl = (llm.exp() * (llm - slm)).sum(-1).clamp_min(0.0).tolist()
    agrees = (slm.argmax(-1) == llm.argmax(-1)).tolist()
    top = llm.topk(min(N_TOP, llm.shape[-1]), dim=-1)
    return tuple(
        ProbedToken(
            index=index,
            llm_top=tuple(
                Candidate(token, pair.token_text(token), round(probability, 6))
                for token, probability in zip(ids, probabilities, strict=True)
            ),
            agrees=agrees[index],
            kl=round(kl[index], 6),
        )
        for index, (ids, probabilities) in enumerate(zip(top.indices.tolist(), top.values.exp().tolist(), strict=True))
    )
