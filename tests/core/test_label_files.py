"""Labels on disk: what a part says, who may go on in a folder, and that a killed run ends with the same bytes."""

from __future__ import annotations

import dataclasses
import json
import shutil
from itertools import product

import pytest
import torch
from safetensors.torch import load_file, save_file

import citer_core
from citer_core.errors import DatasetError, SettingError
from citer_core.labelling import label_files, label_header, rollouts
from citer_core.labelling.label_files import label_dataset, load_label_folders, load_labels, merge_labels, shard_starts
from citer_core.labelling.labels import Labels, LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.routers.training_free import RandomRouter
from tests.cli.examples import contents
from tests.core.examples import ROWS, verdict
from tests.own_time import OwnTime
from tests.sampling import sampled

SETTINGS = LabelSettings(Policy.slm_alone(max_new_tokens=3), n_rollouts=2, ask_slm=True, seed=1)


pytestmark = pytest.mark.usefixtures("coin")


def label(pair, folder, rows=ROWS, settings=SETTINGS, **options):
    return list(label_dataset(pair, rows, folder, settings, **({"part_size": 2} | options)))


@pytest.fixture(scope="module")
def finished(tiny_pair, tmp_path_factory):
    """A whole folder, to be copied and never touched."""
    folder = tmp_path_factory.mktemp("labels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts, "check_answer", verdict)
        assert label(tiny_pair, folder) == [2, 4, 6]
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copied")


# --- what is in the files


def test_the_files_hold_the_labels_and_say_what_they_mean(tiny_pair, finished):
    names = [f"part-{start:06d}.{suffix}" for start in (0, 2, 4) for suffix in ("jsonl", "safetensors")]
    assert sorted(contents(finished)) == ["labels.json", *names]
    examples = [example_of(row, kind, tiny_pair) for row, kind in ROWS]
    parts = [label_examples(tiny_pair, examples[i : i + 2], SETTINGS, i) for i in (0, 2, 4)]
    expected, forced = Labels.concatenate([labels for labels, _ in parts]), [f for _, some in parts for f in some]
    header, found, rows = load_labels(finished, tiny_pair.info)
    for f in dataclasses.fields(Labels):
        assert torch.equal(getattr(found, f.name), getattr(expected, f.name)), f.name
        assert getattr(found, f.name).dtype == getattr(expected, f.name).dtype
    for number, (row, example, truth) in enumerate(zip(rows, examples, forced, strict=True)):
        mine = expected.question == number
        assert row == {
            "question": number, "id": f"r{number}", "data_type": "math", "truth_ids": example.truth_ids,
            "slm_ids": truth.slm_ids.tolist(), "llm_ids": truth.llm_ids.tolist(),
            "cases": expected.case[mine].tolist(), "labels": expected.label[mine].tolist(),
        }  # fmt: skip
    assert (header.n_rows, list(header.starts)) == (6, [0, 2, 4])


# --- resuming


def test_a_killed_run_ends_with_the_same_bytes(tiny_pair, finished, tmp_path):
    stream = label_dataset(tiny_pair, ROWS, tmp_path / "killed", SETTINGS, part_size=2)
    assert next(stream) == 2
    stream.close()
    assert len(contents(tmp_path / "killed")) == 3
    assert label(tiny_pair, tmp_path / "killed") == [2, 4, 6]
    assert contents(tmp_path / "killed") == contents(finished)


@pytest.mark.parametrize("moment", sampled(["tensors", "header", "half of the rows", "rows"], 2))
def test_a_kill_while_a_part_is_written_leaves_no_part(tiny_pair, finished, tmp_path, monkeypatch, moment):
    """The .jsonl says that a part is there, so it must come last and whole."""
    folder = tmp_path / "killed"
    save, write, calls = label_files.save_file, label_files.write_whole, []

    def die_at_tensors(tensors, path):
        save(tensors, path)
        if moment == "tensors":
            path.write_bytes(path.read_bytes()[:100])
            raise KeyboardInterrupt

    def die_at_rows(path, text):
        calls.append(path.name)
        if moment == "header" or path.suffix == ".jsonl":
            if moment == "half of the rows":
                path.with_name(path.name + ".partial").write_text(text[: len(text) // 2])
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr(label_files, "save_file", die_at_tensors)
    monkeypatch.setattr(label_files, "write_whole", die_at_rows)
    with pytest.raises(KeyboardInterrupt):
        label(tiny_pair, folder)
    monkeypatch.setattr(label_files, "save_file", save)
    monkeypatch.setattr(label_files, "write_whole", write)
    assert not list(folder.glob("*.jsonl"))
    assert label(tiny_pair, folder) == [2, 4, 6]
    left = {name: data for name, data in contents(folder).items() if not name.endswith(".partial")}
    assert left == contents(finished) and load_labels(folder)


# --- whose folder it is


OTHERS = {
    "rows": {"rows": [*ROWS[:5], ({**ROWS[5][0], "problem": "What is it?"}, "math")]},
    "n_rows": {"rows": ROWS[:4]},
    "part_size": {"part_size": 3},
    "iteration": {"settings": dataclasses.replace(SETTINGS, iteration=2)},
    "router": {"settings": dataclasses.replace(SETTINGS, policy=Policy(RandomRouter(), 0.0, 3))},
    "threshold": {
        "settings": dataclasses.replace(SETTINGS, policy=dataclasses.replace(SETTINGS.policy, threshold=0.5))
    },
    "n_rollouts": {"settings": dataclasses.replace(SETTINGS, n_rollouts=None)},
    "ask_slm": {"settings": dataclasses.replace(SETTINGS, ask_slm=False)},
    "max_new_tokens": {"settings": dataclasses.replace(SETTINGS, policy=Policy.slm_alone(max_new_tokens=4))},
    "seed": {"settings": dataclasses.replace(SETTINGS, seed=2)},
    "labels": {"settings": dataclasses.replace(SETTINGS, labels="outcome")},
    "roll_out_case_2": {"settings": dataclasses.replace(SETTINGS, roll_out_case_2=True)},
}


@pytest.mark.parametrize("what", sampled([*OTHERS, "pair_revision", "dtype", "prompt_version", "code_version"], 4))
def test_labels_of_another_run_are_not_mixed(tiny_pair, copied, monkeypatch, what):
    before, pair = contents(copied), tiny_pair
    if what in ("pair_revision", "dtype"):
        changed = {"revision" if what == "pair_revision" else "dtype": "other"}
        pair = dataclasses.replace(pair, info=dataclasses.replace(pair.info, **changed))
    elif what == "prompt_version":
        monkeypatch.setattr(label_header, "PROMPT_VERSION", 2)
    elif what == "code_version":
        monkeypatch.setattr(citer_core, "__version__", "99")
    named = "rows" if what == "n_rows" else what  # other rows are other in their digest first
    with pytest.raises(DatasetError, match=f"made with {named} = .*empty folder"):
        label(pair, copied, **OTHERS.get(what, {}))
    assert contents(copied) == before


def test_labels_of_another_pair_or_prompt_do_not_train(tiny_pair, finished, monkeypatch):
    with pytest.raises(DatasetError, match=r"but this is other\. Label with this pair"):
        load_labels(finished, dataclasses.replace(tiny_pair.info, revision="other"))
    monkeypatch.setattr(label_files, "PROMPT_VERSION", 2)
    with pytest.raises(DatasetError, match="prompt version 1, but this is 2"):
        load_labels(finished)


# --- damage


@pytest.mark.parametrize(("suffix", "damage"), sampled(product(["safetensors", "jsonl"], ["truncated", "other"]), 3))
def test_a_damaged_part_is_named_and_only_it_is_made_anew(tiny_pair, finished, copied, suffix, damage):
    path = copied / f"part-000002.{suffix}"
    path.write_bytes(path.read_bytes()[:50] if damage == "truncated" else b"[1, 2]\n")
    with pytest.raises(DatasetError, match=r"part-000002 .*could not be read.*Delete its two files"):
        load_labels(copied)
    for name in ("part-000002.safetensors", "part-000002.jsonl"):
        (copied / name).unlink()
    with pytest.raises(DatasetError, match="lack 1 of 3 parts, the first from example 2 on"):
        load_labels(copied)
    assert label(tiny_pair, copied) == [2, 4, 6]
    assert contents(copied) == contents(finished)


def test_a_part_without_its_tensors_is_named(copied, tmp_path):
    (copied / "part-000002.safetensors").unlink()
    with pytest.raises(DatasetError, match=r"part-000002 .*could not be read"):
        load_labels(copied)
    with pytest.raises(DatasetError, match=r"part-000002\.safetensors is missing"):
        merge_labels([copied], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("content", [None, "{", '{"schema": 1}'])
def test_a_folder_without_a_header_of_ours_holds_no_labels(copied, content):
    path = copied / "labels.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DatasetError, match="holds no labels that this version reads"):
        load_labels(copied)


@pytest.mark.parametrize(
    ("field", "value"), [("n_rows", 1e30), ("part_size", 0), ("pair", ["tiny"]), ("threshold", float("nan"))]
)
def test_a_header_of_nonsense_is_a_message_and_no_endless_loop(copied, tmp_path, field, value):
    """`n_rows` 1e30 looked for 5e29 parts."""
    path = copied / "labels.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    for read in (lambda: load_labels(copied), lambda: merge_labels([copied, copied], tmp_path / "all")):
        with pytest.raises(DatasetError, match="holds no labels that this version reads") as caught:
            read()
        assert len(str(caught.value)) < 500


def test_many_missing_parts_are_counted_without_looking_for_each(copied):
    path = copied / "labels.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"n_rows": 10**7, "part_size": 1}))
    expected = "lack 9999997 of 10000000 parts, the first from example 1 on"
    with OwnTime() as spent, pytest.raises(DatasetError, match=expected):
        load_labels(copied)
    assert spent.seconds < 1


@pytest.mark.parametrize(
    "edit",
    [
        lambda t: t.pop("margin"),
        lambda t: t.update(hidden=t["hidden"][:, :5].contiguous()),
        lambda t: t.update(label=t["label"].float()),
        lambda t: t["entropy"].__setitem__(0, float("nan")),
        lambda t: t["label"].__setitem__(0, 2),
        lambda t: t["question"].__setitem__(0, 5),
        lambda t: t.update({name: tensor[:0].contiguous() for name, tensor in t.items()}),
    ],
)
def test_tensors_that_are_not_labels_are_named_and_never_trained_on(copied, edit):
    path = copied / "part-000002.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)
    with pytest.raises(DatasetError, match=r"part-000002 .*could not be read.*Delete its two files"):
        load_labels(copied)


@pytest.mark.parametrize("line", [b"[1]", b"\xff", b'{"question": 1e400}'])
def test_rows_that_are_not_ours_are_named(copied, line):
    path = copied / "part-000002.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes())
    with pytest.raises(DatasetError, match=r"part-000002 .*could not be read"):
        load_labels(copied)


def test_labels_whose_pair_was_named_before_all_weights_were_covered_are_this_pairs(tiny_pair, copied):
    path = copied / "labels.json"
    whole = tiny_pair.info.revision
    old = "-".join(half.partition(".")[0] for half in whole.split("-"))
    path.write_text(path.read_text().replace(whole, old))
    assert load_labels(copied, tiny_pair.info)[0].pair_revision == old != whole
    assert label(tiny_pair, copied) == [2, 4, 6]


# --- shards


def test_shards_take_every_part_once():
    assert [list(shard_starts(7, (i, 3), 2)) for i in (1, 2, 3)] == [[0, 6], [2], [4]]
    for wrong in ((0, 2), (3, 2)):
        with pytest.raises(SettingError, match="from 1 to n"):
            shard_starts(7, wrong)


def test_two_shards_in_one_folder_or_merged_from_two_are_the_whole(tiny_pair, finished, tmp_path):
    assert label(tiny_pair, tmp_path / "one", shard=(1, 2)) == [2, 4]
    assert label(tiny_pair, tmp_path / "two", shard=(2, 2)) == [2]
    with pytest.raises(DatasetError, match="lack 1 of 3 parts"):
        load_labels(tmp_path / "one")
    assert merge_labels([tmp_path / "one", tmp_path / "two"], tmp_path / "all") == 3
    assert contents(tmp_path / "all") == contents(finished)
    assert label(tiny_pair, tmp_path / "two", shard=(1, 2)) == [2, 4]
    assert contents(tmp_path / "two") == contents(finished)


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        ("hole", "1 of 3 parts are in none of the folders, the first from example 4"),
        ("duplicate", "from example 0 on is in"),
        ("other header", "made with seed = 2"),
        ("no header", "holds no labels"),
    ],
)
def test_what_does_not_make_one_whole_is_not_merged(tiny_pair, copied, tmp_path, fault, part):
    first, second = (shutil.copytree(copied, tmp_path / name) for name in ("first", "second"))
    for folder, starts in (
        (first, (2, 4)),
        (second, (0, 4) if fault == "hole" else (2,) if fault == "duplicate" else (0,)),
    ):
        for start in starts:
            for path in folder.glob(f"part-{start:06d}.*"):
                path.unlink()
    if fault == "other header":
        document = json.loads((second / "labels.json").read_text())
        (second / "labels.json").write_text(json.dumps(document | {"seed": 2}))
    elif fault == "no header":
        (second / "labels.json").unlink()
    with pytest.raises(DatasetError, match=part):
        merge_labels([first, second], tmp_path / "all")
    assert not (tmp_path / "all").exists()


# --- several data sets


def test_two_data_sets_are_read_as_one_with_questions_numbered_through(tiny_pair, finished, tmp_path):
    label(tiny_pair, tmp_path / "other", ROWS[:3])
    headers, labels, rows = load_label_folders([finished, tmp_path / "other"])
    _, first, first_rows = load_labels(finished)
    _, second, second_rows = load_labels(tmp_path / "other")
    assert [header.n_rows for header in headers] == [len(ROWS), 3]
    assert [row["question"] for row in rows] == list(range(len(ROWS) + 3))
    assert [row["id"] for row in rows] == [row["id"] for row in first_rows + second_rows]
    assert labels.question.tolist() == first.question.tolist() + [len(ROWS) + n for n in second.question.tolist()]
    assert torch.equal(labels.hidden, torch.cat((first.hidden, second.hidden)))
    assert labels.label.tolist() == first.label.tolist() + second.label.tolist()


def test_folders_that_do_not_belong_together_are_refused(tiny_pair, finished, copied, tmp_path):
    with pytest.raises(DatasetError, match="hold the same examples"):
        load_label_folders([finished, copied])
    other = dataclasses.replace(tiny_pair, info=dataclasses.replace(tiny_pair.info, revision="another"))
    label(other, tmp_path / "other", ROWS[:3])
    with pytest.raises(DatasetError, match=r"pair_revision = another, those in .* one router learns from one pair"):
        load_label_folders([finished, tmp_path / "other"])


def test_rows_that_are_missing_inside_a_part_are_noticed(copied):
    path = copied / "part-000002.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(DatasetError, match="number their examples"):
        load_labels(copied)
