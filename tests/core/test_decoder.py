"""The one loop in every way that it is used, against a loop without caches that is written from the rule alone."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from citer_core.errors import PromptError
from citer_core.fork import Fork
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode_batch
from citer_core.routing.decoder import Decoder
from citer_core.routing.memory import Memory
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.routing.sampling import uniform_at
from citer_core.types import DecodeSettings
from tests.completions_server import CompletionsServer
from tests.core.conftest import LLAMA3_ROPE, tiny_llama, tiny_mistral, tiny_qwen2
from tests.core.examples import decoded, generated, random_prompts, remote
from tests.core.test_batch_decode import PatternRouter
from tests.sampling import sampled

N = 14
PROMPTS = [[11, 402, 77], [8], list(range(200, 230)), *random_prompts(2, longest=12)]  # five of mixed lengths
FAMILIES = {
    "qwen2 and llama": lambda: (tiny_qwen2(1), tiny_llama(2)),
    "llama 3": lambda: [tiny_llama(seed, num_key_value_heads=1, rope_parameters=LLAMA3_ROPE) for seed in (2, 5)],
    "mistral": lambda: (tiny_mistral(), tiny_qwen2(1)),
    "sliding window": lambda: (tiny_mistral(sliding_window=8), tiny_qwen2(3)),  # through transformers' own forward
}
# Those that read the SLM, the LLM's last token, both models, chance and the prompt are tried here, the others slow.
ROUTERS = (
    "max-probability", "entropy", "bidirectional-entropy", "margin", "always-slm", "disagreement", "always-llm",
    "random", "citer", "citer-plus", "query-level",
)  # fmt: skip
KNOWN = {}  # what models said after texts
SAMPLINGS = {"greedy": {}, "sampled": {"temperature": 0.9, "top_p": 0.8, "seed": 4}}


@pytest.fixture(scope="module", params=sampled(FAMILIES, 3))
def pair(request, tokenizer):
    made = ModelPair.assemble(request.param, *FAMILIES[request.param](), tokenizer)
    return dataclasses.replace(made, eos_ids=frozenset({0, 700, 701, 702, 703}))


@pytest.fixture(scope="module", autouse=True)
def _forgets():
    yield
    KNOWN.clear()


def router_of(pair, name):
    """One without training, or a stored kind with any weights."""
    if name in training_free_routers():
        return training_free_routers()[name]
    torch.manual_seed(0)
    network = stored_kinds()[name].build(pair.hidden_size)
    for parameter in network.parameters():  # `citer-plus` starts with zeros, which say nothing
        torch.nn.init.normal_(parameter, std=0.3)
    return stored_kinds()[name](network, {"name": name, "label": name, "hidden_size": pair.hidden_size})


def said(lm, ids):
    """[V] logits and [1, H] state after a text, from a forward over all of it.

    It says them of all its beginnings too: those are not asked for again.
    """
    if (lm, *ids) not in KNOWN:
        with torch.inference_mode():
            out = lm.model(input_ids=torch.tensor([ids]), use_cache=False, output_hidden_states=True)
        logits, states = out.logits[0, :, :1536].clone(), out.hidden_states[-1][0]
        for n in range(1, len(ids) + 1):
            KNOWN.setdefault((lm, *ids[:n]), (logits[n - 1], states[n - 1 : n]))
    return KNOWN[(lm, *ids)]


def foresee(pair, prompt, *texts):
    """Both models read what was written, at once; where that is wrong, the rule comes to a text that is not known."""
    for text in texts:
        for lm in (pair.slm, pair.llm):
            said(lm, [*prompt, *text])


def drawn(logits, how, index):
    """The token of one distribution: the greatest logit, or where a number falls in the nucleus."""
    if how.temperature == 0:
        return int(logits.argmax())
    scaled = logits.double().numpy() / how.temperature
    chances = np.exp(scaled - scaled.max()) / np.exp(scaled - scaled.max()).sum()
    order = np.argsort(-chances, kind="stable")
    sums = np.cumsum(chances[order])
    n_kept = int((sums - chances[order] < how.top_p).sum())
    at = int(np.searchsorted(sums, uniform_at(how.seed, index) * sums[n_kept - 1], side="right"))
    return int(order[min(at, n_kept - 1)])


def entropy_of(logits):
    chances = torch.softmax(logits, dim=-1)
    return float(-(chances * chances.log()).nan_to_num(0).sum())


def mistake(pair, prompt, written, scores, first, how):
    """The first of the tokens written from a place on that the LLM takes back, and what it writes there instead."""
    said(pair.llm, [*prompt, *written])
    for place in range(first, len(written)):
        logits, token = said(pair.llm, [*prompt, *written[:place]])[0], written[place]
        own, chances = drawn(logits, how, place), torch.softmax(logits, dim=-1)
        if scores[place] >= how.take_back_below < 1:
            continue
        least = how.take_back * (1.0 if how.take_back_absolute else chances[own])
        if token != own and (how.take_back == 1 or chances[token] < least):
            return place, own
    return None


def by_the_rule(pair, router, prompt, how, fork=None):
    """What each event is to be: the SLM reads, the router scores, one of the two writes; and what each reads for it.

    The LLM may be called by doubts or by distance too, and take back what it reads.
    """
    fork = fork or Fork()
    written, found, entropy, writer = fork.token_ids, [], math.nan, fork.source
    judged, doubts = len(written), 0.0
    for event in fork.events:
        doubts = 0.0 if event.llm_tokens_fed else doubts + router.doubt(event.slm_confidence)
    slm_read, llm_read = (len(prompt) + len(written) - 1 if written else 0), fork.n_read_by_llm
    if written and fork.events[-1].source == "llm":
        entropy = entropy_of(said(pair.llm, [*prompt, *written[:-1]])[0])
    prompt_hidden = said(pair.slm, prompt)[1]
    while len(written) < how.max_new_tokens and not (written and written[-1] in pair.eos_ids):
        text = [*prompt, *written]
        slm, hidden = said(pair.slm, text)
        llm = said(pair.llm, text)[0] if router.reads_llm else None
        slm_fed, slm_read = len(text) - slm_read, len(text)
        numbers = torch.tensor([sequence_key(prompt)]), torch.tensor([len(written)]), torch.tensor([entropy])
        read = llm if llm is None else llm[None]
        score = float(router.confidence(RouterFeatures(hidden, slm[None], prompt_hidden, *numbers, read)))
        by_llm = writer == "llm" if writer else score < how.threshold or how.threshold >= 1
        own, llm_fed, at_end = drawn(slm, how, len(written)), 0, False
        if not writer:
            doubts += router.doubt(score)
            since = len(text) - max(len(prompt), llm_read + 1)
            by_llm = by_llm or 0 < how.doubt_budget < doubts or 0 < how.look_every <= since
            ends = own in pair.eos_ids or len(written) + 1 == how.max_new_tokens
            at_end = how.take_back > 0 and ends and not by_llm and doubts > how.final_doubt and not router.reads_llm
        if by_llm or at_end or router.reads_llm:
            llm_fed, llm_read = len(text) - llm_read, len(text)
        in_question = [*written, own] if at_end else written
        wrong = None
        if (by_llm or at_end) and how.take_back > 0 and not router.reads_llm:
            scores = [math.nan] * len(fork.events) + [one[2] for one in found] + [score]
            wrong = mistake(pair, prompt, in_question, scores, judged, how)
        if wrong:
            place, token = wrong
            gone = [one[:4] for one in found[place - len(fork.events) :]] + [(own, "slm", score, slm_fed)]
            del written[place:], found[place - len(fork.events) :]
            context = len(prompt) + place
            llm_read = slm_read = context
            logits = said(pair.llm, [*prompt, *written])[0]
            chances = torch.log_softmax(logits, dim=-1)
            discarded = [(one[0], one[2]) for one in gone]
            found.append(
                (token, "llm", gone[0][2], gone[0][3], llm_fed, context, discarded, float(chances[gone[0][0]].exp()))
            )
            written.append(token)
            entropy = entropy_of(logits)
        else:
            llm = said(pair.llm, text)[0] if by_llm else None
            chosen = fork.token_id if writer else None
            written.append(chosen if chosen is not None else own if llm is None else drawn(llm, how, len(written)))
            entropy = math.nan if llm is None else entropy_of(llm)
            found.append((written[-1], "llm" if by_llm else "slm", score, slm_fed, llm_fed, len(text), [], 0.0))
        if by_llm or at_end or writer:
            judged = len(written)
        if by_llm or at_end:
            doubts = 0.0
        writer = None
    return found


def same(found, expected):
    def exact(told):
        return [(*one[:2], *one[3:6], [token for token, _ in one[6]]) for one in told]

    def near(told):
        return [number for one in told for number in (one[2], one[7], *(score for _, score in one[6]))]

    assert exact(found) == exact(expected)
    assert near(found) == pytest.approx(near(expected), abs=2e-4)


def told(events):
    """What the events say, of those that stay."""
    kept = []
    for e in events:
        kept[e.index - events[0].index :] = [e]
    return [
        (
            *(e.token_id, e.source, e.slm_confidence, e.slm_tokens_fed, e.llm_tokens_fed, e.context_len),
            [(gone.token_id, gone.slm_confidence) for gone in e.discarded],
            e.read[-len(e.discarded)][0] if e.discarded else 0.0,
        )
        for e in kept
    ]


def follows(pair, router, prompt, how, events, fork=None, *, is_whole=True):
    """The events are those of the rule, or where it was stopped the first of them."""
    ids = [*fork.token_ids] if fork else []
    for event in events:
        if event.discarded:
            foresee(pair, prompt, [*ids[: event.index], *(gone.token_id for gone in event.discarded)])
        ids[event.index :] = [event.token_id]
    foresee(pair, prompt, ids)
    wanted = by_the_rule(pair, router, prompt, how, fork)
    same(told(events), wanted if is_whole else wanted[: len(told(events))])


def test_every_router_of_the_project_is_tried():
    assert {*ROUTERS} == {*training_free_routers(), *stored_kinds()}


@pytest.mark.parametrize("pair", sampled(FAMILIES, 4), indirect=True)
@pytest.mark.parametrize(("name", "sampled_how"), sampled(itertools.product(ROUTERS, SAMPLINGS), 5))
def test_every_way_is_the_rule(pair, name, sampled_how):
    """One at a time, replayed, in a batch, from a memory, and from the middle of another run."""
    router, sampling = router_of(pair, name), SAMPLINGS[sampled_how]
    scores = sorted(e.slm_confidence for e in decoded(pair, router, PROMPTS[0], DecodeSettings(0.0, 9, **sampling))[0])
    how = DecodeSettings(min(1.0, scores[len(scores) // 2] + 1e-3), N, **sampling)

    one, writers = decoded(pair, router, PROMPTS[0], how)[0], set()
    forks = [
        None, Fork((), "llm"), Fork(tuple(one[:3])), Fork(tuple(one[:2]), "slm", 77), Fork(tuple(one[:-1]), "slm")
    ]  # fmt: skip
    for made in [pair, pair.with_graphs()] if pair.slm.is_fused else [pair]:
        for fork in forks:
            follows(pair, router, PROMPTS[0], how, decoded(made, router, PROMPTS[0], how, fork=fork)[0], fork)

    for memory in [None] if sampling else [None, Memory()]:
        for _ in range(1 if memory is None else 2):  # once more when all is known
            for s in decode_batch(pair, router, PROMPTS, how, batch_size=3, memory=memory):
                follows(pair, router, PROMPTS[s.index], how, events := s.new_events(pair))
                writers |= {event.source for event in events}
    assert writers == {"slm", "llm"} or name in ("disagreement", "always-slm", "always-llm")


@pytest.mark.parametrize("pace", [Pace(2, wait_rounds=3, read_tokens=5), Pace(4)], ids=["in parts", "whole"])
def test_lanes_with_joins_and_leaves(pair, pace):
    """Every router, tau, length and sampling in one set, half of them branches of another run; some leave early."""
    draw, asked, runs = random.Random(3), [], {}
    for prompt, sampling in zip(PROMPTS * 2, [*SAMPLINGS.values()] * len(PROMPTS), strict=True):
        router = router_of(pair, draw.choice(ROUTERS))
        how = DecodeSettings(draw.choice([0.0, 0.4, 0.6, 1.0]), draw.randint(2, N), **sampling)
        fork = None
        if len(asked) % 2:
            parent = decoded(pair, MaxProbabilityRouter(), prompt, dataclasses.replace(how, threshold=0.5))[0]
            shared = tuple(parent[: draw.randrange(len(parent))])
            fork = Fork(shared, draw.choice([None, "slm", "llm"]))
        asked.append((prompt, router, how, fork))
    decoder = Decoder(pair, 4, pace)
    while asked or decoder.live:
        while asked and decoder.n_free:
            prompt, router, how, fork = asked.pop()
            runs[decoder.admit(prompt, router, how, fork=fork)] = router, prompt, how, fork
        decoder.step()
        if decoder.live and draw.random() < 0.15:
            decoder.cancel(draw.choice(decoder.live))
    assert {"cancelled"} < {s.finish_reason for s in runs}
    for s, (router, prompt, how, fork) in runs.items():
        follows(pair, router, prompt, how, s.new_events(pair), fork, is_whole=s.finish_reason != "cancelled")


def test_an_llm_on_a_server(pair):
    router, how = MaxProbabilityRouter(), DecodeSettings(0.5, N)
    with CompletionsServer(pair.llm.model, pair.tokenizer) as server:
        away = remote(pair, server)
        follows(pair, router, PROMPTS[0], how, decoded(away, router, PROMPTS[0], how)[0])
        for s in decode_batch(away, router, PROMPTS, how, batch_size=3):
            follows(pair, router, PROMPTS[s.index], how, s.new_events(away))


@pytest.mark.parametrize(("tau", "which"), [(0.0, "slm"), (1.0, "llm")])
def test_the_two_ends_of_tau_are_generate(tiny_pair, tau, which):
    """Both models' own text up to its end, one prompt at a time and many; every event with its candidates."""
    expected = [generated(getattr(tiny_pair, which), prompt, 16) for prompt in PROMPTS]
    router, how = MaxProbabilityRouter(), DecodeSettings(tau, 16)
    events = [decoded(tiny_pair, router, prompt, how)[0] for prompt in PROMPTS]
    assert [[event.token_id for event in run] for run in events] == expected
    many = {s.index: s.token_ids for s in decode_batch(tiny_pair, router, PROMPTS, how, batch_size=3)}
    assert [many[index] for index in range(len(PROMPTS))] == expected
    for event in events[0]:
        top = event.llm_top if event.source == "llm" else event.slm_top
        assert (top[0].token_id, event.slm_top[0].token_id) == (event.token_id, event.slm_token_id)
        assert len(top) == 5 and [c.probability for c in top] == sorted((c.probability for c in top), reverse=True)


