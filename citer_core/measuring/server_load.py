"""Measures an LLM server: what a pass over several calls takes, and what users get who ask at the same time.

Every user is a thread that asks for the tokens of known texts one after another and sleeps as long as an SLM would take
between them, so that this side needs next to no processor. Knows nothing about predictions; called by `cli.load`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from citer_core.measuring.capacity import Load, LoadPoint, Service, load_point
from citer_core.measuring.rounds import quantile
from citer_core.measuring.step_cost import PassTime, fit_step_cost
from citer_core.models.remote_lm import RemoteLM


@dataclass(frozen=True, slots=True)
class KnownText:
    """A text whose tokens are known: the router asks for some of those behind the prompt."""

    ids: tuple[int, ...]
    n_prompt: int


def pass_times(
    server: RemoteLM, texts: Sequence[KnownText], sizes: Sequence[int], *, n_rounds: int = 40, seed: int = 0
) -> list[PassTime]:
    """How long it takes until so many calls, asked at the same moment, are all answered.

    Args:
        server: that is asked.
        texts: of which prefixes are asked for, one at least.
        sizes: numbers of calls.
        n_rounds: of which the fastest tenth is left out and the next one given, because other work on a machine only
            slows calls down; every round does all sizes.
        seed: of what is asked for.

    Returns:
        One for each size; `n_new` is the number of calls, `n_cached` is 0.
    """
    draw = random.Random(seed)
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    with ThreadPoolExecutor(max(sizes)) as threads:
        for _ in range(n_rounds):
            for size in sizes:
                prefixes = [_any_prefix(texts, draw) for _ in range(size)]
                start = time.perf_counter()
                for answer in [threads.submit(server.next_tokens, [prefix]) for prefix in prefixes]:
                    answer.result()
                seconds[size].append(time.perf_counter() - start)
    return [PassTime(size, 0, quantile(found, 0.1)) for size, found in seconds.items()]


def fit_service(times: Sequence[PassTime]) -> Service:
    """Delay, fixed part and part of each call, none below 0, by least squares over relative errors.

    Of several calls asked at once the first finds the server idle and gets a pass of its own; the others share the next
    one. So one call takes `delay + fixed + per call`, and `n` take `delay + 2 * fixed + n * per call`.
    """
    n_passes = [PassTime(time.n_new, min(time.n_new, 2), time.seconds) for time in times]
    cost = fit_step_cost(n_passes)  # "per cached token" is per pass here
    return Service(cost.per_context_s, cost.per_token_s, cost.fixed_s)


def fit_single_pass(times: Sequence[PassTime]) -> Service:
    """The same for a server that would do all calls asked at once in one pass, with nothing outside of it."""
    cost = fit_step_cost([PassTime(time.n_new, 0, time.seconds) for time in times])
    return Service(cost.fixed_s, cost.per_token_s)


def measured_load(
    server: RemoteLM,
    texts: Sequence[KnownText],
    load: Load,
    *,
    seconds: float = 20.0,
    warm_s: float = 2.0,
    seed: int = 0,
) -> tuple[LoadPoint, int]:
    """Lets users write at the same time and counts.

    Args:
        server: that they ask.
        texts: that they write; each user in an order of their own.
        load: how many users, and how often they ask.
        seconds: that are counted.
        warm_s: before those.
        seed: of texts and of who writes a token.

    Returns:
        What they got, and the number of calls that this is of.

    Raises:
        ServerError: the server was lost.
    """
    start = time.perf_counter() + warm_s
    stop = threading.Event()

    def user(number: int) -> list[tuple[float, int]]:
        draw = random.Random(f"{seed}-{number}")
        calls = []
        for n_tokens, prefix in _calls(texts, load, draw):
            if stop.wait(n_tokens * load.slm_s) or time.perf_counter() > start + seconds:
                break
            asked = time.perf_counter()
            server.next_tokens([prefix])
            answered = time.perf_counter()
            if start <= answered <= start + seconds:
                calls.append((answered - asked, n_tokens))
        return calls

    with ThreadPoolExecutor(load.users) as threads:
        running = [threads.submit(user, number) for number in range(load.users)]
        try:
            calls = [call for future in running for call in future.result()]
        finally:
            stop.set()  # one user's error ends the others
    n_tokens = sum(n for _, n in calls)
    return load_point([latency for latency, _ in calls] or [seconds], n_tokens / seconds / load.users), len(calls)


def _calls(texts: Sequence[KnownText], load: Load, draw: random.Random) -> Iterator[tuple[int, Sequence[int]]]:
    """Tokens since the last call, this one's included, and the text that it is asked to go on with; without end."""
    left = load.tokens_to_call(draw)
    since = left
    while True:
        text = draw.choice(texts)
        for position in range(text.n_prompt, len(text.ids)):
            left -= 1
            if left == 0:
                yield since, text.ids[:position]
                left = since = load.tokens_to_call(draw)


def _any_prefix(texts: Sequence[KnownText], draw: random.Random) -> Sequence[int]:
    text = draw.choice(texts)
    return text.ids[: draw.randrange(text.n_prompt, len(text.ids))]
