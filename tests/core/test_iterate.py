"""Rounds of CITER on a tiny pair: what each round labels, and that a killed run ends with the same files."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil

import pytest

from citer_core.errors import DatasetError
from citer_core.evaluation.accuracy import Accuracy
from citer_core.labelling import label_files, rollouts
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import Ties
from citer_core.routing.catalog import load_router
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.trace import AnswerInfo
from citer_core.training import iterate as module
from citer_core.training.iterate import IterateSettings, iterate
from citer_core.training.router_training import RouterRecipe
from tests.core.examples import ROWS, verdict
from tests.sampling import sampled

SETTINGS = IterateSettings(
    n_rounds=2, recipe=RouterRecipe((3e-3,), batch_size=32, max_epochs=3), share=0.5, n_rollouts=4, max_new_tokens=5
)
PROBLEMS = {"sums": [problem_from_text(f"What is {n} and {n}?", "math", str(2 * n)) for n in range(3)]}


@pytest.fixture(autouse=True)
def _a_coin_marks_the_answers_and_parts_are_small(monkeypatch):
    monkeypatch.setattr(rollouts, "check_answer", verdict)
    monkeypatch.setattr("citer_core.run.check_answer", verdict)
    monkeypatch.setattr(module, "label_dataset", functools.partial(label_dataset, part_size=3))


def flips_between(folder, one, two):
    """Case-3 tokens that both rounds rolled out and labelled differently, counted one by one."""
    (_, a, _), (_, b, _) = (load_labels(folder / f"round-{n}" / "labels") for n in (one, two))
    tokens = zip(a.case.tolist(), a.label.tolist(), b.label.tolist(), strict=True)
    return sum(case == 3 and before >= 0 and now >= 0 and before != now for case, before, now in tokens)


def run(pair, folder, settings=SETTINGS, problems=PROBLEMS, rows=ROWS):
    return list(iterate(pair, rows, folder, settings, problems))


def made(folder):
    """Labels and routers, byte by byte."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "report.json" and not path.name.endswith(".partial")
    }


def timeless(reports):
    return [report | {"points": {k: p | {"measured_s": 0} for k, p in report["points"].items()}} for report in reports]


@pytest.fixture(scope="module")
def finished(tiny_pair, tmp_path_factory):
    """An uninterrupted run: its folder, to be copied and never touched, and its reports."""
    folder = tmp_path_factory.mktemp("rounds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts, "check_answer", verdict)
        patch.setattr("citer_core.run.check_answer", verdict)
        patch.setattr(module, "label_dataset", functools.partial(label_dataset, part_size=3))
        return folder, run(tiny_pair, folder)


def test_round_2_labels_case_3_anew_under_the_router_of_round_1(tiny_pair, finished):
    folder, reports = finished
    headers = [LabelHeader.read(folder / f"round-{n}" / "labels") for n in (1, 2)]
    assert [(h.iteration, h.router, h.threshold) for h in headers] == [(1, "always-slm", 0.0), (2, "citer", 0.95)]
    assert headers[1].router_revision == reports[0]["router_revision"] != reports[1]["router_revision"]
    (_, one, _), (_, two, _) = (load_labels(folder / f"round-{n}" / "labels") for n in (1, 2))
    settled = one.case != 3
    assert one.case.tolist() == two.case.tolist() and one.label[settled].tolist() == two.label[settled].tolist()
    flips = flips_between(folder, 1, 2)
    assert (reports[0]["n_label_flips"], reports[1]["n_label_flips"]) == (None, flips) and flips > 0
    for report, labels in zip(reports, (one, two), strict=True):
        assert report["n_tokens"] == len(labels) and report["n_case_3"] == int((labels.case == 3).sum())
        assert report["n_rolled_out"] == 6 * 4
        assert report["n_case_3_prefer_slm"] == int(((labels.case == 3) & (labels.label == 1)).sum())


def test_each_report_is_its_routers_and_its_problems(tiny_pair, finished):
    folder, reports = finished
    for n, report in enumerate(reports, start=1):
        assert report["round"] == n
        assert json.loads((folder / f"round-{n}" / "report.json").read_text()) == report
        card = json.loads((folder / f"round-{n}" / "router" / "citer.json").read_text())
        assert report["router_revision"] == card["revision"]
        assert report["threshold"] == card["recommended_threshold"]
        assert report["auc"] == card["training"]["auc"] and report["ece"] == card["training"]["ece"]
        point = report["points"]["sums"]
        assert point["accuracy"]["n"] == 3 and point["n_tokens"] <= 3 * 5
        assert Accuracy(3, point["accuracy"]["n_correct"]).to_dict() == point["accuracy"]


MOMENTS = {
    "while round 1 labels its second part": (label_files, "_write_part", 2),
    "while round 1's router is written": (StoredRouter, "save", 1),
    "while round 1 is measured": (module, "operating_points", 1),
    "while round 2 labels its first part": (label_files, "_write_part", 3),
    "while round 2's router is trained": (module, "train_and_describe", 2),
}


@pytest.mark.parametrize("moment", sampled(MOMENTS, 3))
def test_a_killed_run_ends_with_the_same_files(tiny_pair, finished, tmp_path, monkeypatch, moment):
    place, name, number = MOMENTS[moment]
    honest, n_calls = getattr(place, name), 0

    def die(*args, **options):
        nonlocal n_calls
        n_calls += 1
        if n_calls == number:
            raise KeyboardInterrupt
        return honest(*args, **options)

    monkeypatch.setattr(place, name, die)
    with pytest.raises(KeyboardInterrupt):
        run(tiny_pair, tmp_path)
    assert made(tmp_path) != made(finished[0])
    monkeypatch.setattr(place, name, honest)
    assert timeless(run(tiny_pair, tmp_path)) == timeless(finished[1])
    assert made(tmp_path) == made(finished[0])


def test_a_finished_run_does_nothing_again(tiny_pair, finished, tmp_path, monkeypatch):
    folder = shutil.copytree(finished[0], tmp_path / "rounds")
    for place, name in ((label_files, "label_examples"), (module, "train_and_describe"), (module, "operating_points")):
        monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail("done again"))
    assert run(tiny_pair, folder) == finished[1]


