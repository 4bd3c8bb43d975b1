"""Each reader fed with odd things: a few in every test run, 20,000 and more with `make fuzz` (FUZZ_EXAMPLES).

A reader may take an input or refuse it with one of its calm errors, within two seconds. The summary says how many of
each there were, and the slowest.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.targets import Target, targets
from tests.own_memory import OwnMemory

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
MOST_S = 2.0
MOST_BYTES = 0.5e9
_FOLDER = tempfile.TemporaryDirectory(prefix="citer-fuzz-")
TARGETS = targets(Path(_FOLDER.name))


@pytest.fixture(scope="module", autouse=True)
def nothing_of_ones_own(tmp_path_factory: pytest.TempPathFactory):
    """The user's own models are not read, and no network is asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CITER_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield
    _FOLDER.cleanup()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))
def test_a_reader_takes_or_refuses_whatever_comes(target: Target, record_property):
    n_taken = n_refused = 0
    slowest = 0.0

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=EXAMPLES < 1000,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(target.inputs)
    def feed(value):
        nonlocal n_taken, n_refused, slowest
        began = time.process_time()
        try:
            target.read(value)
            n_taken += 1
        except target.calm as error:
            n_refused += 1
            said = str(error)
            said.encode()
            assert said and len(said) < 2_000, said[:300]
        slowest = max(slowest, time.process_time() - began)
        assert slowest < MOST_S

    with OwnMemory() as taken:
        feed()
    # A reader that takes nothing, or everything, is not being tested.
    takes_all = not target.calm or target.name in ("excerpt", "missing part")
    assert EXAMPLES < 500 or (n_taken and (n_refused or takes_all))
    assert taken.n_bytes is None or taken.n_bytes < MOST_BYTES
    counted = f"{n_taken + n_refused:,} inputs, {n_taken:,} taken, {n_refused:,} refused"
    record_property("fuzz", f"{counted}, slowest {slowest:.3f} s, {(taken.n_bytes or 0) / 1e6:.0f} MB more")
