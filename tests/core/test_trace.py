"""The trace's JSON form, its derived numbers, and what it refuses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.cost import H100_SXM, ModelSpec
from citer_core.trace import AnswerInfo, PairInfo, PromptInfo, RecordInfo, RouterInfo, RoutingTrace
from citer_core.types import Candidate, DecodeSettings, TokenEvent

SPEC = ModelSpec("m", 1000, 2, 4, 2, 8, 10, 16, True)
unit = st.floats(0, 1)
seconds = st.floats(0, 10)
top = st.lists(st.builds(Candidate, st.integers(0, 9), st.text(max_size=4), unit), max_size=3).map(tuple)


@st.composite
def traces(draw):
    n = draw(st.integers(0, 8))
    events = []
    for i in range(n):
        source = draw(st.sampled_from(["slm", "llm"]))
        events.append(
            TokenEvent(
                i, draw(st.integers(0, 9)), draw(st.text(max_size=5)), source, 3, draw(unit), draw(unit), 1,
                int(source == "llm"), 5 + i, draw(seconds), draw(seconds), draw(seconds), draw(top), draw(top),
            )
        )  # fmt: skip
    return RoutingTrace(
        pair=PairInfo("p", "r", SPEC, SPEC, "float32", "cpu"),
        router=RouterInfo("max-probability", "", 0),
        settings=DecodeSettings(threshold=draw(unit), seed=draw(st.integers(-5, 5))),
        prompt=PromptInfo("math", draw(st.text(max_size=9)), "text", 5, 1),
        events=tuple(events),
        finish_reason=draw(st.sampled_from(["eos", "length", "cancelled", "error", None])),
        record=RecordInfo("2026-01-01", "a CPU", "0.1.0"),
        answer=draw(st.sampled_from([None, AnswerInfo("4", "4", True), AnswerInfo(None, None, None)])),
        title=draw(st.text(max_size=5)),
    )


@settings(max_examples=8, deadline=None)
@given(traces())
def test_round_trip_is_exact(trace):
    assert RoutingTrace.from_json(trace.to_json()) == trace
    assert RoutingTrace.from_json(trace.to_json()).to_json() == trace.to_json()


@settings(max_examples=8, deadline=None)
@given(traces())
def test_derived_numbers(trace):
    llm = [e for e in trace.events if e.source == "llm"]
    assert trace.n_llm_tokens == len(llm)
    assert trace.llm_token_share == (len(llm) / len(trace.events) if trace.events else 0)
    assert trace.completion == "".join(e.text for e in trace.events)
    assert trace.n_hand_offs == sum(
        trace.events[i].source != trace.events[i - 1].source for i in range(1, trace.n_tokens)
    )
    assert trace.cost(H100_SXM).routed.n_bytes >= trace.cost(H100_SXM).slm_only.n_bytes