def test_one_more_round_goes_on_from_the_last(tiny_pair, finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "rounds")
    third = run(tiny_pair, folder, dataclasses.replace(SETTINGS, n_rounds=3))[2]
    assert third["round"] == 3 and third["n_label_flips"] == flips_between(folder, 2, 3)
    header = LabelHeader.read(folder / "round-3" / "labels")
    assert (header.iteration, header.router_revision) == (3, finished[1][1]["router_revision"])


@pytest.mark.parametrize(("change", "part"), [({"share": 0.1}, "trained with"), ({"seed": 5}, "made with seed")])
def test_rounds_of_other_settings_are_not_taken_for_this_runs(tiny_pair, finished, tmp_path, change, part):
    folder = shutil.copytree(finished[0], tmp_path / "rounds")
    with pytest.raises(DatasetError, match=part):
        run(tiny_pair, folder, dataclasses.replace(SETTINGS, **change))
    assert made(folder) == made(finished[0])


def test_a_damaged_report_is_named(tiny_pair, finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "rounds")
    (folder / "round-2" / "report.json").write_text("{")
    with pytest.raises(DatasetError, match=r"round-2/report\.json is damaged.*delete it"):
        run(tiny_pair, folder)


def test_query_level_asks_the_slm_in_every_round(tiny_pair, tmp_path, monkeypatch):
    def right_on_even_ones(text, problem):
        return AnswerInfo(problem.true_answer, None, problem.id in ("r0", "r2", "r4"))

    monkeypatch.setattr(rollouts, "check_answer", right_on_even_ones)
    run(tiny_pair, tmp_path, dataclasses.replace(SETTINGS, kind="query-level", n_rollouts=0))
    for number in (1, 2):
        header, labels, _ = load_labels(tmp_path / f"round-{number}" / "labels")
        assert header.ask_slm and labels.slm_is_correct[labels.position == 0].tolist() == [1, 0, 1, 0, 1, 0]


def test_rounds_of_labels_by_outcome_go_from_the_llm_to_a_routed_policy_of_that_share(tiny_pair, tmp_path):
    settings = dataclasses.replace(
        SETTINGS, kind="citer-outcome", labels="outcome", rollout_share=0.3, n_rollouts=8, ties=Ties("slm"), part_size=2
    )
    reports = run(tiny_pair, tmp_path, settings)
    headers = [LabelHeader.read(tmp_path / f"round-{n}" / "labels") for n in (1, 2)]
    router = load_router(tmp_path / "round-1" / "router" / "citer-outcome.json", tiny_pair)
    assert [(h.labels, h.router) for h in headers] == [("outcome", "always-llm"), ("outcome", "citer-outcome")]
    assert [h.part_size for h in headers] == [2, 2]
    assert headers[1].threshold == router.threshold_at(0.3) and router.card["ties"]["both_fail"] == "slm"
    (_, one, _), (_, two, _) = (load_labels(tmp_path / f"round-{n}" / "labels") for n in (1, 2))
    assert one.is_tried.tolist() == two.is_tried.tolist()
    known = one.is_tried & (one.label >= 0) & (two.label >= 0)
    assert reports[1]["n_label_flips"] == int((one.label[known] != two.label[known]).sum())
    for report, labels in zip(reports, (one, two), strict=True):
        assert report["n_rolled_out"] == int(labels.is_tried.sum())
        assert report["n_prefer_slm"] == int((labels.label[labels.is_tried] == 1).sum())
    with pytest.raises(DatasetError, match="trained with"):
        run(tiny_pair, tmp_path, dataclasses.replace(settings, ties=Ties()))


def test_rounds_roll_case_2_out_under_a_share(tiny_pair, tmp_path):
    reports = run(tiny_pair, tmp_path, dataclasses.replace(SETTINGS, roll_out_case_2=True, rollout_share=0.3))
    header, labels, _ = load_labels(tmp_path / "round-2" / "labels")
    router = load_router(tmp_path / "round-1" / "router" / "citer.json", tiny_pair)
    assert header.roll_out_case_2 and header.threshold == router.threshold_at(0.3)
    assert reports[1]["n_rolled_out"] == int(((labels.case >= 2) & (labels.label >= 0)).sum())
