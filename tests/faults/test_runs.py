"""What goes wrong inside a run or while a pair is loaded: numbers that are none, and memory that is full."""

from __future__ import annotations

import json
import math
import resource
import sys

import pytest
import torch

from citer_core.cli.main import main
from citer_core.engine import Engine, Run
from citer_core.errors import NotANumberError
from citer_core.routing.decode import decode_batch
from citer_core.routing.router import Router
from citer_core.system_memory import is_out_of_memory
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.cli.examples import dataset, lines
from tests.faults.conftest import child
from tests.test_pair_switch import NEW, OLD, OLD_TITLE, SCRIPTS, Loader, begin, ended, make, room, written  # noqa: F401


class Breaks(Router):
    """Confidence 0.5 until the `n`-th token it is asked about, and then none."""

    name = "breaks"
    uses_sequence = True

    def __init__(self, n: int, value: float = math.nan) -> None:
        self.n, self.value = n, value

    def confidence(self, features):
        assert features.position is not None
        broken = (features.position >= self.n).expand(len(features.hidden))
        return torch.where(broken, torch.tensor(self.value), torch.tensor(0.5))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("threshold", [0.0, 0.4, 1.0])
def test_nan_from_a_router(row, tiny_pair, value, threshold):
    """Compared with tau it was below no number, so that the SLM wrote everything, and then the trace was no JSON."""
    settings = DecodeSettings(threshold=threshold, max_new_tokens=8)
    run = Run(tiny_pair, Breaks(3, value), problem_from_text("Tom", "open"), tiny_pair.encode("Tom"), settings)
    with pytest.raises(NotANumberError) as caught:
        list(run)
    row.said(str(caught.value))
    assert run.finish_reason == "error" and run.error == str(caught.value)
    trace = json.loads(run.trace().to_json())
    assert len(trace["events"]) == 3 and trace["finish_reason"] == "error"


def test_nan_from_a_router_in_a_batch(row, tmp_path, monkeypatch, capsys):
    """The rows that had finished are on the disk, and another router may not go on with them."""
    engine = Engine.load()
    engine._routers = engine._all_routers = {"breaks": Breaks(12)}
    monkeypatch.setattr(Engine, "load", lambda *_, **__: engine)
    route = ["route", "--dataset-path", str(dataset(tmp_path, 3)), "--router", "breaks", "--batch-size", "1"]
    out = tmp_path / "out.jsonl"
    assert main([*route, "--max-new-tokens", "8", "--output-file", str(out), "--limit", "2"]) == 0
    whole = lines(out)
    assert main([*route, "--max-new-tokens", "40", "--output-file", str(tmp_path / "long.jsonl")]) == 2
    row.said(capsys.readouterr().err)
    assert len(whole) == 2 and all(found["finish_reason"] for found in lines(tmp_path / "long.jsonl"))
    prompts = [engine.pair.encode("1+1?")]
    with pytest.raises(NotANumberError):
        list(decode_batch(engine.pair, Breaks(2), prompts, DecodeSettings(threshold=0.5, max_new_tokens=20)))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory: you tried to"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        OSError(12, "Cannot allocate memory"),
    ],
    ids=["python", "torch", "cuda", "system"],
)
def test_memory_full_while_another_pair_loads(row, room, error):  # noqa: F811
    loader = Loader()
    slot, switch = make(loader)
    loader.errors[NEW] = error
    begin(switch)
    stage, message = ended(switch)
    row.said(message)
    assert stage == "failed" and message.endswith(f"{OLD_TITLE} goes on.")
    assert switch.pair == OLD and written(slot) == SCRIPTS[OLD], "the old pair answers"
    loader.errors.clear()
    begin(switch)
    assert ended(switch)[0] == "ready"


def test_memory_full_while_the_first_pair_loads(row):
    def load():
        raise MemoryError

    slot = EngineSlot(load)
    slot.fill()
    status = slot.status()
    assert status["state"] == "failed"
    row.said(status["message"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds to this limit")
def test_memory_full_on_the_command_line(row, tmp_path):
    """A real limit: the pair loads, and a batch that is larger than the memory does not fit."""
    code = (
        "import sys, resource, torch; torch.set_num_threads(1)\n"
        "from citer_core.cli.main import main; from citer_core.engine import Engine\n"
        "engine = Engine.load(); Engine.load = classmethod(lambda *_, **__: engine)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 48 * 2**20,) * 2)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    assert resource.RLIMIT_AS
    process = child(
        *("route", "--dataset-path", "assets/datasets/math.jsonl", "--batch-size", "200", "--max-new-tokens", "400"),
        *("--threshold", "1", "--output-file", str(tmp_path / "out.jsonl")),
        code=code,
        starts=True,
    )
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 1, said
    row.said(said)
    assert not is_out_of_memory(ValueError("memory"))
