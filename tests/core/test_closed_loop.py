"""Users who wait for their calls: predicted by hand and by laws of queueing, measured on scripted servers."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time

import pytest

from citer_core.assets import ASSETS
from citer_core.cli import load as load_command
from citer_core.errors import ServerError
from citer_core.measuring.capacity import (
    BatchServer,
    Load,
    Service,
    closed_loop,
    random_arrivals,
)
from citer_core.measuring.server_load import KnownText, _calls, fit_service, fit_single_pass, measured_load, pass_times
from citer_core.measuring.step_cost import PassTime
from citer_core.models.remote_lm import RemoteToken

SERVICE = Service(0.012, 0.004)
TEXTS = [KnownText(tuple(range(100 * n, 100 * n + 40)), 10) for n in range(5)]


class Batches:
    """A server that takes all that wait and sleeps as long as `SERVICE` says; it keeps what it was asked."""

    def __init__(self, fail_at=None):
        self.asked, self.fail_at = [], fail_at
        self._waiting, self._lock, self._pass = [], threading.Lock(), threading.Lock()

    def next_tokens(self, texts):
        mine = threading.Event()
        with self._lock:
            self.asked += texts
            if self.fail_at is not None and len(self.asked) >= self.fail_at:
                raise ServerError("scripted loss")
            self._waiting.append(mine)
        with self._pass:
            if not mine.is_set():
                with self._lock:
                    batch, self._waiting = self._waiting, []
                time.sleep(SERVICE.fixed_s + len(batch) * SERVICE.per_call_s)
                for job in batch:
                    job.set()
        return [RemoteToken(0, (), 0.0)] * len(texts)


# --- the prediction


def test_a_user_alone_does_not_wait():
    found = closed_loop(SERVICE, Load(1, 1.0, 0.004))
    assert (found.mean_s, found.p50_s, found.p95_s) == tuple(pytest.approx(0.016) for _ in range(3))
    assert found.tokens_per_s == pytest.approx(1 / 0.020, rel=0.001)


def test_a_delay_is_waited_for_and_holds_up_no_other():
    alone = closed_loop(Service(0.012, 0.004, 0.006), Load(1, 1.0, 0.004))
    assert alone.mean_s == pytest.approx(0.022) and alone.tokens_per_s == pytest.approx(1 / 0.026, rel=0.001)
    crowded, without = (closed_loop(Service(0.012, 0.004, delay), Load(64, 0.2, 0.001)) for delay in (0.006, 0.0))
    assert crowded.tokens_per_s == pytest.approx(without.tokens_per_s, rel=0.02)


def test_users_in_step_share_every_pass():
    """All begin together, and with the LLM at every token they stay so: 12 + 8 * 4 = 44 ms."""
    found = closed_loop(SERVICE, Load(8, 1.0, 0.001))
    assert found.p95_s == pytest.approx(0.044) and found.tokens_per_s == pytest.approx(1 / 0.045, rel=0.001)


def test_users_who_think_shorter_than_a_pass_take_turns():
    """Who comes back finds a pass under way and joins the next: two groups, each waiting while the other is served.

    A round is two passes of half the users each, of which the mean of 5 tokens, 5 ms, is spent thinking.
    """
    found = closed_loop(SERVICE, Load(16, 0.2, 0.001))
    assert found.mean_s == pytest.approx(2 * (0.012 + 8 * 0.004) - 0.005, rel=0.03)


@pytest.mark.parametrize("predict", [closed_loop, random_arrivals])
@pytest.mark.parametrize(
    ("users", "share", "slm_s"), [(1, 0.2, 0.01), (4, 0.3, 0.003), (32, 0.2, 0.05), (64, 1.0, 0.1)]
)
def test_tokens_and_waiting_add_up(predict, users, share, slm_s):
    """The response-time law: a token takes the SLM's time and, for its share of calls, the mean wait."""
    found = predict(SERVICE, Load(users, share, slm_s))
    assert 1 / found.tokens_per_s == pytest.approx(slm_s + share * found.mean_s, rel=0.03)
    assert 0 < found.p50_s <= found.p95_s