def test_what_ends_a_run_and_what_a_model_reads_for_it(tiny_pair):
    prompt, router, how = PROMPTS[0], MaxProbabilityRouter(), DecodeSettings(0.0, 12)
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    (whole, reason), ids = decoded(pair, router, prompt, how), generated(pair.slm, prompt, 12, None)
    assert ([event.token_id for event in whole], reason) == (ids, "length")
    for end in (ids[0], ids[3]):  # one of several
        events, reason = decoded(dataclasses.replace(pair, eos_ids=frozenset({end, 1535})), router, prompt, how)
        assert reason == "eos" and [e.token_id for e in events] == ids[: ids.index(end) + 1]
    assert len(decoded(dataclasses.replace(pair, max_context=len(prompt) + 3), router, prompt, how)[0]) == 3
    for short, text, says in ((len(prompt), prompt, f"at most {len(prompt) - 1}"), (512, [], "empty")):
        with pytest.raises(PromptError, match=says):
            decoded(dataclasses.replace(pair, max_context=short), router, text, how)
    asked = iter([False] * 3 + [True])
    events, reason = decoded(pair, router, prompt, how, is_cancelled=lambda: next(asked))
    assert (len(events), reason) == (3, "cancelled") and told(events) == told(whole[:3])
    # As the authors' published code does it: the LLM reads all at every call, and writes the same.
    pattern = PatternRouter([prompt], ["SSL"])
    kept, again = (decoded(pair, pattern, prompt, DecodeSettings(0.5, 9), reuse_llm_cache=kept)[0] for kept in (1, 0))
    follows(pair, pattern, prompt, DecodeSettings(0.5, 9), kept)
    assert [event.token_id for event in again] == [event.token_id for event in kept]
    assert [e.llm_tokens_fed for e in again] == [0, 0, len(prompt) + 2, 0, 0, len(prompt) + 5, 0, 0, len(prompt) + 8]


