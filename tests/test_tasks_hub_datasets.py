"""Named data sets: hub rows become official rows, splits stay apart, copies are made once and need no network again."""

import importlib.util
import json
from pathlib import Path

import pytest

from citer_core.cli.main import main
from citer_core.errors import DatasetError
from citer_core.tasks import dataset_cache
from citer_core.tasks.answers import check_answer
from citer_core.tasks.dataset_cache import parse_spec, read_parquet, resolve_dataset
from citer_core.tasks.datasets import read_rows, validate_rows
from citer_core.tasks.hub_datasets import HUB_DATASETS, official_rows, refuse_test_rows, without_shared_prompts
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import row_completion
from tests.fakes import FakeEngine, use

# Rows in the schema that each set has on the hub; the questions are our own.
CQA = {
    "id": "00aa", "question": "Where does a cook keep knives?", "question_concept": "knives",
    "choices": {"label": ["A", "B", "C", "D", "E"], "text": ["kitchen", "pond", "sky", "bus", "attic"]},
    "answerKey": "A",
}  # fmt: skip
ARC = {
    "id": "Mercury_1", "question": "Which one is a metal?",
    "choices": {"text": ["wood", "iron", "glass", "cotton"], "label": ["1", "2", "3", "4"]}, "answerKey": "2",
}  # fmt: skip
MMLU = {
    "question": "Which of these is a sense?", "subject": "professional_psychology",
    "choices": ["gravity", "hearing", "heat", "magnetism"], "answer": 1,
}  # fmt: skip
GSM8K = {
    "question": "A hen lays 16 eggs and 7 break. Each of the others sells for $2. How many dollars is that?",
    "answer": "There are 16-7=<<16-7=9>>9 eggs left.\nThey bring 9*2=$<<9*2=18>>18.\n#### 18",
}
MATH = {
    "problem": "What is $3^2+4^2$?", "level": "Level 1", "type": "Algebra",
    "solution": "It is $9+16=\\boxed{25}$.",
}  # fmt: skip
HUB_ROWS = {"cqa": CQA, "arc-challenge": ARC, "mmlu-psychology": MMLU, "gsm8k": GSM8K, "math": MATH}
TRUE_ANSWERS = {"cqa": "A", "arc-challenge": "2", "mmlu-psychology": "B", "gsm8k": "18", "math": "25"}


class FakeHub:
    """Rows by (data set, hub split), and a record of what was asked for."""

    def __init__(self, **rows):
        self.rows = rows
        self.calls = []

    def __call__(self, dataset, hub_split):
        self.calls.append((dataset.name, hub_split))
        yield from self.rows[hub_split]


def gsm8k(number):
    return {"question": f"What is {number}+1?", "answer": f"{number}+1=<<{number}+1={number + 1}>>x\n#### {number + 1}"}


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", HUB_DATASETS)
def test_every_set_gives_official_rows_that_the_project_reads(name):
    dataset = HUB_DATASETS[name]
    rows, errors = official_rows(dataset, "train", [HUB_ROWS[name]])
    assert not errors
    problem = problem_from_row(rows[0], dataset.data_type)
    assert (problem.id, problem.true_answer) == (f"{name}-train-0001", TRUE_ANSWERS[name])


def test_gsm8k_loses_its_calculator_and_gets_a_box():
    (row,), _ = official_rows(HUB_DATASETS["gsm8k"], "test", [GSM8K])
    assert row == {
        "id": "gsm8k-test-0001",
        "problem": GSM8K["question"],
        "solution": "There are 16-7=9 eggs left.\nThey bring 9*2=$18.\nThe final answer is $\\boxed{18}$.",
    }
    problem = problem_from_row(row, "math")
    assert check_answer(row_completion(row, "math"), problem).is_correct
    (large,), _ = official_rows(HUB_DATASETS["gsm8k"], "test", [GSM8K | {"answer": "So many.\n#### 1,018 "}])
    assert problem_from_row(large, "math").true_answer == "1,018"


def test_numbers_as_labels_are_kept_and_answers_by_number_are_found():
    (row,), _ = official_rows(HUB_DATASETS["arc-challenge"], "train", [ARC])
    assert row["choices"]["label"] == ["1", "2", "3", "4"] and row["hub_id"] == "Mercury_1"
    assert check_answer("Iron is one. Therefore, the answer is iron (2).", problem_from_row(row, "mc")).is_correct


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        ("So $\\fbox{7}$.", "7"),
        ("So $\\boxed 7$.", "7"),
        ("So \\boxed{\\frac{1}{2}}.", r"\frac{1}{2}"),
    ],
)
def test_rare_spellings_of_a_box_in_math(solution, answer):
    (row,), _ = official_rows(HUB_DATASETS["math"], "train", [MATH | {"solution": solution}])
    assert problem_from_row(row, "math").true_answer == answer
    assert (row["level"], row["type"]) == ("Level 1", "Algebra")


