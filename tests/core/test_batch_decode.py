"""Many prompts at once against one at a time: the same tokens, decisions, feeds and endings, whatever shares a pass."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.errors import PromptError
from citer_core.models.language_model import LanguageModel
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode_batch
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import Router
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.core.examples import decoded, generated, random_prompts, uncached

SECONDS = ("slm_s", "router_s", "llm_s")
RAGGED = [[11, 402, 77], [8], list(range(200, 290)), *random_prompts(6), [9] * 40]
PATTERNS = ["S", "L", "SL", "SSSSSSSL", "LLS", "SSLLLSSSSSLS", "LSSSSSSSSSSSSS", "SSSL", "LS", "SLLLLLLS"]


class PatternRouter(Router):
    """Follows a pattern of its own for every prompt, whatever else is in the batch."""

    name, label = "pattern", "Pattern"

    def __init__(self, prompts, patterns):
        self._patterns = {sequence_key(p): patterns[i % len(patterns)] for i, p in enumerate(prompts)}

    def confidence(self, features):
        patterns = [self._patterns[int(key)] for key in features.sequence_key]
        places = zip(patterns, features.position.tolist(), strict=True)
        return torch.tensor([0.1 if pattern[i % len(pattern)] == "L" else 0.9 for pattern, i in places])


def free(pair):
    return dataclasses.replace(pair, eos_ids=frozenset())


def ending(pair):
    """The pair with several end tokens, taken from its own texts, so that rows end at different times."""
    texts = [uncached(free(pair), prompt, pattern, 30) for prompt, pattern in zip(RAGGED[:5], PATTERNS, strict=False)]
    return dataclasses.replace(pair, eos_ids=frozenset({texts[0][4], texts[1][0], texts[2][11], texts[3][25]}))


def one_by_one(pair, router, prompts, decode_settings):
    return [decoded(pair, router, prompt, decode_settings) for prompt in prompts]


def batched(pair, router, prompts, decode_settings, batch_size, **options):
    found = list(decode_batch(pair, router, prompts, decode_settings, batch_size=batch_size, **options))
    assert Counter(c.index for c in found) == Counter(range(len(prompts)))
    return [(c.new_events(pair), c.finish_reason) for c in sorted(found, key=lambda c: c.index)]


def assert_same(found, expected):
    """Equal but for seconds; probabilities up to rounding."""
    assert len(found) == len(expected)
    for (ours, our_end), (theirs, their_end) in zip(found, expected, strict=True):
        assert our_end == their_end
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert a.slm_confidence == pytest.approx(b.slm_confidence, abs=1e-4)
            for top_a, top_b in ((a.slm_top, b.slm_top), (a.llm_top, b.llm_top)):
                assert [c.token_id for c in top_a] == [c.token_id for c in top_b]
                assert [c.probability for c in top_a] == pytest.approx([c.probability for c in top_b], abs=1e-4)
            blank = dict.fromkeys(SECONDS, 0.0) | {"slm_confidence": 0.0, "slm_top": (), "llm_top": ()}
            assert dataclasses.replace(a, **blank) == dataclasses.replace(b, **blank)


def test_candidates_are_kept_only_on_request(tiny_pair):
    router = PatternRouter(RAGGED, ["SL"])
    for events, _ in batched(tiny_pair, router, RAGGED, DecodeSettings(0.5, 4), 3):
        assert all(e.slm_top == e.llm_top == () for e in events)


def test_rows_that_need_the_llm_wait_for_each_other(tiny_pair, passes):
    """One LLM token in eight, at a place of its own in every row: alone, each would cost a pass of the LLM."""
    pair, prompts = free(tiny_pair), random_prompts(8)
    patterns = ["S" * i + "L" + "S" * (7 - i) for i in range(8)]
    router, settings_ = PatternRouter(prompts, patterns), DecodeSettings(0.5, 16)
    found = batched(pair, router, prompts, settings_, 8, with_candidates=True)
    rows = [len(texts) for lm, texts, _ in passes if lm is pair.llm]
    assert sum(rows) == 16  # two for each row
    assert min(rows[:-1]) >= 4 and len(rows) <= 4
    assert_same(found, one_by_one(pair, router, prompts, settings_))


@pytest.fixture
def fed(monkeypatch):
    """How many tokens each model really reads from now on."""
    counted, forward = Counter(), LanguageModel.forward

    def counting(self, new_ids, cache, slots, n_last):
        counted[id(self)] += sum(map(len, new_ids))
        return forward(self, new_ids, cache, slots, n_last)

    monkeypatch.setattr(LanguageModel, "forward", counting)
    return counted


def test_examples_in_front_of_every_question_are_read_once(tiny_pair, fed):
    """And each run costs what it would cost alone, whatever was there before it."""
    shots = [(17 * k) % 1535 + 1 for k in range(60)]
    prompts = [[*shots, 20 + n, 3 * n + 1] for n in range(12)]
    pair, router, settings_ = free(tiny_pair), PatternRouter(prompts, PATTERNS), DecodeSettings(0.5, 12)
    expected = one_by_one(pair, router, prompts, settings_)
    fed.clear()
    assert_same(batched(pair, router, prompts, settings_, 3, with_candidates=True), expected)
    # The three prompts of the first pass come together; of the other nine only what follows the examples is read.
    assert fed[id(pair.slm)] == 3 * len(shots) + 12 * (2 + 11)


# --- how rows end


def test_a_row_that_ended_is_fed_nothing_more(tiny_pair, fed):
    """In the published code finished rows of a batch go on, and what they write is decoded with the answer."""
    pair, router = ending(tiny_pair), PatternRouter(RAGGED, PATTERNS)
    fed.clear()
    found = batched(pair, router, RAGGED, DecodeSettings(0.5, 30), 4)
    for (events, reason), prompt in zip(found, RAGGED, strict=True):
        assert not any(e.token_id in pair.eos_ids for e in events[:-1])
        assert (events[-1].token_id in pair.eos_ids) == (reason == "eos")
        assert sum(e.slm_tokens_fed for e in events) == len(prompt) + len(events) - 1
    assert fed[id(pair.slm)] == sum(len(p) + len(e) - 1 for p, (e, _) in zip(RAGGED, found, strict=True))
    assert fed[id(pair.llm)] == sum(e.llm_tokens_fed for events, _ in found for e in events)


def test_the_context_ends_each_row_in_its_own_place(tiny_pair):
    pair = dataclasses.replace(free(tiny_pair), max_context=44)
    prompts = [prompt for prompt in RAGGED if len(prompt) < 44]
    found = batched(pair, MaxProbabilityRouter(), prompts, DecodeSettings(0.5, 20), 3)
    assert [len(events) for events, _ in found] == [min(20, 44 - len(prompt)) for prompt in prompts]
    assert {reason for _, reason in found} == {"length"} and len(found[-1][0]) == 4


@pytest.mark.parametrize(("bad", "part"), [([], "empty"), ([7] * 44, "at most 43")])
def test_one_bad_prompt_stops_the_batch_before_anything_is_decoded(tiny_pair, monkeypatch, bad, part):
    pair = dataclasses.replace(tiny_pair, max_context=44)
    monkeypatch.setattr(LanguageModel, "forward", lambda *_: pytest.fail("decoded"))
    with pytest.raises(PromptError, match=part):
        list(decode_batch(pair, MaxProbabilityRouter(), [[1, 2], bad], DecodeSettings(0.5, 5)))


def test_no_prompts_no_completions(tiny_pair):
    assert list(decode_batch(tiny_pair, MaxProbabilityRouter(), [], DecodeSettings())) == []


def test_cancel_hands_out_what_is_there_and_the_next_run_is_whole(tiny_pair):
    pair, prompts, settings_ = free(tiny_pair), RAGGED[:7], DecodeSettings(0.5, 10)
    router = PatternRouter(prompts, PATTERNS[2:])
    whole = batched(pair, router, prompts, settings_, 3)
    asked = iter([False] * 4 + [True])
    part = list(decode_batch(pair, router, prompts, settings_, batch_size=3, is_cancelled=lambda: next(asked)))
    begun = [c.index for c in part]
    assert sorted(begun) == list(range(len(begun)))
    assert 3 <= len(begun) <= 6  # the seventh never began
    for completion in part:
        assert completion.finish_reason == "cancelled"
        written = completion.token_ids  # one that waits for the LLM has written less
        assert len(written) <= 4
        assert written == [e.token_id for e in whole[completion.index][0][: len(written)]]
    assert max(len(completion.steps) for completion in part) == 4
    assert_same(batched(pair, router, prompts, settings_, 3), whole)


def test_completions_come_as_they_finish_and_the_slots_stay_full(tiny_pair):
    pair = dataclasses.replace(free(tiny_pair), max_context=64)
    prompts = [[5] * 62, [6] * 10, [7] * 61, [8] * 60]  # rooms 2, 54, 3, 4
    found = list(decode_batch(pair, MaxProbabilityRouter(), prompts, DecodeSettings(0.0, 20), batch_size=2))
    assert [c.index for c in found] == [0, 2, 3, 1]  # three short ones pass through one slot beside the long one
    assert [c.token_ids for c in found] == [generated(pair.slm, prompts[c.index], len(c.steps), None) for c in found]


def test_others_fill_the_passes_while_some_wait_for_the_llm(tiny_pair, passes):
    """No pass has more than `batch_size` sequences, and the SLM's have so many while there are prompts left.

    And the seconds of all rows are those of the passes.
    """
    pair, prompts = free(tiny_pair), [[n + 1] * 9 for n in range(12)]
    found = batched(pair, PatternRouter(prompts, PATTERNS), prompts, DecodeSettings(0.5, 12), 4)
    slm, llm = ([one for one in passes if one[0] is lm] for lm in (pair.slm, pair.llm))
    assert max(len(texts) for _, texts, _ in llm) == 4
    n_full = next(i for i, (_, texts, _) in enumerate(slm) if len(texts) < 4)
    assert 4 * n_full >= 0.75 * 12 * 12  # of what is written; the last ones have no others left to fill up with
    events = [event for some, _ in found for event in some]
    for name, of_model in (("slm_s", slm), ("llm_s", llm)):
        assert sum(getattr(e, name) for e in events) == pytest.approx(sum(said.seconds for *_, said in of_model))
    assert all((e.llm_s > 0) == (e.llm_tokens_fed > 0) for e in events) and all(e.router_s > 0 for e in events)


def test_traces_of_a_batch_are_those_of_single_runs(tiny_pair):
    engine = Engine(ending(tiny_pair), training_free_routers())
    problems = [problem_from_text(f"What is {n} and {n}?" + " more" * n, "math", "4") for n in range(5)]
    settings_ = DecodeSettings(0.4, 25)
    found = dict(engine.run_batch(problems, router="random", settings=settings_, batch_size=3, with_candidates=True))
    assert sorted(found) == list(range(5))
    for i, problem in enumerate(problems):
        run = engine.start(problem, router="random", settings=settings_)
        for _ in run:
            pass
        one = run.trace()
        assert_same([(found[i].events, found[i].finish_reason)], [(one.events, one.finish_reason)])
        assert dataclasses.replace(found[i], events=()) == dataclasses.replace(one, events=())
        assert found[i].cost(H100_SXM) == one.cost(H100_SXM)
        ids = [e.token_id for e in one.events]
        assert found[i].answer is not None and found[i].finish_reason in ("eos", "length")
        assert found[i].completion == engine.pair.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
    assert {e.source for trace in found.values() for e in trace.events} == {"slm", "llm"}


# --- any decisions


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.text("SL", min_size=1, max_size=9)), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_any_decisions_keep_the_cache(tiny_pair, rows, batch_size):
    """Invariant: a slot has cached exactly the text so far, so its answer is that of a fresh forward over all of it."""
    prompts = [[(37 * i + 11 * k) % 1535 + 1 for k in range(n)] for i, (n, _) in enumerate(rows)]
    router = PatternRouter(prompts, [pattern for _, pattern in rows])
    catch_up = Reader.read

    def checked(self, texts, slots, *more):
        before = [self.n_cached[slot] for slot in slots]
        forward = catch_up(self, texts, slots, *more)
        assert forward.n_fed == [len(text) - n for text, n in zip(texts, before, strict=True)]
        for text, slot, logits in zip(texts, slots, forward.logits, strict=True):
            assert self.n_cached[slot] == self._cache.lengths[slot] == len(text)
            fresh = self.lm.model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1, :1536]
            torch.testing.assert_close(logits, fresh, rtol=1e-3, atol=1e-3)
        return forward

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "read", checked)
        batched(free(tiny_pair), router, prompts, DecodeSettings(0.5, 8), batch_size)
