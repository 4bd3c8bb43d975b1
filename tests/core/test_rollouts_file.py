"""A file of rollouts: the same labels on another machine, and not one rollout for it."""

from __future__ import annotations

import json

import pytest

from citer_core.errors import DatasetError
from citer_core.labelling import labels as module
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.rollouts_file import RolloutsFile
from citer_core.routing.routers.training_free import RandomRouter
from tests.core.examples import ROWS
from tests.sampling import sampled

ROLLED = Policy(RandomRouter(), 0.5, max_new_tokens=10, batch_size=4)
WAYS = {
    "published": LabelSettings(Policy.slm_alone(max_new_tokens=10, batch_size=4), ask_slm=True),
    "a later round": LabelSettings(ROLLED, iteration=2),
    "case 2 too": LabelSettings(ROLLED, iteration=2, roll_out_case_2=True),
    "outcome": LabelSettings(Policy.llm_alone(max_new_tokens=10, batch_size=4), labels="outcome"),
    "some of them": LabelSettings(ROLLED, iteration=2, n_rollouts=2),
}


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def made(pair, folder, settings, **options):
    list(label_dataset(pair, ROWS, folder, settings, part_size=2, **options))
    return bytes_of(folder)


@pytest.mark.parametrize("way", sampled(WAYS, 3))
def test_labels_are_made_again_byte_for_byte_without_a_rollout(tiny_pair, tmp_path, monkeypatch, way):
    settings = WAYS[way]
    plain = made(tiny_pair, tmp_path / "plain", settings)
    file = tmp_path / "rollouts.jsonl"
    assert made(tiny_pair, tmp_path / "first", settings, rollouts_file=file) == plain
    _, labels, _ = load_labels(tmp_path / "plain")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    tried = (
        labels.is_tried if settings.labels == "outcome" else (labels.case >= settings.least_case) & (labels.label >= 0)
    )
    assert sum(len(row["rollouts"]) for row in rows) == int(tried.sum()) > 0
    assert [row["name"] for row in rows] == [row["id"] for row, _ in ROWS]
    # No text, as words or as ids: a row is a digest, a name, positions and bits.
    assert all(row.keys() == {"id", "name", "rollouts", "slm_alone"} for row in rows)

    before = file.read_bytes()
    monkeypatch.setattr(module, "roll_out", lambda _pair, _examples, starts, _policy: [None for _ in starts])
    monkeypatch.setattr(module, "roll_out_branches", lambda _p, _e, places, *_: [None for _ in places])
    assert made(tiny_pair, tmp_path / "again", settings, rollouts_file=file) == plain
    assert file.read_bytes() == before


@pytest.fixture(scope="module")
def rolled(tiny_pair, tmp_path_factory):
    """A file of rollouts and the note beside it: [(name, bytes)]."""
    folder = tmp_path_factory.mktemp("rolled")
    made(tiny_pair, folder / "labels", WAYS["a later round"], rollouts_file=folder / "rollouts.jsonl")
    return [(path.name, path.read_bytes()) for path in folder.glob("rollouts*")]


@pytest.fixture
def file(rolled, tmp_path):
    for name, content in rolled:
        (tmp_path / name).write_bytes(content)
    return tmp_path / "rollouts.jsonl"


def rewrite(file, rows):
    """Other rows under the same settings, as if they had been rolled out elsewhere: without sums of what was there."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    note = file.with_name(file.name + ".meta.json")
    note.write_text(json.dumps({key: value for key, value in json.loads(note.read_text()).items() if key != "sums"}))


def test_what_is_missing_is_rolled_out_and_what_is_there_is_believed(tiny_pair, tmp_path, file):
    settings = WAYS["a later round"]
    plain = made(tiny_pair, tmp_path / "plain", settings)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    whole = [row for row in rows if row["rollouts"]]
    dropped, turned = whole[0], whole[1]
    dropped["rollouts"] = dropped["rollouts"][1:]
    turned["rollouts"] = [[position, 1 - bit] for position, bit in turned["rollouts"]]
    rewrite(file, rows)
    changed = made(tiny_pair, tmp_path / "again", settings, rollouts_file=file)
    assert changed != plain
    _, ours, _ = load_labels(tmp_path / "again")
    _, theirs, _ = load_labels(tmp_path / "plain")
    names = [row["name"] for row in rows]
    differing = ours.label != theirs.label
    assert set(ours.question[differing].tolist()) == {names.index(turned["name"])}
    assert int(differing.sum()) == len(turned["rollouts"])
    last = {row["id"]: row for row in map(json.loads, file.read_text().splitlines())}
    assert len(last[dropped["id"]]["rollouts"]) == len(dropped["rollouts"]) + 1


def test_a_killed_labelling_has_its_rollouts(tiny_pair, tmp_path, monkeypatch):
    """They are written before the part that they belong to."""
    from citer_core.labelling import label_files

    settings, file = WAYS["published"], tmp_path / "rollouts.jsonl"
    monkeypatch.setattr(label_files, "_write_part", lambda *_: pytest.fail("the power failed"))
    with pytest.raises(pytest.fail.Exception):
        made(tiny_pair, tmp_path / "labels", settings, rollouts_file=file)
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"threshold": 0.75}, "threshold was 0.5 and is 0.75"), ({"pair_revision": "another-pair"}, "pair_revision was")],
)
def test_rollouts_of_another_kind_are_refused(tiny_pair, file, changes, said):
    rolled_by = LabelHeader.of(tiny_pair, ROWS, WAYS["a later round"], 1).rolled_by
    with RolloutsFile(file, rolled_by, branches=1):
        pass  # closed again by the refusals below, or the next line would wait
    with pytest.raises(DatasetError, match="holds rows of another run") as refused:
        RolloutsFile(file, {**rolled_by, **changes}, branches=1)
    assert said in str(refused.value)
    with RolloutsFile(file, rolled_by, branches=1):
        pass


@pytest.mark.parametrize("rollouts", [[[3, 2]], [[1]], [["1", 0]], [[10**6, 1]]], ids=str)
def test_a_damaged_row_is_refused_by_its_name(tiny_pair, file, rollouts):
    row = json.loads(file.read_text().splitlines()[0])
    rewrite(file, [{**row, "rollouts": rollouts}])
    with pytest.raises(DatasetError, match=r"a row that is none of rollouts \(rollouts.*Take the row out"):
        RolloutsFile(file, LabelHeader.of(tiny_pair, ROWS, WAYS["a later round"], 1).rolled_by, branches=1)
