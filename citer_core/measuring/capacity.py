"""Capacity on paper: how many SLM replicas and LLM GPUs a number of users needs, from measured step costs; and what a
load does to one LLM server.

A server takes all requests that wait and does them in one pass (a batch of `n` takes `fixed + n * per_job`); what
arrives meanwhile waits for the next pass. That is how the batching of a model server behaves when passes are short. An
estimate throughout; `assets/learn/scaling.md` says what is assumed. Calls that arrive at random are one prediction;
users of a router do not: between two calls of one user the SLM writes, and who waits asks for nothing (`closed_loop`).
Both are here, so that they can stand beside a measured load. Pure arithmetic; `server_load.py` measures.
"""

from __future__ import annotations

import heapq
import math
import random
import statistics
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from citer_core.errors import SettingError
from citer_core.measuring.rounds import quantile
from citer_core.measuring.step_cost import RoutedCosts, root

MAX_SERVERS = 100_000
N_CALLS = 20_000
NO_LIMIT = 1_000_000  # of calls in a pass: a server's own limit lies above the loads that are tried
MOST = 10**9  # of whatever is counted: far more than there is anywhere, and far less than arithmetic ends at


@dataclass(frozen=True, slots=True)
class BatchServer:
    """One device that serves jobs in passes.

    Attributes:
        fixed_s: seconds of a pass, whatever it serves.
        per_job_s: seconds that each job adds to it.
        jobs_per_s: arrivals, at random and independent of each other.
        max_batch: jobs that fit into a pass.
    """

    fixed_s: float
    per_job_s: float
    jobs_per_s: float
    max_batch: int = 256

    @property
    def busy(self) -> float:
        """Share of the time that it works; 1 where one pass follows another."""
        return min(1.0, self.jobs_per_s * (self.fixed_s + self.per_job_s))

    @property
    def pass_s(self) -> float:
        """Seconds of a pass in the long run; infinite where jobs arrive faster than they can be done.

        A pass serves what arrived during the last one, so `t = fixed + per_job * rate * t`; a lone job's pass is the
        least.
        """
        headroom = 1 - self.jobs_per_s * self.per_job_s
        if headroom <= 0:
            return math.inf
        seconds = max(self.fixed_s + self.per_job_s, self.fixed_s / headroom)
        return seconds if self.jobs_per_s * seconds <= self.max_batch else math.inf

    @property
    def batch(self) -> float:
        """Jobs in a pass, at least 1."""
        return max(1.0, self.jobs_per_s * self.pass_s)

    def latency_s(self, quantile: float) -> float:
        """Seconds from arrival to end of a job, which arrives at any point of the pass under way alike."""
        if math.isinf(self.pass_s):
            return math.inf
        waits = max(0.0, 1 - (1 - quantile) / self.busy) if self.busy else 0.0  # of a whole pass
        return self.pass_s * (1 + waits)

    @property
    def mean_latency_s(self) -> float:
        """The mean of the same."""
        return self.pass_s * (1 + self.busy / 2)


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of a deployment.

    Attributes:
        users: texts that are written at the same time.
        tokens_per_s: that each of them is to get.
        llm_share: of tokens that the LLM writes, in (0, 1].
        n_context: tokens of context of each text.
        max_batch: jobs in a pass, of either model.
        block_size: tokens that the LLM's cache keeps or reads again as a whole; 1 for a cache of one's own, as large as
            the server's `--block-size` where the LLM is on one.
    """

    users: int
    tokens_per_s: float
    llm_share: float
    n_context: int = 256
    max_batch: int = 256
    block_size: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.users <= MOST:
            raise SettingError(f"users is {self.users}: give a whole number from 1 to {MOST:,}.")
        if not 0 < self.tokens_per_s <= MOST:
            raise SettingError(f"tokens-per-s is {self.tokens_per_s}: give a number above 0, up to {MOST:,}.")
        if not 0 < self.llm_share <= 1:
            raise SettingError(f"llm-share is {self.llm_share}: give a number above 0, up to 1.")
        if not all(1 <= number <= MOST for number in (self.n_context, self.max_batch, self.block_size)):
            raise SettingError(f"context, max-batch and block-size: give whole numbers from 1 to {MOST:,}.")

    @property
    def tokens_fed(self) -> float:
        """Tokens that an LLM call reads on average: its own, those since the last call, and the rest of a block."""
        return min(self.n_context, 1 / self.llm_share + (self.block_size - 1) / 2)


@dataclass(frozen=True, slots=True)
class Deployment:
    """An estimate of what a demand needs.

    Attributes:
        slm_replicas, llm_gpus: devices; `slm_replicas` is 0 for the LLM alone.
        token_s: mean seconds from one token of a text to the next.
        p95_s: the same for the slowest twentieth of tokens.
        slm_busy, llm_busy: share of the time that each works.
        llm_batch: calls in an LLM pass.
    """

    slm_replicas: int
    llm_gpus: int
    token_s: float
    p95_s: float
    slm_busy: float
    llm_busy: float
    llm_batch: float


def routed_deployment(costs: RoutedCosts, demand: Demand) -> Deployment:
    """The fewest devices with which routing keeps every user's speed, spread so that the LLM has as few as it can.

    Raises:
        SettingError: no number of devices does; the passes of an idle device take too long already.
    """
    rate, share = demand.users * demand.tokens_per_s, demand.llm_share
    per_call = costs.llm.per_token_s * demand.tokens_fed + costs.llm.per_context_s * demand.n_context + costs.switch_s
    per_token = costs.slm.seconds(1, demand.n_context) - costs.slm.fixed_s

    def slm(n: int) -> BatchServer:
        return BatchServer(costs.slm.fixed_s + costs.router_s, per_token, rate / n, demand.max_batch)

    def llm(n: int) -> BatchServer:
        return BatchServer(costs.llm.fixed_s, per_call, rate * share / n, demand.max_batch)

    def token_s(n_slm: int, n_llm: int) -> float:
        return slm(n_slm).mean_latency_s + share * llm(n_llm).mean_latency_s

    # LLM devices are the dear ones: as few as would do beside ever so many SLM replicas, then as few of those.
    n_llm = _fewest(demand, lambda n: token_s(MAX_SERVERS, n))
    n_slm = _fewest(demand, lambda n: token_s(n, n_llm))
    small, large = slm(n_slm), llm(n_llm)
    # Only a share of the tokens waits for the LLM: the slowest twentieth of all is the slowest 5% / share of those.
    waiting = max(0.0, 1 - 0.05 / share)
    p95 = small.mean_latency_s + large.latency_s(waiting) if share > 0.05 else small.latency_s(0.95)
    return Deployment(n_slm, n_llm, token_s(n_slm, n_llm), p95, small.busy, large.busy, large.batch)


def llm_only_deployment(costs: RoutedCosts, demand: Demand) -> Deployment:
    """The same for the LLM alone, which writes every token.

    Raises:
        SettingError: no number of devices does.
    """
    rate = demand.users * demand.tokens_per_s
    per_token = costs.llm.seconds(1, demand.n_context) - costs.llm.fixed_s

    def llm(n: int) -> BatchServer:
        return BatchServer(costs.llm.fixed_s, per_token, rate / n, demand.max_batch)

    n_llm = _fewest(demand, lambda n: llm(n).mean_latency_s)
    server = llm(n_llm)
    return Deployment(0, n_llm, server.mean_latency_s, server.latency_s(0.95), 0.0, server.busy, server.batch)


def _fewest(demand: Demand, token_s: Callable[[int], float]) -> int:
    """The smallest number of devices with which a token takes as long as is wanted at most; more never do worse."""
    target, least = 1 / demand.tokens_per_s, token_s(MAX_SERVERS)
    if least > target:
        raise SettingError(
            f"{demand.tokens_per_s:g} tokens/s for each user cannot be reached with any number of these devices: a "
            f"token takes {1000 * least:.1f} ms on idle ones. Ask for at most {1 / least:.1f} tokens/s."
        )
    return 1 + bisect_left(range(1, MAX_SERVERS), True, key=lambda n: token_s(n) <= target)


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
    """The formulas of `BatchServer` at the rate that these users come to: what they wait for slows them down.

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
