"""Full disks, folders that cannot be written, and outputs that are no files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from citer_core import files
from citer_core.assets import ASSETS
from citer_core.cli import profile as profile_command
from citer_core.cli.main import main
from citer_core.engine import Engine
from citer_core.errors import MachineError, ModelFileError
from citer_core.measuring.profile_numbers import read_profile
from citer_core.models import store
from citer_core.models.gguf_conversion import convert
from citer_core.models.sources import HubSource
from citer_core.training.finetune import Recipe, finetune
from tests.cli.examples import LABEL_LITTLE, QUICK, dataset, lines
from tests.core.conftest import tiny_qwen2
from tests.fakes import FakeEngine, use
from tests.faults.conftest import COMMAND, FULL, child, fake_command
from tests.forked import HUB_ANEW
from tests.sampling import few_or_all

LABEL = [*LABEL_LITTLE, "--output-dir"]
STORED = ASSETS / "benchmarks" / "profile.json"


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if ".partial" in path.name or path.name.endswith(".lock")]


@pytest.fixture
def rescued(tmp_path, monkeypatch):
    """Where results go that could not be written to their place."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(files.tempfile, "tempdir", str(folder))
    return folder


def test_a_batch_run(row, disk, tmp_path, monkeypatch, capsys):
    """The row that did not fit is gone to its last byte, and the others are there."""
    use(monkeypatch, FakeEngine())
    rows = dataset(tmp_path, n_rows=60)
    route = ["route", "--dataset-path", str(rows), "--with-trace", "--output-file"]
    out = disk.folder / "out.jsonl"
    disk.fill(left=48 * 1024)
    assert main([*route, str(out)]) == 1
    row.said(capsys.readouterr().err)
    kept = lines(out)
    assert 2 < len(kept) < 60, "the disk was full in between"
    disk.make_room()
    assert main([*route, str(out)]) == 0
    assert lines(out)[: len(kept)] == kept and [found["id"] for found in lines(out)] == [f"q{n}" for n in range(60)]


def test_labelling(row, disk, labels, capsys):
    folder = disk.folder / "labels"
    disk.fill(left=12 * 1024)
    assert main([*LABEL, str(folder)]) == 1
    row.said(capsys.readouterr().err)
    assert [path.name for path in folder.iterdir()] == ["labels.json"], "no half of a part takes up the room"
    disk.make_room()
    assert main([*LABEL, str(folder)]) == 0
    for path in folder.iterdir():
        assert path.read_bytes() == (labels / path.name).read_bytes()


def stored_profile(monkeypatch):
    """The measuring itself takes a minute and is not what is tested."""
    result = read_profile(STORED)
    monkeypatch.setattr(Engine, "load", lambda *_, **__: None)
    monkeypatch.setattr(profile_command, "_measure", lambda *_: result)
    return result


def test_a_measurement_that_no_longer_fits(row, disk, monkeypatch, rescued, capsys):
    """Its place is reserved, so it mostly fits on a disk that others have filled; this one is larger than that."""
    result = stored_profile(monkeypatch)
    out = disk.folder / "profile.json"
    assert main(["profile", "--output-file", str(out)]) == 0
    before = out.read_bytes()
    capsys.readouterr()

    def measure(*_):
        disk.fill()
        return result

    monkeypatch.setattr(profile_command, "_measure", measure)
    if disk.is_mounted:
        assert main(["profile", "--output-file", str(out)]) == 0, "what was reserved is enough"
        disk.make_room()
    monkeypatch.setattr("citer_core.cli.report_file.RESERVED", 10)
    monkeypatch.setattr("citer_core.cli.report_file.rescue", lambda *found: (disk.make_room(), files.rescue(*found))[1])
    capsys.readouterr()
    result = replace(result, pair_revision="x" * 200_000)
    assert main(["profile", "--output-file", str(out)]) == 1
    printed, said = capsys.readouterr()
    row.said(said)
    assert printed.startswith(result.pair), "the words are printed all the same"
    (kept,) = rescued.iterdir()
    assert kept.read_text(encoding="utf-8") == json.dumps(result.as_json(), indent=1) + "\n" and str(kept) in said
    assert json.loads(before) == json.loads(out.read_bytes())
    assert sorted(path.name for path in disk.folder.iterdir()) == ["profile.json"]


def test_a_disk_that_is_full_before_the_measuring(row, disk, monkeypatch, capsys):
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("a model was loaded"))
    disk.fill()
    for command in ("profile", "bench"):
        assert main([command, "--output-file", str(disk.folder / "out.json")]) == 2
        row.said(capsys.readouterr().err)
    assert [path.name for path in disk.folder.iterdir() if path.name != ".filler"] == []


