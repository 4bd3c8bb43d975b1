"""The waiting line by itself: who goes next, what everybody is told, and when it is full."""

from __future__ import annotations

import random
import threading
from collections import Counter

import pytest

from citer_core.errors import LineFullError
from citer_core.serving.line import CAPACITY, PER_SESSION, Ticket, WaitingLine


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def places(tickets: list[Ticket]) -> list[int]:
    return [ticket.place for ticket in tickets]


def finish_one(line: WaitingLine, tickets: list[Ticket]) -> Ticket:
    """The one that has gone longest ends."""
    first = min((ticket for ticket in tickets if ticket.is_going), key=lambda ticket: ticket.went_at)
    first.leave()
    return first


def test_a_turn_is_told_once_and_no_lock_is_held() -> None:
    line, told = WaitingLine(1), []
    first = line.join("a")
    second = line.join("b", on_change=lambda: told.append(line.n_waiting()))
    first.leave()
    assert told == [0] and second.is_going


def test_a_session_has_one_going_and_its_others_wait_behind_everybody_elses_first() -> None:
    line = WaitingLine(4)
    mine = [line.join("mine") for _ in range(3)]
    assert [ticket.is_going for ticket in mine] == [True, False, False]
    fill = [line.join(f"going {i}") for i in range(3)]
    others = [line.join(f"other {i}") for i in range(3)]
    assert all(ticket.is_going for ticket in fill)
    assert places(others) == [1, 2, 3] and places(mine[1:]) == [4, 5]
    mine[0].leave()  # its place goes to who has waited longer without a turn
    assert others[0].is_going and not mine[1].is_going


def test_fifty_sessions_with_five_runs_each_are_all_taken_and_served_in_rounds() -> None:
    line = WaitingLine(16)
    tickets = [line.join(f"s{page}") for page in range(50) for _ in range(5)]
    served: list[str] = []
    while line.n_running():
        served.append(finish_one(line, tickets).session)
    assert Counter(served) == {f"s{page}": 5 for page in range(50)}
    for n_served in range(1, len(served)):
        counts = Counter(served[:n_served])
        # The one going counts too, so none is more than two turns ahead of another one.
        assert max(counts.values()) - min(counts.get(f"s{page}", 0) for page in range(50)) <= 2


def test_a_session_takes_a_bounded_number_and_says_so() -> None:
    line = WaitingLine(1)
    tickets = [line.join("greedy") for _ in range(PER_SESSION)]
    with pytest.raises(LineFullError, match="10 runs of this page are going or waiting already: wait for one"):
        line.join("greedy")
    tickets[-1].leave()
    line.join("greedy")


def test_three_hundred_wait_and_one_more_is_refused_calmly() -> None:
    line = WaitingLine(16)
    tickets = [line.join(f"s{i}") for i in range(16 + CAPACITY)]
    assert sorted(places(tickets)) == [0] * 16 + list(range(1, CAPACITY + 1))
    with pytest.raises(LineFullError, match="300 runs are waiting already, and the line holds no more"):
        line.join("late")
    assert line.n_waiting() == CAPACITY
    tickets[0].leave()
    line.join("late")


def test_a_hundred_invented_sessions_at_one_address_get_what_one_visitor_gets() -> None:
    line = WaitingLine(4)
    crowd = [line.join(f"invented {i}", "192.0.2.1") for i in range(100)]
    visitors = [line.join("session", f"198.51.100.{i}") for i in range(3)]
    next_ones = [line.join("session", visitor.address) for visitor in visitors]
    assert places(visitors) == [1, 2, 3]
    for _ in range(3):
        finish_one(line, crowd)
    assert all(visitor.is_going for visitor in visitors)
    served = Counter()
    tickets = crowd + visitors + next_ones
    for _ in range(40):
        done = finish_one(line, tickets)
        served[done.address] += 1
        if done.session == "session":
            tickets.append(line.join("session", done.address))
    assert max(served.values()) - min(served.values()) <= 2, served


def test_long_runs_of_one_address_do_not_take_all_places() -> None:
    """Turns alone would not be fair: those who hold a place for longer would hold more of them."""
    line, clock = WaitingLine(8, clock=(clock := Clock())), clock
    tickets = [line.join(f"long {i}", "192.0.2.1") for i in range(40)]
    tickets += [line.join(f"short {i}", "198.51.100.1") for i in range(40)]
    for _ in range(8):
        finish_one(line, tickets)  # those that went before others were there
    for _ in range(30):  # only short ones end
        clock.now += 1
        next(ticket for ticket in tickets if ticket.is_going and ticket.session.startswith("short")).leave()
        going = Counter(ticket.address for ticket in tickets if ticket.is_going)
        assert going == {"192.0.2.1": 4, "198.51.100.1": 4}


