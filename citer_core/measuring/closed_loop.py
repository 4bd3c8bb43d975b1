"""What a load does to one LLM server, on paper: users who each wait for their call before they go on writing.

`capacity.py` lets calls arrive at random. Users of a router do not: between two calls of one user the SLM writes, and
who waits asks for nothing. Both predictions are here, so that they can stand beside a measured load. Pure arithmetic;
`server_load.py` measures.
"""

from __future__ import annotations

import heapq
import random
import statistics
from dataclasses import dataclass

from citer_core.errors import SettingError
from citer_core.measuring.capacity import BatchServer
from citer_core.measuring.rounds import quantile
from citer_core.measuring.step_cost import root

N_CALLS = 20_000
NO_LIMIT = 1_000_000  # of calls in a pass: a server's own limit lies above the loads that are tried


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of one server.

    Attributes:
        users: texts that are written at the same time, from 1.
        llm_share: of tokens that the LLM writes, in (0, 1]; each token is one by itself.
        slm_s: seconds of the SLM for a token, whichever model writes it; spent elsewhere than on the server.
    """

    users: int
    llm_share: float
    slm_s: float

    def __post_init__(self) -> None:
        if self.users < 1:
            raise SettingError(f"users is {self.users}: give a whole number from 1.")
        if not 0 < self.llm_share <= 1:
            raise SettingError(f"llm-share is {self.llm_share}: give a number above 0, up to 1.")

    def tokens_to_call(self, draw: random.Random) -> int:
        """Tokens from one call of a user to the next one, which is included."""
        n = 1
        while draw.random() >= self.llm_share:
            n += 1
        return n


@dataclass(frozen=True, slots=True)
class Service:
    """A server whose pass over `n` calls takes `fixed_s + n * per_call_s`.

    Attributes:
        fixed_s, per_call_s: of a pass.
        delay_s: that each call spends on its way to a pass and back, while the server does others.
    """

    fixed_s: float
    per_call_s: float
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """What users get under a load.

    Attributes:
        tokens_per_s: of each user.
        mean_s, p50_s, p95_s: of a call, from the question to its token.
    """

    tokens_per_s: float
    mean_s: float
    p50_s: float
    p95_s: float


def closed_loop(service: Service, load: Load, n_calls: int = N_CALLS, seed: int = 0) -> LoadPoint:
    """Plays `n_calls` calls of users who wait for theirs; the first tenth is left out."""
    draw = random.Random(seed)
    n_tokens = [load.tokens_to_call(draw) for _ in range(load.users)]
    asking = [(n * load.slm_s + service.delay_s, user) for user, n in enumerate(n_tokens)]
    heapq.heapify(asking)
    now, began, written = 0.0, 0.0, 0
    latencies: list[float] = []
    while len(latencies) < n_calls:
        start = max(now, asking[0][0])
        batch = []
        while asking and asking[0][0] <= start:
            batch.append(heapq.heappop(asking))
        now = start + service.fixed_s + len(batch) * service.per_call_s
        for asked, user in batch:
            latencies.append(now - asked + service.delay_s)
            written += n_tokens[user]
            n_tokens[user] = load.tokens_to_call(draw)
            heapq.heappush(asking, (now + service.delay_s + n_tokens[user] * load.slm_s, user))
        if len(latencies) < n_calls // 10:
            began, written = now, 0
    return load_point(latencies[n_calls // 10 :], written / (now - began) / load.users)


def random_arrivals(service: Service, load: Load) -> LoadPoint:
    """`capacity.py`'s formulas at the rate that these users come to: what they wait for slows them down.

    They know no delay: give a service without one.
    """
    thinking_s = load.slm_s / load.llm_share

    def server(rate: float) -> BatchServer:
        return BatchServer(service.fixed_s, service.per_call_s, rate, NO_LIMIT)

    def ahead(rate: float) -> float:
        """Of the rate that is possible where calls wait as long as they do at this one."""
        return rate - load.users / (thinking_s + server(rate).mean_latency_s)

    rate = root(ahead, 0.0, load.users / (thinking_s + service.fixed_s + service.per_call_s))
    found = server(rate)
    return LoadPoint(
        rate / load.llm_share / load.users, found.mean_latency_s, found.latency_s(0.5), found.latency_s(0.95)
    )


def load_point(latencies: list[float], tokens_per_s: float) -> LoadPoint:
    """Sums up calls; `latencies` in seconds, one at least, in any order."""
    mean_s = statistics.fmean(latencies)
    return LoadPoint(tokens_per_s, mean_s, quantile(latencies, 0.5), quantile(latencies, 0.95))