def test_the_export_of_pages(row, disk, tmp_path, capsys):
    pages = disk.folder / "pages"
    export = ["gallery", "--only-given", str(pages), *map(str, sorted((ASSETS / "traces").glob("bakery*.json")))]
    assert main(export) == 0
    whole = {path.name: path.read_bytes() for path in pages.iterdir()}
    shutil.rmtree(pages)
    disk.fill(left=max(map(len, whole.values())) // 2)
    capsys.readouterr()
    assert main(export) in (1, 2)
    row.said(capsys.readouterr().err)
    assert not left_over(pages) and not (pages / "index.html").exists(), "no index names pages that are not there"
    disk.make_room()
    assert main(export) == 0
    assert {path.name: path.read_bytes() for path in pages.iterdir()} == whole


def test_a_trained_router(row, disk, labels, rescued, monkeypatch, capsys):
    out = disk.folder / "routers"
    disk.fill(left=8 * 1024)
    if not disk.is_mounted:  # a limit is that of every file: let it end where the rescue begins
        make = files.tempfile.mkdtemp
        monkeypatch.setattr(files.tempfile, "mkdtemp", lambda **options: (disk.make_room(), make(**options))[1])
    capsys.readouterr()
    assert main(["train-router", "--labels", str(labels), "--output-dir", str(out), *QUICK]) == 1
    row.said(capsys.readouterr().err)
    assert not list(out.iterdir())
    (kept,) = rescued.iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["citer.json", "citer.safetensors"]


@pytest.mark.parametrize("sizes", few_or_all([40_000], [300_000, 600_000]))
def test_fine_tuning(row, disk, tmp_path, sizes):
    """torch, safetensors and Python each have an error of their own for a full disk; whichever comes first."""
    model = tmp_path / "model"
    tiny_qwen2(1, initializer_range=0.1).save_pretrained(model)
    shutil.copytree(ASSETS / "models" / "tokenizer", model, dirs_exist_ok=True)
    from citer_core.tasks.datasets import bundled_rows

    rows = bundled_rows("mc")[:4]
    recipe = Recipe(max_steps=2, batch_size=2, save_steps=1, max_length=200)
    for n_bytes in sizes:
        disk.fill(left=n_bytes)
        with pytest.raises(MachineError) as caught:
            finetune(model, rows, "mc", disk.folder / "tuned", recipe)
        row.said(str(caught.value))
        assert not (disk.folder / "tuned").exists() and not (disk.folder / "tuned.part").exists()
        disk.make_room()
    assert finetune(model, rows, "mc", disk.folder / "tuned", recipe).n_steps == 2


def test_unpacking_gguf(row, disk, tmp_path, monkeypatch):
    pytest.importorskip("gguf")
    from tests.core.test_gguf import write_gguf

    write_gguf(tmp_path / "tiny.gguf", tiny_qwen2(1))
    monkeypatch.setenv("CITER_CACHE", str(disk.folder / "cache"))
    (disk.folder / "cache" / "converted").mkdir(parents=True)
    disk.fill(left=64 * 1024)
    with pytest.raises(ModelFileError) as caught:
        convert(tmp_path / "tiny.gguf", "float32")
    row.said(str(caught.value))
    assert any(words in str(caught.value) for words in FULL)
    assert not list((disk.folder / "cache" / "converted").iterdir())
    disk.make_room()
    assert convert(tmp_path / "tiny.gguf", "float32").is_dir()


def test_recording(row, disk, tmp_path, capsys):
    plans = tmp_path / "plans.jsonl"
    plan = {"file": "a.json", "title": "A", "subtitle": "s", "data_type": "open", "question": "Tom has 2 pens."}
    plans.write_text(json.dumps(plan | {"max_new_tokens": 40}) + "\n", encoding="utf-8")
    out = disk.folder / "out"
    (out / "probes").mkdir(parents=True)
    disk.fill(left=8 * 1024)
    assert main(["record", str(plans), "--output-dir", str(out)]) == 1
    row.said(capsys.readouterr().err)
    assert not left_over(out) and not (out / "index.json").exists()
    disk.make_room()
    assert main(["record", str(plans), "--output-dir", str(out)]) == 0
    assert (out / "index.json").is_file()


def test_standard_output_on_a_full_disk(row, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    home = tmp_path / "temporary"
    home.mkdir()
    code = fake_command()
    with Path("/dev/full").open("w") as full:
        process = child(
            "route", "--question", "1+1?", "--json", code=code, starts=True, stdout=full, env={"TMPDIR": str(home)}
        )
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    row.said(said)
    (kept,) = home.glob("citer-rescued-*")
    assert json.loads(kept.read_text(encoding="utf-8"))["schema"] == "citer-trace" and str(kept) in said
    # What is only words is lost with the disk that it was to go to, in words.
    with Path("/dev/full").open("w") as full:
        process = child("capacity", "--users", "3", starts=True, stdout=full)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and "The output could not be read or written (No space left" in said
    assert "Traceback" not in said and "Exception ignored" not in said


def test_a_log_on_a_full_disk(row, tmp_path):
    """Progress is a comfort: the work goes on without it."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    code = fake_command()
    out = tmp_path / "out.jsonl"
    with Path("/dev/full").open("w") as full:
        process = child(
            *("route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)),
            code=code, starts=True, stderr=full,
        )  # fmt: skip
        process.communicate(timeout=60)
    assert process.returncode == 0 and len(lines(out)) == 4
    row.said("")


def unusable(tmp_path: Path) -> list[Path]:
    """Places below a file, and, where that can be had, in a folder that is read-only for everybody."""
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    places = [tmp_path / "taken" / "x"]
    readonly = tmp_path / "readonly"
    readonly.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro,size=4k", "tmpfs", str(readonly)], capture_output=True, check=False
        ).returncode
        == 0
        or os.geteuid()
    ):
        readonly.chmod(0o555) if os.geteuid() else None
        places.append(readonly / "x")
    return places


COMMANDS = {
    "route": ["--dataset-path", "ROWS", "--output-file"],
    "make-cot": ["--dataset-path", "ROWS", "--output-file"],
    "evaluate": ["--dataset-path", "ROWS", "--output-file"],
    "bench": ["--output-file"],
    "profile": ["--output-file"],
    "load": ["--llm-url", "http://127.0.0.1:9/v1", "--output-file"],
    "gallery": [],
    "static": [],
    "train-router": ["--labels", "LABELS", "--output-dir"],
    "label": ["--dataset-path", "ROWS", "--output-dir"],
    "iterate": ["--dataset-path", "ROWS", "--output-dir"],
    "record": ["PLANS", "--output-dir"],
    "record-labels": ["ROWS", "--output-dir"],
    "merge-labels": ["LABELS", "--output-dir"],
    "finetune": ["--model", "embedded", "--dataset-path", "ROWS", "--data-type", "math", "--output"],
}
# These need the pair to know what they write; what they compute comes after the folder was found unfit.
LOADS = {"label", "iterate", "record", "record-labels", "finetune"}


@pytest.mark.parametrize("n_places", few_or_all(1, 2))
def test_a_folder_that_cannot_be_written(row, tmp_path, labels, monkeypatch, capsys, n_places):
    """Every command that writes says so before it computes anything."""
    from citer_core.training import iterate, publish_router

    dataset(tmp_path, 3)
    plan = {"file": "a.json", "title": "A", "subtitle": "s", "data_type": "open", "question": "1+1?"}
    (tmp_path / "plans.jsonl").write_text(json.dumps(plan) + "\n", encoding="utf-8")
    found = {"ROWS": "rows.jsonl", "PLANS": "plans.jsonl", "LABELS": labels}
    monkeypatch.setattr(iterate, "label_dataset", lambda *_, **__: pytest.fail("labelled"))
    monkeypatch.setattr(publish_router, "train_router", lambda *_, **__: pytest.fail("trained"))
    monkeypatch.setattr("citer_core.labelling.label_files.label_examples", lambda *_, **__: pytest.fail("labelled"))
    monkeypatch.setattr(Engine, "start", lambda *_, **__: pytest.fail("run"))
    places = unusable(tmp_path)[:n_places]
    engine = Engine.load()
    try:
        for command, arguments in COMMANDS.items():
            with monkeypatch.context() as patch:
                allowed = command in LOADS
                patch.setattr(Engine, "load", lambda *_, ok=allowed, **__: engine if ok else pytest.fail("loaded"))
                for place in places:
                    given = [str(tmp_path / found[name]) if name in found else name for name in arguments]
                    assert main([command, *given, str(place)]) in (1, 2), command
                    row.said(capsys.readouterr().err)
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "readonly")], capture_output=True, check=False)


@pytest.mark.parametrize("what", ["a folder", "a device", "a pipe"])
def test_an_output_that_is_no_file(row, tmp_path, monkeypatch, capsys, what):
    """A device is read without an end, and a pipe waits for a writer without end."""
    engine = use(monkeypatch, FakeEngine())
    place = {"a folder": tmp_path, "a device": Path("/dev/null"), "a pipe": tmp_path / "pipe"}[what]
    if what == "a pipe":
        os.mkfifo(place)
    assert main(["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(place)]) == 2
    said = capsys.readouterr().err
    assert (
        engine.n_loads == 0 and said.startswith("error: ") and ("not an ordinary file" in said or "directory" in said)
    )
    row.said(said if what != "a folder" else f"{said} is not an ordinary file: choose another one")
    assert not Path("/dev/null.meta.json").exists()


def test_a_cache_that_cannot_be_read(row, tmp_path, monkeypatch, capsys):
    """A hub cache that belongs to another user, is a file, or is on a disk that is gone."""
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    process = child(
        *("route", "--question", "1+1?", "--pair", "nobody/slm,nobody/llm"), code=HUB_ANEW + COMMAND,
        env={"HF_HOME": str(tmp_path / "file"), "CITER_CACHE": str(tmp_path / "file"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 2, said
    row.said(said)
    monkeypatch.setenv("CITER_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelFileError, match=r"could not be fetched|cannot"):
        store.fetch(HubSource("nobody/slm"), lambda _: None)
