"""The probe against the run itself and against plain forward passes."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from citer_core.assets import ASSETS
from citer_core.errors import SettingError, TraceError
from citer_core.routing import probe as probing
from citer_core.routing.decode import decode
from citer_core.routing.probe import probe, probe_trace
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings

PROMPT = [11, 402, 77, 8, 960]


@pytest.mark.parametrize("chunk", [3, 256])
def test_it_says_what_the_run_saw_and_what_it_did_not_ask(tiny_pair, monkeypatch, chunk):
    monkeypatch.setattr(probing, "CHUNK", chunk)
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    events = list(decode(pair, MaxProbabilityRouter(), PROMPT, DecodeSettings(threshold=0.5, max_new_tokens=20)))
    written = [event.token_id for event in events]
    found = list(probe(pair, PROMPT, written))
    assert len(found) == len(events)
    with torch.inference_mode():
        whole = torch.tensor([PROMPT + written])
        slm, llm = (
            torch.log_softmax(lm.model(input_ids=whole, use_cache=False).logits[0, len(PROMPT) - 1 : -1, :1536], -1)
            for lm in (pair.slm, pair.llm)
        )
    for i, (event, token) in enumerate(zip(events, found, strict=True)):
        assert [c.token_id for c in token.slm_top] == [c.token_id for c in event.slm_top]
        if event.source == "llm":
            assert [c.token_id for c in token.llm_top] == [c.token_id for c in event.llm_top]
        assert token.kl == pytest.approx(float((llm[i].exp() * (llm[i] - slm[i])).sum()), rel=1e-3, abs=1e-4)
        assert token.slm_entropy == pytest.approx(float(-(slm[i].exp() * slm[i]).sum()), rel=1e-3, abs=1e-4)
        assert token.agree == (int(slm[i].argmax()) == int(llm[i].argmax()))


def test_what_it_cannot_read_is_said(tiny_pair):
    with pytest.raises(SettingError, match="does not know"):
        list(probe(tiny_pair, PROMPT, [10**7]))
    with pytest.raises(SettingError, match="reads 512"):
        list(probe(tiny_pair, PROMPT, [1] * 600))


def test_a_recorded_run_is_probed_where_it_was_asked_and_where_not(engine):
    pair = engine.pair
    trace = RoutingTrace.from_json((ASSETS / "traces" / "capital.json").read_text(encoding="utf-8"))
    probed = probe_trace(pair, trace)
    assert len(probed) == trace.n_tokens
    asked = [event for event in trace.events if event.source == "llm"]
    assert asked
    for event in asked:
        token = probed[event.index]
        assert [c.token_id for c in token.llm_top] == [c.token_id for c in event.llm_top]
        assert token.llm_top[0].probability == pytest.approx(event.llm_top[0].probability, abs=1e-4)
        assert token.agree == (event.slm_token_id == event.token_id)
    other = dataclasses.replace(trace, pair=dataclasses.replace(trace.pair, revision="another"))
    with pytest.raises(TraceError, match="other weights"):
        probe_trace(pair, other)
    longer = dataclasses.replace(trace, prompt=dataclasses.replace(trace.prompt, n_tokens=3))
    with pytest.raises(TraceError, match="damaged"):
        probe_trace(pair, longer)
    assert probe_trace(pair, dataclasses.replace(trace, events=())) == []
