"""What the LLM says at every token, in one pass, against asking it token by token."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.errors import TraceError
from citer_core.evaluation.probe import N_TOP, probe
from citer_core.trace import RoutingTrace


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


@pytest.fixture(scope="module")
def trace() -> RoutingTrace:
    return RoutingTrace.from_json((ASSETS / "traces" / "capital.json").read_text(encoding="utf-8"))


def test_it_says_what_the_llm_said_where_it_was_asked(engine: Engine, trace: RoutingTrace) -> None:
    probed = probe(engine.pair, trace)
    assert [token.index for token in probed] == list(range(trace.n_tokens))
    asked = [event for event in trace.events if event.source == "llm"]
    assert asked
    for event in asked:
        token = probed[event.index]
        assert len(token.llm_top) == N_TOP
        assert token.llm_top[0].token_id == event.token_id
        assert token.llm_top[0].text == event.llm_top[0].text
        assert token.llm_top[0].probability == pytest.approx(event.llm_top[0].probability, abs=1e-4)
        assert token.agrees == (event.slm_token_id == event.token_id)


def test_kl_and_agreement_are_those_of_single_passes(engine: Engine, trace: RoutingTrace) -> None:
    pair = engine.pair
    probed = probe(pair, trace)
    prompt = pair.encode(trace.prompt.text)
    for index in (0, 7, trace.n_tokens - 1):
        text = torch.tensor([*prompt, *(event.token_id for event in trace.events[:index])])
        with torch.inference_mode():
            slm, llm = (
                torch.log_softmax(model.forward(text, model.new_cache())[0][-1].double(), dim=-1)
                for model in (pair.slm, pair.llm)
            )
        assert probed[index].kl == pytest.approx(float((llm.exp() * (llm - slm)).sum()), abs=2e-4)
        assert probed[index].agrees == bool(slm.argmax() == llm.argmax())


def test_a_run_of_other_weights_is_refused(engine: Engine, trace: RoutingTrace) -> None:
    other = replace(trace, pair=replace(trace.pair, revision="another"))
    with pytest.raises(TraceError, match="other weights"):
        probe(engine.pair, other)
    broken = replace(trace, events=(replace(trace.events[0], token_id=10**6),))
    with pytest.raises(TraceError, match="damaged"):
        probe(engine.pair, broken)
    assert probe(engine.pair, replace(trace, events=())) == ()
