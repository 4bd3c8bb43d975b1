"""kill -9 at random moments of everything that takes long: the same command goes on, to the same bytes.

Real processes, real SIGKILL: `dying` says how. The moments are drawn anew in every run, and the seed is printed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.config import cache_folder
from citer_core.labelling import label_files
from citer_core.labelling.label_files import label_dataset, shard_starts
from citer_core.models.gguf_conversion import convert
from tests.cli.examples import QUICK, dataset, lines
from tests.core.conftest import tiny_qwen2
from tests.fakes import FakeEngine, use
from tests.faults.conftest import child

PART = 3
LABEL = ["label", "--generated", "3", "--max-new-tokens", "8"]


@pytest.fixture
def _small_parts(monkeypatch):
    monkeypatch.setattr(label_files, "PART_SIZE", PART)
    monkeypatch.setitem(label_dataset.__kwdefaults__, "part_size", PART)
    monkeypatch.setattr(shard_starts, "__defaults__", (PART,))


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def killed_again_and_again(*arguments: str, moments: str = "1-12,1-8") -> str:
    """What was said; every run but the last was killed, at the moments that `dying` counts."""
    seed = random.randrange(10**6)
    print("seed", seed)
    process = child(
        str(seed), moments, str(PART), *arguments,
        code="import runpy; runpy.run_module('tests.faults.dying', run_name='__main__')",
    )  # fmt: skip
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert f"killed {moments.count(',') + 1} times, ended with 0" in out, out
    return err


@pytest.mark.usefixtures("_small_parts")
def test_labelling(row, tmp_path):
    assert main([*LABEL, "--output-dir", str(tmp_path / "whole")]) == 0
    said = killed_again_and_again(*LABEL, "--output-dir", str(tmp_path / "killed"))
    row.said(said)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.usefixtures("_small_parts")
def test_training_a_router(row, tmp_path, capsys):
    assert main([*LABEL, "--output-dir", str(tmp_path / "labels")]) == 0
    train = ["train-router", "--labels", str(tmp_path / "labels"), *QUICK, "--output-dir"]
    assert main([*train, str(tmp_path / "whole")]) == 0
    said = killed_again_and_again(*train, str(tmp_path / "killed"), moments="1-4,4-8,1-8")
    row.said(said)
    whole, killed = files(tmp_path / "whole"), files(tmp_path / "killed")
    assert killed.keys() == whole.keys() == {"citer.json", "citer.safetensors"}
    assert killed["citer.safetensors"] == whole["citer.safetensors"]
    cards = [json.loads(found["citer.json"]) for found in (killed, whole)]
    assert [card.pop("date") for card in cards] and cards[0] == cards[1]


@pytest.mark.slow
@pytest.mark.usefixtures("_small_parts")
def test_rounds_of_both(row, tmp_path):
    rounds = ["iterate", "--generated", "3", "--max-new-tokens", "20", "--epochs", "2", "--test-limit", "2"]
    assert main([*rounds, "--output-dir", str(tmp_path / "whole")]) == 0
    said = killed_again_and_again(*rounds, "--output-dir", str(tmp_path / "killed"), moments=",".join(["1-12"] * 8))
    row.said(said)
    whole, killed = files(tmp_path / "whole"), files(tmp_path / "killed")
    assert killed.keys() == whole.keys()
    for name, content in whole.items():
        if not name.endswith("report.json"):  # which has seconds
            assert killed[name] == content or name.endswith("citer.json"), name


def without_seconds(path):
    return sorted(
        ({k: v for k, v in found.items() if k != "measured_s"} for found in lines(path)), key=lambda found: found["id"]
    )


def test_a_batch_run(row, tmp_path):
    """A row on disk is never run again, and none is missing or there twice."""
    route = ["route", "--dataset-path", "assets/datasets/math.jsonl", "--limit", "8", "--batch-size", "2"]
    route += ["--max-new-tokens", "8", "--output-file"]
    assert main([*route, str(tmp_path / "whole.jsonl")]) == 0
    said = killed_again_and_again(*route, str(tmp_path / "killed.jsonl"), moments="13-18,1-4")
    row.said(said)
    assert without_seconds(tmp_path / "killed.jsonl") == without_seconds(tmp_path / "whole.jsonl")


def test_a_line_that_is_half_written(row, tmp_path, monkeypatch, capsys):
    use(monkeypatch, FakeEngine())
    route = ["route", "--dataset-path", str(dataset(tmp_path, 3)), "--output-file", str(tmp_path / "out.jsonl")]
    assert main(route) == 0
    whole = (tmp_path / "out.jsonl").read_bytes()
    note = tmp_path / "out.jsonl.meta.json"
    beside = note.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in (ends[0] + 1, ends[1] - 1, ends[1], len(whole) - 1):
        (tmp_path / "out.jsonl").write_bytes(whole[:cut])
        note.write_bytes(beside)
        capsys.readouterr()
        assert main(route) == 0
        n_left = sum(end <= cut for end in ends)
        row.said(capsys.readouterr().err)
        found = (tmp_path / "out.jsonl").read_bytes()
        assert found.startswith(whole[: ends[n_left - 1]]), "finished rows stay to the byte"
        (tmp_path / "whole.jsonl").write_bytes(whole)
        assert without_seconds(tmp_path / "out.jsonl") == without_seconds(tmp_path / "whole.jsonl")


@pytest.mark.slow
def test_recording(row, tmp_path):
    plans = tmp_path / "plans.jsonl"
    plan = {"subtitle": "s", "data_type": "open", "max_new_tokens": 6}
    texts = [{"file": f"{n}.json", "title": str(n), "question": f"Tom has {n} pens.", **plan} for n in range(3)]
    plans.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    record = ["record", str(plans), "--output-dir"]
    assert main([*record, str(tmp_path / "whole")]) == 0
    said = killed_again_and_again(*record, str(tmp_path / "killed"))
    row.said(said)
    whole, killed = files(tmp_path / "whole"), files(tmp_path / "killed")
    assert killed.keys() == whole.keys()

    def tokens(name, found):
        return [(event["token_id"], event["source"]) for event in json.loads(found[name])["events"]]

    for name in ("0.json", "1.json", "2.json"):
        assert tokens(name, killed) == tokens(name, whole)
        assert killed[f"probes/{name}"] == whole[f"probes/{name}"]
    assert killed["index.json"] == whole["index.json"]


def test_the_export_of_pages(row, tmp_path):
    traces = sorted(path for path in (ASSETS / "traces").glob("*.json") if path.name != "index.json")[:4]
    pages = ["gallery", "--only-given"]
    assert main([*pages, str(tmp_path / "whole"), *map(str, traces)]) == 0
    said = killed_again_and_again(*pages, str(tmp_path / "killed"), *map(str, traces), moments="1-14,10-20")
    row.said(said)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_unpacking_gguf(row, tmp_path, monkeypatch, caplog):
    pytest.importorskip("gguf")
    from tests.core.test_gguf import write_gguf

    write_gguf(tmp_path / "tiny.gguf", tiny_qwen2(1))
    monkeypatch.setenv("CITER_CACHE", str(tmp_path / "whole"))
    whole = convert(tmp_path / "tiny.gguf", "float32")
    killed = tmp_path / "killed"
    code = (
        "import sys, pathlib; from citer_core.models import gguf_conversion as g\n"
        "from citer_core.models.gguf_conversion import convert\n"
        "print('begun', flush=True); convert(pathlib.Path(sys.argv[1]), 'float32'); print('done', flush=True)"
    )
    process = child(str(tmp_path / "tiny.gguf"), code=code, env={"CITER_CACHE": str(killed)})
    try:
        deadline = time.monotonic() + 120
        # As soon as the result is being written; it takes some hundredths of a second more.
        while not list(killed.glob("converted/*.partial/*")):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert all(path.name.endswith(".partial") for path in (killed / "converted").iterdir())
    monkeypatch.setenv("CITER_CACHE", str(killed))
    assert cache_folder() == killed
    with caplog.at_level("INFO", logger="citer_core.models"):
        again = convert(tmp_path / "tiny.gguf", "float32")
    row.said(caplog.text)
    assert files(again) == files(whole)
    assert [path.name for path in (killed / "converted").iterdir()] == [again.name], "gigabytes that are left"


def test_fine_tuning(row, tmp_path):
    model = tmp_path / "model"
    tiny_qwen2(1, initializer_range=0.1).save_pretrained(model)
    shutil.copytree(ASSETS / "models" / "tokenizer", model, dirs_exist_ok=True)
    (tmp_path / "rows.jsonl").write_text(
        "".join(
            json.dumps({"id": f"n{n}", "problem": f"{n} + {n}?", "solution": rf"It is \boxed{{{2 * n}}}."}) + "\n"
            for n in range(8)
        ),
        encoding="utf-8",
    )
    tune = ["finetune", "--model", str(model), "--dataset-path", str(tmp_path / "rows.jsonl"), "--data-type", "math"]
    tune += ["--max-steps", "12", "--batch-size", "2", "--save-steps", "2", "--learning-rate", "0.001", "--output"]
    assert main([*tune, str(tmp_path / "whole")]) == 0
    work = tmp_path / "killed.training"
    # In the middle of a checkpoint, or behind it.
    said = killed_again_and_again(
        *tune, str(tmp_path / "killed"), moments=",".join(str(work / f"checkpoint-{step}") for step in (4, 8))
    )
    row.said(said)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    assert not work.exists()


def test_the_child_that_checks_answers_ends_with_its_parent(row, tmp_path):
    """A kill -9 runs no clean-up; the child notices by itself that its parent is gone."""
    code = (
        "import sys, time; from citer_core.tasks import equivalence as e\n"
        "print(e.same_answer('\\\\frac{1}{2}', '\\\\frac{2}{4}x'), e._WORKER._process.pid, flush=True); time.sleep(60)"
    )
    process = child(code=code)
    try:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split()[1])
        os.kill(pid, 0)
    finally:
        process.kill()
        err = process.communicate()[1]
    row.said(err)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and is_alive(pid):
        time.sleep(0.05)
    assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform == "linux":  # its exit code may not have been fetched: then it is a zombie
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True
