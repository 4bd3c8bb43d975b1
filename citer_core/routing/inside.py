"""`inside`: what a router computed where a token of a finished run was decided; asked afterwards, no part of the run.

The mirror of `assets/engine/inside.js`. Knows nothing about pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.routing.probe import check_ids
from citer_core.routing.prompt import check_router, sequence_key
from citer_core.routing.router import Router, RouterFeatures, entropy_of_logits
from citer_core.routing.stored import StoredRouter

N_PATHS = 80


@dataclass(frozen=True, slots=True)
class RouterLayers:
    """The two layers that a trained router computes: numbers in, units of which some are on, one sum.

    Attributes:
        inputs: [n], what its first layer reads.
        n_state: so many of them are the SLM's state; the others are the SLM's scaled uncertainties.
        gains: [n], what each input adds to the sum, through the units that are on.
        pushes: [m], what each unit adds to it; 0 where it is off.
        paths: (input, unit, what it adds) of the strongest, at most `N_PATHS`, the strongest first.
        logit: the sum: all pushes, and what is added without a unit.
    """

    inputs: list[float]
    n_state: int
    gains: list[float]
    pushes: list[float]
    paths: list[tuple[int, int, float]]
    logit: float


@dataclass(frozen=True, slots=True)
class Inside:
    """A router at one position.

    Attributes:
        max_probability, entropy, margin: of the SLM's distribution, see `RouterFeatures`.
        llm_entropy: of the LLM's at the token before, in nats; None where the router does not look at it.
        confidence: the router's, 0 to 1.
        layers: None where the router has none, or none of this shape.
    """

    max_probability: float
    entropy: float
    margin: float
    llm_entropy: float | None
    confidence: float
    layers: RouterLayers | None


def inside(
    pair: ModelPair, router: Router, prompt_ids: Sequence[int], written_ids: Sequence[int], *, after_llm: bool
) -> Inside:
    """Reads a text and has the router score the token behind it, as a run does.

    Args:
        pair, router: of the run.
        prompt_ids: at least one token.
        written_ids: the completion's tokens before the one that is decided.
        after_llm: the LLM wrote the last of them.

    Raises:
        SettingError: see `probe`.
        RouterError: the router needs what an LLM on a server does not give.
    """
    ids = [*prompt_ids, *written_ids]
    check_ids(pair, [*ids, ids[-1]])
    check_router(pair, router)
    with torch.inference_mode():
        slm = Reader(pair.slm)
        forward = slm.read([prompt_ids])
        prompt_hidden = forward.hidden
        if written_ids:
            forward = slm.read([ids])
        entropy = logits = None  # of the LLM: at the last token, and behind it
        if router.uses_llm_entropy and after_llm:
            entropy = entropy_of_logits(Reader(pair.local_llm).read([ids[:-1]]).logits).to(pair.slm.device)
        if router.reads_llm:
            logits = Reader(pair.local_llm).read([ids]).logits.to(pair.slm.device)
        features = RouterFeatures(
            hidden=forward.hidden,
            logits=forward.logits,
            prompt_hidden=prompt_hidden,
            sequence_key=torch.tensor([sequence_key(prompt_ids)], device=forward.hidden.device),
            position=torch.tensor([len(written_ids)], device=forward.hidden.device),
            llm_entropy=entropy,
            llm_logits=logits,
        )
        return Inside(
            max_probability=float(features.max_probability),
            entropy=float(features.entropy),
            margin=float(features.margin),
            llm_entropy=None if entropy is None else float(entropy),
            confidence=float(router.confidence(features)),
            layers=_layers(router, features) if isinstance(router, StoredRouter) else None,
        )


def _layers(router: StoredRouter, features: RouterFeatures) -> RouterLayers | None:
    found = router.layers(features)
    if found is None:
        return None
    (first, _, last), inputs = found
    assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    units = torch.relu(first(inputs))[0]
    weights = (last.weight[0] * (units > 0))[:, None] * first.weight  # [m, n]: from an input to the sum
    paths = weights * inputs
    strongest = paths.abs().flatten().topk(min(N_PATHS, paths.numel())).indices
    return RouterLayers(
        inputs=inputs[0].tolist(),
        n_state=router.hidden_size,
        gains=paths.sum(0).tolist(),
        pushes=(units * last.weight[0]).tolist(),
        paths=[(i % len(inputs[0]), i // len(inputs[0]), float(paths.view(-1)[i])) for i in strongest.tolist()],
        logit=float(router.logit(router.network, features)),
    )
