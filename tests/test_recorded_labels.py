"""Labels that are recorded for the page: made row by row, resumed, left alone, and read back through the gate."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from citer_core.cli.main import main
from citer_core.engine import Engine
from citer_core.errors import DatasetError, TraceError
from citer_core.evaluation import label_view
from citer_core.evaluation.label_view import label_texts
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.same_pair import is_same_pair
from citer_core.serving.line import WaitingLine
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import row_completion
from citer_core.ui.jobs import JobLine
from citer_core.ui.labels.answers import about_labels
from citer_core.ui.labels.messages import analysis_body
from citer_core.ui.labels.recorded_labels import (
    DATASETS,
    FOLDER,
    STORED,
    StoredLabels,
    read_stored,
    record_labels,
    rows_called,
    rows_in_file,
    usual_routers,
)
from citer_core.ui.pair.engine_slot import EngineSlot
from tests.asking import last

NAME = "some.jsonl"


@pytest.fixture(scope="module")
def engine():
    return Engine.load()


@pytest.fixture
def some(tmp_path):
    """Two bundled rows, one of each format, in a file; by outcome the first has tokens of all three kinds."""
    rows = [rows_called("math").rows[102], rows_called("mc").rows[0]]
    (tmp_path / NAME).write_text("\n".join(json.dumps(row) for row, _ in rows), encoding="utf-8")
    return rows_in_file(tmp_path / NAME)


def test_a_stopped_recording_goes_on_and_a_finished_one_is_left_alone(engine, some, tmp_path, monkeypatch):
    folder, read = tmp_path / "kept", []

    def counted(pair, routers, examples, **how):
        read.extend(examples)
        return label_texts(pair, routers, examples, **how)

    monkeypatch.setattr(label_view, "label_texts", counted)
    work = record_labels(engine, NAME, some, folder)
    assert next(work) == (1, None)
    work.close()
    assert read_stored(folder) == [] and len(read) == 1
    *_, (n_read, entry) = record_labels(engine, NAME, some, folder)
    assert n_read == 2 and len(read) == 2 and read_stored(folder) == [entry]
    assert entry is not None and (entry.title, entry.n_problems) == ("2 problems", 2)

    # The same as read at once, to the last bit.
    routers = [engine.router(name) for name in usual_routers(engine)]
    texts = list(label_texts(engine.pair, routers, [example_of(row, kind, engine.pair) for row, kind in some.rows]))
    there = json.loads((folder / entry.file).read_text(encoding="utf-8"))
    body = json.loads(json.dumps(analysis_body("2 problems", engine.pair, routers, texts)))
    assert there == {"analysis": entry.id, "number": 0, **body}
    assert entry.n_tokens == len(there["text"])
    assert [path.name for path in sorted(folder.glob("*.json*"))] == sorted([entry.file, "index.json"])

    # By outcome too is another recording: tokens then have both labels, the new ones as `label_examples` makes them.
    *_, (_, entry) = record_labels(engine, NAME, some, folder, by_outcome=True)
    settings = LabelSettings(Policy.llm_alone(), labels="outcome")
    wanted, _ = label_examples(engine.pair, [text.example for text in texts], settings)
    outcome = json.loads((folder / entry.file).read_text(encoding="utf-8"))["outcome"]
    assert outcome == "".join("2" if one < 0 else str(one) for one in wanted.label.tolist())
    assert set(outcome) == {"0", "1", "2"}

    list(record_labels(engine, NAME, some, folder, by_outcome=True))
    assert len(read) == 4
    list(record_labels(engine, NAME, some, folder, routers=["entropy"]))  # another recording, in its place
    assert len(read) == 6 and len(read_stored(folder)) == 1


def test_what_is_wrong_with_files_is_said(tmp_path, capsys):
    for text in ("{", '[{"file": "a.json"}]', json.dumps([{**index_entry(), "file": "../../etc/passwd"}])):
        (tmp_path / "index.json").write_text(text, encoding="utf-8")
        with pytest.raises(TraceError, match="record-labels"):
            read_stored(tmp_path)
    (tmp_path / "bad.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DatasetError, match=r"bad\.jsonl cannot be read"):
        rows_in_file(tmp_path / "bad.jsonl")
    assert main(["record-labels", str(tmp_path / "missing.jsonl"), "--output-dir", str(tmp_path / "out")]) == 2
    assert "Traceback" not in capsys.readouterr().err and not (tmp_path / "out").exists()


def index_entry(**changes):
    words = dict.fromkeys(StoredLabels.__slots__, "x")
    return {**words, "file": "a.json", "by_outcome": False, "n_problems": 1, "n_tokens": 1, **changes}


def test_tokens_of_a_recording_are_rolled_out_by_its_own_pair_only(engine):
    slot = EngineSlot(lambda: engine)
    slot.start()
    assert slot.wait(60) is not None
    ours = next(entry for entry in read_stored() if entry.rows == "mc" and entry.pair == engine.pair_info.name)
    other = StoredLabels(**index_entry(file="other.json", pair="Another pair", pair_revision="a-b", rows="math"))
    roll_out = about_labels(JobLine(WaitingLine(1), slot), slot, [ours, other])["roll_out"]

    def rolled_out(**asked):
        given = {"of": {"stored": ours.id}, "index": 0, "router": "max-probability", "tau": 0.9, **asked}
        return last(roll_out, given)

    final = rolled_out(index=ours.n_tokens - 1)["rollout"]
    assert final["index"] == ours.n_tokens - 1 and final["slm"]["token"] == ""  # the end of the last problem
    assert "pick the problem again" in rolled_out(index=ours.n_tokens)["notice"]
    assert "pick the problem again" in rolled_out(of={"stored": f"{STORED}guess"})["notice"]
    refused = rolled_out(of={"stored": other.id})
    assert "Another pair" in refused["notice"] and refused["needs"]["title"] == "Another pair"


def test_what_is_shipped_is_of_the_bundled_pair_and_whole(engine):
    """After the bundled pair was made again: `python -m citer_core record-labels math mc`."""
    revision = json.loads((FOLDER.parent / "models" / "card.json").read_text(encoding="utf-8"))["pair_revision"]
    entries = read_stored()
    assert [entry.rows for entry in entries[:2]] == ["math", "mc"]
    for entry in entries:
        message = json.loads((FOLDER / entry.file).read_text(encoding="utf-8"))
        assert message["analysis"] == entry.id and message["title"] == entry.title
        assert len(message["problems"]) == entry.n_problems and len(message["text"]) == entry.n_tokens
        wanted = [problem_from_row(row, kind).question for row, kind in rows_called(entry.rows).rows]
        assert [problem["question"] for problem in message["problems"]] == wanted
        if entry.rows in ("math", "mc"):
            assert is_same_pair(entry.pair_revision, str(revision))
            routers = [engine.router(head["name"]) for head in message["routers"]]
            row, kind = rows_called(entry.rows).rows[0]
            (text,) = label_texts(engine.pair, routers, [example_of(row, kind, engine.pair)])
            for router in routers:
                there = np.frombuffer(base64.b64decode(message["confidence"][router.name]), "<f4")
                assert np.abs(there[: text.n_tokens] - text.confidence[router.name].numpy()).max() < 1e-3
        else:
            assert entry.n_problems >= 40


def test_the_problems_for_other_pairs_are_at_least_40_and_their_solutions_right(engine):
    source = rows_in_file(DATASETS / "labelled-qwen.jsonl")
    assert len(source.rows) >= 40 and {kind for _, kind in source.rows} == {"math", "mc"}
    for row, kind in source.rows:
        problem = example_of(row, kind, engine.pair).problem
        assert check_answer(row_completion(row, kind), problem).is_correct
    asked = [row.get("question") or row["problem"] for row, _ in source.rows]
    assert len(set(asked)) == len(asked)
    bundled = {row.get("question") or row["problem"] for kind in ("math", "mc") for row, _ in rows_called(kind).rows}
    assert not bundled & set(asked)
