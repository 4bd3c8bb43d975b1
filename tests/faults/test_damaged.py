"""Files that were cut off, changed in one bit, or edited: named with what to do, never taken for whole ones."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.errors import CiterError, DatasetError
from citer_core.labelling.label_files import load_labels
from tests.cli.examples import LABEL_LITTLE, dataset, lines
from tests.fakes import FakeEngine, use
from tests.sampling import few_or_all


def test_a_row_of_a_resumed_file(row, tmp_path, monkeypatch, capsys):
    """In the middle, which no kill does: a disk's fault, or an editor's."""
    use(monkeypatch, FakeEngine())
    out = tmp_path / "out.jsonl"
    route = ["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert main(route) == 0
    whole = out.read_bytes()
    first, second, third, fourth, _ = whole.split(b"\n")
    damages = [second[:-20], b"", b"\x00" * len(second), b"[]", b'{"id": "q1"}', b"[" * 100_000, b'{"id": 7}']
    damages += [second.replace(b'"n_tokens"', b'"n_tokexs"'), second.replace(b'"id"', b'"ie"'), second[:50] + b"\xff"]
    for damaged in damages:
        content = b"\n".join([first, damaged, third, fourth, b""])
        out.write_bytes(content)
        capsys.readouterr()
        assert main(route) == 2, damaged[:40]
        row.said(capsys.readouterr().err)
        assert out.read_bytes() == content, "it is left as it is"
    out.write_bytes(b"\n".join([first, third, fourth, b""]))
    assert main(route) == 0
    assert sorted(found["id"] for found in lines(out)) == ["q0", "q1", "q2", "q3"]


def test_a_data_set(row, tmp_path, monkeypatch, capsys):
    engine = use(monkeypatch, FakeEngine())
    rows = dataset(tmp_path)
    content = rows.read_bytes()
    rows.write_bytes(content[:-30])
    out = tmp_path / "out.jsonl"
    assert main(["route", "--dataset-path", str(rows), "--output-file", str(out)]) == 2
    row.said(capsys.readouterr().err)
    assert engine.n_loads == 0 and not out.exists()


def flipped(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


@pytest.mark.parametrize(("n_flips", "n_least"), few_or_all((20, 1), (100, 11)))
def test_a_trace(row, tmp_path, capsys, n_flips, n_least):
    """Every cut is noticed; a flip of one bit is noticed, or changes a number or a letter."""
    trace = next(path for path in sorted((ASSETS / "traces").glob("*.json")) if path.name != "index.json")
    content = trace.read_bytes()
    given, pages = tmp_path / "given.json", tmp_path / "pages"
    for cut in (0, 1, len(content) // 3, len(content) - 20):
        given.write_bytes(content[:cut])
        assert main(["gallery", "--only-given", str(pages), str(given)]) == 2
        row.said(capsys.readouterr().err)
    assert not pages.exists(), "no page shows half of a run"
    draw, seed = random.Random(), random.randrange(10**6)
    draw.seed(seed)
    print("seed", seed)
    n_noticed = 0
    for _ in range(n_flips):
        given.write_bytes(flipped(content, draw))
        code = main(["gallery", "--only-given", str(pages), str(given)])
        assert code in (0, 2)
        n_noticed += code == 2
        assert "Traceback" not in capsys.readouterr().err
    assert n_noticed >= n_least


@pytest.mark.parametrize("n_flips", few_or_all(2, 30))
def test_labels(row, labels, tmp_path, n_flips):
    parts = sorted(labels.glob("part-*"))
    assert len(parts) == 2
    for part in parts:
        for cut in (0, 7, part.stat().st_size // 2, part.stat().st_size - 3):
            shutil.rmtree(tmp_path / "cut", ignore_errors=True)
            shutil.copytree(labels, tmp_path / "cut")
            with (tmp_path / "cut" / part.name).open("r+b") as file:
                file.truncate(cut)
            with pytest.raises(DatasetError) as caught:
                load_labels(tmp_path / "cut")
            if cut:
                row.said(str(caught.value))
    for path in (tmp_path / "cut").glob("part-*"):
        path.unlink()
    assert main([*LABEL_LITTLE, "--output-dir", str(tmp_path / "cut")]) == 0
    for path in labels.iterdir():
        assert (tmp_path / "cut" / path.name).read_bytes() == path.read_bytes()
    draw = random.Random(7)
    for part in parts:
        content = part.read_bytes()
        for _ in range(n_flips):
            (tmp_path / "cut" / part.name).write_bytes(flipped(content, draw))
            try:
                load_labels(tmp_path / "cut")
            except CiterError:
                continue
        (tmp_path / "cut" / part.name).write_bytes(content)


def test_the_note_beside_a_batch_run(row, tmp_path, monkeypatch, capsys):
    use(monkeypatch, FakeEngine())
    out = tmp_path / "out.jsonl"
    route = ["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert main(route) == 0
    meta = out.with_name("out.jsonl.meta.json")
    whole, rows = meta.read_bytes(), out.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"[]", b"\xff", b"[" * 100_000):
        meta.write_bytes(content)
        assert main(route) == 2
        row.said(f"{capsys.readouterr().err} and there is no readable one: choose another output file.")
        assert out.read_bytes() == rows
    document = json.loads(whole)
    for field in ("settings", "loaded"):
        meta.write_text(json.dumps(document | {field: 5}), encoding="utf-8")
        assert main(route) == 2
        assert "choose another output file" in capsys.readouterr().err
    meta.write_bytes(whole)
    assert main(route) == 0


def test_a_row_that_was_edited_is_no_result(row, tmp_path, monkeypatch, capsys):
    use(monkeypatch, FakeEngine())
    out = tmp_path / "out.jsonl"
    route = ["route", "--dataset-path", str(dataset(tmp_path)), "--output-file", str(out)]
    assert main(route) == 0
    whole = out.read_bytes()
    first, *others = whole.splitlines(keepends=True)
    edited = json.dumps(json.loads(first) | {"is_correct": True, "n_tokens": 1}).encode() + b"\n"
    out.write_bytes(edited + b"".join(others))
    assert main(route) == 2
    row.said(f"{capsys.readouterr().err} row 1 is damaged or was edited: remove that line")
    out.write_bytes(b"".join(others))  # what the message says to do
    assert main(route) == 0
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines()) and main(route) == 0