def test_a_pass_that_fails_ends_all_and_its_seats_are_not_lent_again(tiny_pair, monkeypatch):
    graphs = tiny_pair.with_graphs()
    list(decode_batch(graphs, MaxProbabilityRouter(), PROMPTS, DecodeSettings(0.5, 3), batch_size=2))
    used = set(map(id, graphs.slm._seats._idle))
    assert used
    decoder = Decoder(graphs, 2, Pace())
    live = [decoder.admit(prompt, MaxProbabilityRouter(), DecodeSettings(0.5, N)) for prompt in PROMPTS[:2]]
    decoder.step()
    lent = {id(place.seat) for place in decoder._slm._places.values()}
    monkeypatch.setattr(type(decoder._slm), "read", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decoder.step()
    assert not decoder.live and {s.finish_reason for s in live} == {"error"}
    assert not lent & set(map(id, graphs.slm._seats._idle))


@settings(max_examples=6, deadline=None)
@given(
    st.text("SL", min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=4),
)
@example("SSL", [(3, 1)])  # where it waits
def test_cut_back_anywhere_and_gone_on(pair, pattern, cuts):
    """After so many steps, to so many tokens, also where it waits for the LLM: then comes what one run writes."""
    free = dataclasses.replace(pair, eos_ids=frozenset())
    prompts, how = PROMPTS[:2], DecodeSettings(0.5, N)
    router = PatternRouter(prompts, [pattern, "SSSL"])
    for made in [free, free.with_graphs()] if free.slm.is_fused else [free]:
        decoder = Decoder(made, 2, Pace(2, wait_share=1.0))  # one waits until the other does too
        s, other = (decoder.admit(prompt, router, how) for prompt in prompts)
        for n_steps, length in cuts:
            for _ in range(n_steps):
                if s.finish_reason is None:
                    decoder.step()
            if s.finish_reason is None:
                s.new_events(made)
                decoder.truncate(s, min(length, s.n_written))
        while decoder.live:
            decoder.step()
        for sequence, prompt in zip((s, other), prompts, strict=True):
            foresee(free, prompt, sequence.token_ids)
            events = by_the_rule(free, router, prompt, how)
            assert sequence.token_ids == [token for token, *_ in events]
            assert [step.source for step in sequence.steps] == [writer for _, writer, *_ in events]