@pytest.mark.parametrize(
    ("name", "change", "part"),
    [
        ("gsm8k", {"answer": "18"}, "#### <number>"),
        ("mmlu-psychology", {"answer": 4}, "not an index of its 4 choices"),
        ("mmlu-psychology", {"answer": True}, "not an index"),
        ("math", {"solution": "It is 25."}, "boxed"),
        ("cqa", {"answerKey": ""}, "no known answer"),
        ("cqa", {"answerKey": "F"}, "not one of the labels"),
        ("cqa", {"choices": None}, "NoneType"),
    ],
)
def test_a_row_that_cannot_be_mapped_is_an_error_and_keeps_its_number(name, change, part):
    rows, errors = official_rows(HUB_DATASETS[name], "train", [HUB_ROWS[name] | change, HUB_ROWS[name]])
    assert [row["id"] for row in rows] == [f"{name}-train-0002"]
    assert len(errors) == 1 and part in str(errors[0]) and f"{name}-train-0001" in str(errors[0])
    missing = {key: value for key, value in HUB_ROWS[name].items() if key not in change}
    (error,) = official_rows(HUB_DATASETS[name], "train", [missing])[1]
    assert "is missing" in str(error)


def test_no_hub_split_feeds_two_of_ours():
    for dataset in HUB_DATASETS.values():
        used = [hub_split for hub_splits in dataset.splits.values() for hub_split in hub_splits]
        assert len(used) == len(set(used))
        assert {"train", "test"} <= set(dataset.splits)
    assert HUB_DATASETS["cqa"].hub_splits("test") == ("validation",)
    assert HUB_DATASETS["mmlu-psychology"].hub_splits("train") == ("dev", "validation")


def test_a_question_of_the_test_split_is_no_training_question(tmp_path):
    hub = FakeHub(train=[gsm8k(1), gsm8k(2) | {"question": "what IS  2+1? "}, gsm8k(3)], test=[gsm8k(2), gsm8k(4)])
    said = []
    path, data_type = resolve_dataset("gsm8k", "train", cache=tmp_path, fetch=hub, say=said.append)
    assert data_type == "math"
    assert [row["id"] for row in rows_of(path)] == ["gsm8k-train-0001", "gsm8k-train-0003"]
    assert "dropped 1 whose question is also in the test split and 0 unusable" in said[-1]
    test, _ = resolve_dataset("gsm8k:test", cache=tmp_path, fetch=hub)
    assert [row["id"] for row in rows_of(test)] == ["gsm8k-test-0001", "gsm8k-test-0002"]
    assert without_shared_prompts(rows_of(path), rows_of(test), "math") == rows_of(path)
    provenance = json.loads((path.parent / "train.json").read_text(encoding="utf-8"))
    assert provenance["hub_id"] == "openai/gsm8k" and provenance["n_dropped_in_test"] == 1


def test_a_copy_is_made_once_and_read_with_the_hub_gone(tmp_path):
    hub = FakeHub(validation=[CQA], train=[CQA | {"question": "Another?"}])
    first = resolve_dataset("cqa", cache=tmp_path, fetch=hub)
    assert first == (tmp_path / "cqa" / "test.jsonl", "mc")
    assert hub.calls == [("cqa", "validation")]

    def gone(dataset, hub_split):
        raise AssertionError("asked again")

    assert resolve_dataset("cqa", "test", cache=tmp_path, fetch=gone) == first
    assert validate_rows(*first) == []
    assert [row.id for row in read_rows(*first)] == ["cqa-test-0001"]
    assert not list(tmp_path.rglob("*.partial"))


def test_a_failed_fetch_leaves_nothing_and_says_where_to_put_a_file(tmp_path):
    def broken(dataset, hub_split):
        yield gsm8k(1)
        raise ConnectionError("no route to host")

    with pytest.raises(DatasetError, match=r"no route to host.*gsm8k.test\.jsonl"):
        resolve_dataset("gsm8k", cache=tmp_path, fetch=broken)
    assert not list(tmp_path.rglob("*"))