def test_random_arrivals_are_the_formulas_of_capacity():
    load = Load(16, 0.2, 0.01)
    found = random_arrivals(SERVICE, load)
    server = BatchServer(SERVICE.fixed_s, SERVICE.per_call_s, found.tokens_per_s * 16 * 0.2)
    assert (found.mean_s, found.p95_s) == (pytest.approx(server.mean_latency_s), pytest.approx(server.latency_s(0.95)))


def test_many_users_who_think_long_come_at_random():
    """Where the two models describe the same thing they agree."""
    load = Load(200, 0.2, 0.4)
    ours, theirs = closed_loop(SERVICE, load), random_arrivals(SERVICE, load)
    assert ours.tokens_per_s == pytest.approx(theirs.tokens_per_s, rel=0.02)
    assert ours.mean_s == pytest.approx(theirs.mean_s, rel=0.25)


# --- the measurement


def test_users_ask_for_tokens_of_known_texts_as_often_as_they_should():
    draw, n_tokens, n_calls = random.Random(3), 0, 4000
    last = None
    for since, prefix in itertools.islice(_calls(TEXTS, Load(1, 0.25, 0.0), draw), n_calls):
        n_tokens += since
        text = next(text for text in TEXTS if text.ids[: len(prefix)] == tuple(prefix))
        assert text.n_prompt <= len(prefix) < len(text.ids)
        if last is not None and last[0] + since < len(text.ids) and last[1] is text:
            assert len(prefix) == last[0] + since
        last = len(prefix), text
    assert n_calls / n_tokens == pytest.approx(0.25, rel=0.05)


def test_passes_are_measured_and_fitted():
    server = Batches()
    times = pass_times(server, TEXTS, (1, 3), n_rounds=3)
    assert [t.n_new for t in times] == [1, 3] and len(server.asked) == 3 * (1 + 3)
    assert all(t.seconds >= SERVICE.fixed_s + SERVICE.per_call_s for t in times)
    exact = [PassTime(n, 0, 0.003 + (0.012 if n == 1 else 0.024) + 0.004 * n) for n in (1, 2, 4, 8, 16)]
    fitted = fit_service(exact)
    assert (fitted.fixed_s, fitted.per_call_s) == (pytest.approx(0.012), pytest.approx(0.004))
    assert fitted.delay_s == pytest.approx(0.003)
    single = fit_single_pass([PassTime(n, 0, 0.012 + 0.004 * n) for n in (1, 2, 4, 8)])
    assert (single.fixed_s, single.per_call_s, single.delay_s) == (pytest.approx(0.012), pytest.approx(0.004), 0.0)


def test_a_load_gets_no_more_than_its_server_gives():
    """Other work on the machine can only slow it down, so that side has a wide margin."""
    load = Load(4, 0.5, 0.002)
    point, n_calls = measured_load(Batches(), TEXTS, load, seconds=0.4, warm_s=0.1)
    expected = closed_loop(SERVICE, load)
    assert point.p50_s >= SERVICE.fixed_s + SERVICE.per_call_s
    assert 0.2 * expected.tokens_per_s < point.tokens_per_s < 1.15 * expected.tokens_per_s
    assert 0 < n_calls < round(point.tokens_per_s * 4 * 0.4)  # in the seconds; some tokens are the SLM's


def test_a_lost_server_ends_every_user():
    server = Batches(fail_at=10)
    before = threading.active_count()
    with pytest.raises(ServerError, match="scripted loss"):
        measured_load(server, TEXTS, Load(4, 0.5, 0.001), seconds=60.0)
    assert threading.active_count() == before


# --- what is stored


def test_the_chapter_shows_what_was_measured():
    chapter = (ASSETS / "learn" / "scaling.md").read_text(encoding="utf-8")
    result = json.loads((ASSETS / "benchmarks" / "capacity.json").read_text(encoding="utf-8"))
    assert [load["users"] for load in result["loads"]] == [1, 2, 4, 8, 16]
    for cells in load_command.load_rows(result):
        assert f"| {' | '.join(cells)} |" in chapter
    prose = " ".join(chapter.split())
    assert load_command.service_words(result["service"]) in prose and result["note"] in prose
    assert result["date"] in prose and f"`{result['command']}`" in prose
