"""Capacity on paper: how many SLM replicas and LLM GPUs a number of users needs, from measured step costs.

A server takes all requests that wait and does them in one pass (a batch of `n` takes `fixed + n * per_job`); what
arrives meanwhile waits for the next pass. That is how the batching of a model server behaves when passes are short. An
estimate throughout; `assets/learn/scaling.md` says what is assumed. Pure arithmetic.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from citer_core.errors import SettingError
from citer_core.measuring.step_cost import RoutedCosts

MAX_SERVERS = 100_000
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