def test_nothing_usable_is_an_error_and_not_an_empty_file(tmp_path):
    with pytest.raises(DatasetError, match="no usable row"):
        resolve_dataset("gsm8k", cache=tmp_path, fetch=FakeHub(test=[{"question": "2?", "answer": "none"}]))
    with pytest.raises(DatasetError, match="all of it is in the test split"):
        resolve_dataset("gsm8k:train", cache=tmp_path, fetch=FakeHub(test=[gsm8k(1)], train=[gsm8k(1)]))
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("spec", "split", "part"),
    [
        ("gsm", None, "choose cqa, arc-challenge, mmlu-psychology, gsm8k or math"),
        ("gsm8k", "validation", 'no split "validation": choose train or test'),
        ("gsm8k:dev", None, 'no split "dev"'),
        ("gsm8k:train", "test", "give one of them"),
    ],
)
def test_wrong_names_say_what_there_is(spec, split, part):
    with pytest.raises(DatasetError, match=part):
        parse_spec(spec, split)


def test_specs_name_a_split_in_either_place():
    assert [parse_spec(*spec)[1] for spec in (("math", None), ("math:train", None), ("math", "train"))] == [
        "test",
        "train",
        "train",
    ]
    assert parse_spec("math:test", "test", "train")[1] == "test"


def test_test_rows_are_known_by_their_ids_whatever_the_file_is_called():
    refuse_test_rows(["gsm8k-train-0001", "my-test-1", "row-3"])
    with pytest.raises(DatasetError, match="arc-challenge-test-0012"):
        refuse_test_rows(["gsm8k-train-0001", "arc-challenge-test-0012"])


def test_a_missing_pyarrow_is_named_before_anything_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DatasetError, match=r"pip install -r requirements\.txt"):
        resolve_dataset("gsm8k", cache=tmp_path)


def test_files_of_a_split_are_read_from_parquet_in_order(tmp_path, monkeypatch):
    """The hub's client is replaced by a folder; listing, choosing and reading the files are the real ones."""
    import huggingface_hub
    import pyarrow as pa
    from pyarrow import parquet

    def write(name, rows):
        path = tmp_path / "hub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), path)

    write("algebra/train-00000-of-00001.parquet", [MATH | {"problem": "first"}])
    write("precalculus/train-00000-of-00001.parquet", [MATH | {"problem": "second"}])
    write("algebra/test-00000-of-00001.parquet", [MATH])
    write("data/train-00000-of-00001.parquet", [CQA])
    names = [str(path.relative_to(tmp_path / "hub")) for path in (tmp_path / "hub").rglob("*.parquet")]
    names.remove("data/train-00000-of-00001.parquet")
    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", lambda self, repo, repo_type: names)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda repo, name, repo_type: str(tmp_path / "hub" / name))
    path, _ = resolve_dataset("math:train", cache=tmp_path / "cache")
    assert [row["problem"] for row in rows_of(path)] == ["first", "second"]
    assert read_parquet(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet") == [CQA]
    with pytest.raises(DatasetError, match=r"no file main/test-\*\.parquet"):
        resolve_dataset("gsm8k", cache=tmp_path / "cache")


# --- on the command line


@pytest.fixture
def hub(monkeypatch):
    fake = FakeHub(test=[gsm8k(1), gsm8k(2)], train=[gsm8k(3)])
    monkeypatch.setattr(dataset_cache, "fetch_from_hub", fake)
    return fake


def test_route_runs_a_named_set(tmp_path: Path, monkeypatch, hub, capsys):
    use(monkeypatch, FakeEngine())
    out = tmp_path / "out.jsonl"
    named = ["--dataset", "gsm8k", "--split", "test", "--dataset-cache", str(tmp_path / "cache")]
    assert main(["route", *named, "--output-file", str(out), "--limit", "1"]) == 0
    assert [row["id"] for row in rows_of(out)] == ["gsm8k-test-0001"]
    assert "fetching gsm8k (test) from openai/gsm8k" in capsys.readouterr().err
    assert main(["route", *named, "--output-file", str(out)]) == 0
    assert [row["id"] for row in rows_of(out)] == ["gsm8k-test-0001", "gsm8k-test-0002"]
    assert hub.calls == [("gsm8k", "test")]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--dataset", "gsm8k"], "--output-file"),
        (["--dataset", "gsm8k:nope", "--output-file", "x"], "choose train or test"),
        (["--dataset", "gsm8k", "--data-type", "mc", "--output-file", "x"], "is of the type math"),
        (["--dataset-path", "x", "--split", "test", "--output-file", "x"], "--split"),
        (["--question", "2+2?", "--split", "test"], "--split"),
    ],
)
def test_route_refuses_what_does_not_go_with_a_named_set(arguments, part, hub, monkeypatch, capsys):
    engine = use(monkeypatch, FakeEngine())
    assert main(["route", *arguments]) == 2
    assert part in capsys.readouterr().err
    assert engine.n_loads == 0 and hub.calls == []