def test_a_class_behind_one_address_fills_the_line_and_a_newcomer_elsewhere_still_gets_in() -> None:
    line, lost = WaitingLine(2, capacity=20), []
    crowd = [line.join(f"s{i}", "192.0.2.1", on_change=lambda i=i: lost.append(i)) for i in range(22)]
    lost.clear()
    newcomer = line.join("elsewhere", "198.51.100.9")
    assert newcomer.place == 1 and line.n_waiting() == 20
    assert lost == [21] and crowd[21].state == "lost" and crowd[21].place == 0
    with pytest.raises(LineFullError):
        line.join("one more of them", "192.0.2.1")
    crowd[21].leave()
    assert line.n_waiting() == 20 and line.n_running() == 2


@pytest.mark.parametrize("seed", range(8))
def test_places_are_unique_and_never_get_worse_without_newcomers(seed: int) -> None:
    draw = random.Random(seed)
    line = WaitingLine(draw.randint(1, 6))
    tickets = [
        line.join(f"s{draw.randrange(30)}-{address}", address)
        for address in draw.choices(["a", "b", "c"], [8, 3, 1], k=120)
        if draw.random() < 0.9
    ][: CAPACITY - 1]
    before = {ticket: ticket.place for ticket in tickets if not ticket.is_going}
    while line.n_running() or line.n_waiting():
        draw.choice([ticket for ticket in tickets if ticket.state in ("going", "waiting")]).leave()
        waiting = [ticket for ticket in tickets if ticket.state == "waiting"]
        assert sorted(places(waiting)) == list(range(1, len(waiting) + 1))
        assert line.n_running() <= line.n_places
        sessions = Counter((ticket.address, ticket.session) for ticket in tickets if ticket.is_going)
        assert max(sessions.values(), default=1) == 1
        n_free = line.n_places - line.n_running()
        if n_free:
            assert all((t.address, t.session) in sessions for t in waiting), "a place is free and a ticket could go"
        first = {}
        for ticket in waiting:
            first.setdefault((ticket.address, ticket.session), ticket)
        if len({ticket.address for ticket in waiting}) == 1:
            for ticket in first.values():
                if (ticket.address, ticket.session) not in sessions:
                    assert ticket.place <= before[ticket]
        before |= {ticket: ticket.place for ticket in waiting}
    assert (line.n_running(), line.n_waiting()) == (0, 0)
    assert not line._shares, "nothing is remembered of those who are gone"


@pytest.mark.parametrize("seed", range(5))
def test_a_visitor_alone_at_an_address_is_not_overtaken_twice_by_the_same_one(seed: int) -> None:
    """Whatever joins and ends: between joining and its turn, no other address gets more than two turns more."""
    draw = random.Random(seed)
    line = WaitingLine(3)
    tickets = [line.join(f"s{i}", f"a{i % 7}") for i in range(60)]
    lonely = line.join("lonely", "alone")
    turns: Counter[str] = Counter()
    while not lonely.is_going:
        done = draw.choice([ticket for ticket in tickets if ticket.is_going])
        going = {ticket for ticket in tickets if ticket.is_going}
        done.leave()
        tickets.append(line.join(f"new {len(tickets)}", f"a{draw.randrange(7)}"))
        turns.update(ticket.address for ticket in tickets if ticket.is_going and ticket not in going)
    assert max(turns.values(), default=0) <= 1


def test_expected_seconds_are_unknown_at_first_and_then_follow_what_was_measured() -> None:
    clock = Clock()
    line = WaitingLine(2, clock=clock)
    tickets = [line.join(f"s{i}") for i in range(24)]
    assert tickets[5].expected_s is None and tickets[0].expected_s == 0.0
    errors, n_ended = [], 0
    promised: dict[Ticket, tuple[float, float]] = {}
    while line.n_running():
        clock.now += 2.0  # two places, a run of four seconds each
        finish_one(line, tickets)
        n_ended += 1
        for ticket in tickets if n_ended > 4 else ():
            if ticket.is_going and ticket in promised:
                at, seconds = promised.pop(ticket)
                errors.append(abs(clock.now - at - seconds))
            elif ticket.state == "waiting" and ticket not in promised:
                assert ticket.expected_s is not None
                promised[ticket] = clock.now, ticket.expected_s
    assert len(errors) >= 16 and max(errors) <= 8, errors
    assert sorted(errors)[len(errors) // 2] <= 4, "half of them within one run's time"


def test_many_threads_join_and_leave_and_nothing_is_lost() -> None:
    line = WaitingLine(5)
    served, lock, most = [], threading.Lock(), [0]

    def visitor(name: str) -> None:
        for _ in range(20):
            turn = threading.Event()
            ticket = line.join(name, name[:2], on_change=turn.set)
            if not ticket.is_going:
                assert turn.wait(20)
            with lock:
                most[0] = max(most[0], line.n_running())
                served.append(name)
            ticket.leave()

    threads = [threading.Thread(target=visitor, args=(f"{i}-visitor",)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert Counter(served) == {f"{i}-visitor": 20 for i in range(24)}
    assert most[0] <= 5 and (line.n_running(), line.n_waiting()) == (0, 0)
