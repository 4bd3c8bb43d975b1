"""Replaying a run at another tau: decisions, cost, and how far the text is known to stay the same."""

from __future__ import annotations

from dataclasses import replace as changed

from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.replay import replay
from citer_core.trace import RouterInfo, RoutingTrace
from tests.traces import made_trace


def test_at_its_own_tau_a_run_is_what_it_was() -> None:
    trace = made_trace(threshold=0.65)
    again = replay(trace, 0.65)
    assert again.first_flip is None and again.n_llm_tokens == trace.n_llm_tokens
    assert again.llm_tokens_fed == tuple(event.llm_tokens_fed for event in trace.events)
    assert again.cost == trace.cost(H100_SXM)


def test_at_another_tau_it_is_the_run_made_there_on_the_same_confidences() -> None:
    confidences = (0.9, 0.2, 0.6, 0.7)
    again = replay(made_trace(threshold=0.3, confidences=confidences), 0.65).to_dict()
    made = made_trace(threshold=0.65, confidences=confidences)
    assert again["decisions"] == [event.source for event in made.events]
    assert again["llm_tokens_fed"] == [event.llm_tokens_fed for event in made.events]
    assert again["first_flip"] == 2 and again["n_hand_offs"] == made.n_hand_offs
    model = CostModel(made.pair.slm, made.pair.llm, H100_SXM, made.router.n_params)
    assert again["cost"]["routed"]["bytes"] == CostSummary.of(model, made.events).routed.n_bytes


def with_slm_tokens(trace: RoutingTrace, token_ids: dict[int, int]) -> RoutingTrace:
    """The run, with what the SLM would have written at some tokens; elsewhere it is what was written."""
    events = [changed(event, slm_token_id=token_ids.get(event.index, event.token_id)) for event in trace.events]
    return changed(trace, events=tuple(events))


def test_a_token_that_both_would_write_changes_hands_and_nothing_else() -> None:
    trace = with_slm_tokens(made_trace(threshold=0.7, confidences=(0.9, 0.2, 0.6, 0.8)), {5: 99})
    assert [event.source for event in trace.events[:6]] == ["slm", "llm", "llm", "slm", "slm", "llm"]
    some = replay(trace, 0.5)
    assert (some.first_flip, some.n_exact, some.doubt) == (2, trace.n_tokens, None)
    assert some.is_same_text and some.decisive[5] is True and some.decisive[1] is False and some.decisive[2] is False
    less = replay(trace, 0.1)
    assert (less.first_flip, less.n_exact, less.doubt) == (1, 5, "other")


def test_what_the_llm_would_write_is_known_from_a_probe_of_a_greedy_run_only() -> None:
    trace = with_slm_tokens(made_trace(threshold=0.5, confidences=(0.9, 0.2, 0.6)), {})
    probe = [{"llm_top": [[event.token_id, "", 0.6], [99, "", 0.2]]} for event in trace.events]
    assert (replay(trace, 0.7).n_exact, replay(trace, 0.7).doubt) == (2, "unknown")
    assert replay(trace, 0.7).decisive[2] is None
    assert replay(trace, 0.7, probe=probe).is_same_text
    sampled = changed(trace, settings=changed(trace.settings, temperature=0.8))
    assert replay(sampled, 0.7, probe=probe).doubt == "unknown"
    probe[2] = {"llm_top": [[99, "", 0.4], [trace.events[2].token_id, "", 0.4]]}  # a tie
    assert replay(trace, 0.7, probe=probe).doubt == "unknown"
    probe[2] = {"llm_top": [[99, "", 0.5], [trace.events[2].token_id, "", 0.4]]}
    other = replay(trace, 0.7, probe=probe)
    assert (other.n_exact, other.doubt, other.decisive[2]) == (2, "other", True)


def test_a_router_that_looks_at_who_wrote_before_is_exact_to_its_first_flip() -> None:
    trace = with_slm_tokens(made_trace(threshold=0.7, confidences=(0.9, 0.2, 0.6)), {})
    looking = changed(trace, router=RouterInfo("any", "", 0, depends_on_writers=True))
    assert replay(trace, 0.5).is_same_text
    assert (replay(looking, 0.5).first_flip, replay(looking, 0.5).n_exact) == (2, 3)
    assert replay(looking, 0.5).doubt == "confidence"


def test_a_router_that_reads_the_llm_pays_for_it_at_every_tau() -> None:
    everywhere = made_trace(threshold=1.0, confidences=(0.9, 0.2, 0.6))
    events = [
        changed(
            event, threshold=0.5, source="llm" if event.slm_confidence < 0.5 else "slm", slm_token_id=event.token_id
        )
        for event in everywhere.events
    ]
    settings = changed(everywhere.settings, threshold=0.5)
    router = RouterInfo("any", "", 0, reads_llm=True)
    trace = changed(everywhere, events=tuple(events), settings=settings, router=router)
    assert replay(trace, 0.5).cost == trace.cost(H100_SXM)
    assert replay(trace, 0.6).cost == trace.cost(H100_SXM)  # nothing flips, and once this fell by a quarter
    assert replay(trace, 0.0).cost == trace.cost(H100_SXM)


def test_a_token_that_a_person_swapped_stays_whatever_tau_says() -> None:
    """At tau 1 the LLM writes everything, so that a swapped LLM token is forced and yet by the rule."""
    trace = made_trace(threshold=1.0)
    swapped = changed(trace.events[1], token_id=77, forced=True)
    branch = changed(trace, events=(trace.events[0], swapped, *trace.events[2:]))
    again = replay(branch, 0.0)
    assert again.decisions[1] == "llm" and 1 not in again.flips
    assert len(again.flips) == trace.n_tokens - 1


def test_a_branch_at_its_own_tau_is_what_it_was_whatever_tau_it_began_with() -> None:
    low, high = made_trace(threshold=0.3), made_trace(threshold=0.7)
    branch = changed(high, events=(*low.events[:3], *high.events[3:]))
    assert replay(branch, 0.7).flips == () and replay(branch, 0.7).decisions[2] == low.events[2].source


def test_traces_from_before_routers_said_what_they_read_are_known_by_the_name() -> None:
    for name, reads, depends in (
        ("disagreement", True, False),
        ("bidirectional-entropy", False, True),
        ("x", False, False),
    ):
        document = changed(made_trace(), router=RouterInfo(name, "", 0)).to_dict()
        del document["router"]["reads_llm"], document["router"]["depends_on_writers"]
        router = RoutingTrace.from_dict(document).router
        assert (router.reads_llm, router.depends_on_writers) == (reads, depends)
