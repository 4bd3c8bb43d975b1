"""Labels by outcome where the models disagree, against their definition: both branches spelled out by `generate`."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from citer_core.errors import DatasetError, RouterError, SettingError
from citer_core.labelling import rollouts
from citer_core.labelling.label_files import label_dataset, load_label_folders, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import UNKNOWN, LabelSettings, Ties, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.decode import decode
from citer_core.routing.routers.citer import CiterRouter
from citer_core.routing.routers.training_free import RandomRouter
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe, train_router
from citer_core.types import DecodeSettings
from tests.core.examples import ROWS, composed_example, generated, verdict
from tests.core.synthetic_labels import synthetic_labels
from tests.sampling import sampled

BY_LLM = LabelSettings(Policy.llm_alone(max_new_tokens=9, batch_size=4), labels="outcome")
CASES = [[1, 2, 3, 2, 2, 1, 3], [3, 2, 1, 3], [2, 1, 3, 1]]


@pytest.fixture(scope="module")
def examples(tiny_pair):
    return [composed_example(tiny_pair, cases, number) for number, cases in enumerate(CASES)]


pytestmark = pytest.mark.usefixtures("coin")


def is_right(pair, example, ids):
    return int(verdict(pair.tokenizer.decode(ids, skip_special_tokens=True), example.problem).is_correct)


def one_token(lm, ids):
    return generated(lm, ids, 1)[0]


def branch_by_llm(pair, example, position, token, n):
    """The token behind the true prefix and the LLM behind it, whose limit counts from where it leaves the truth."""
    ids, kept = example.truth_ids, position
    while token == ids[kept] and kept + 1 < len(ids):
        kept += 1
        token = one_token(pair.llm, example.prompt_ids + ids[:kept])
    text = [*ids[:kept], token]
    return text if token in pair.eos_ids else text + generated(pair.llm, example.prompt_ids + text, n)


def test_labels_are_who_reaches_the_right_answer_where_the_tokens_differ(tiny_pair, examples):
    labels, _ = label_examples(tiny_pair, examples, BY_LLM, first_question=20)
    combinations = set()
    for number, example in enumerate(examples):
        mine = labels.take(labels.question == 20 + number)
        for position in range(len(example.truth_ids)):
            prefix = example.prompt_ids + example.truth_ids[:position]
            slm, llm = one_token(tiny_pair.slm, prefix), one_token(tiny_pair.llm, prefix)
            found = [int(t[position]) for t in (mine.label, mine.slm_branch, mine.llm_branch)]
            if slm == llm:
                assert found == [1, UNKNOWN, UNKNOWN]
                continue
            right = [
                is_right(tiny_pair, example, branch_by_llm(tiny_pair, example, position, token, 9))
                for token in (slm, llm)
            ]
            assert found == [1 if right[0] else 0 if right[1] else UNKNOWN, *right]
            combinations.add(tuple(right))
    assert combinations == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_equal_texts_are_rolled_out_once(tiny_pair, examples, monkeypatch):
    """Every branch that the LLM writes as the truth for a while ends in the same place."""
    started, honest = [], rollouts.batch_completions

    def counted(lm, prompts, **options):
        started.extend(map(tuple, prompts))
        return honest(lm, prompts, **options)

    monkeypatch.setattr(rollouts, "batch_completions", counted)
    labels, _ = label_examples(tiny_pair, examples, BY_LLM)
    assert len(started) == len(set(started)) < 2 * int(labels.is_tried.sum())


def test_a_routed_policy_goes_on_from_both_tokens(tiny_pair, examples):
    policy = Policy(RandomRouter(), 0.6, max_new_tokens=8, batch_size=3)
    labels, forced = label_examples(tiny_pair, examples, LabelSettings(policy, 2, labels="outcome"))
    for number, (example, truth) in enumerate(zip(examples, forced, strict=True)):
        mine = labels.take(labels.question == number)
        for position in mine.is_tried.nonzero().flatten().tolist():
            for ids, branch in ((truth.slm_ids, mine.slm_branch), (truth.llm_ids, mine.llm_branch)):
                text = [*example.truth_ids[:position], int(ids[position])]
                if text[-1] not in tiny_pair.eos_ids:
                    steps = decode(tiny_pair, policy.router, example.prompt_ids + text, DecodeSettings(0.6, 8))
                    text += [event.token_id for event in steps]
                assert int(branch[position]) == is_right(tiny_pair, example, text)


def test_a_draw_of_disagreements_leaves_the_others_unknown(tiny_pair, examples):
    everything, _ = label_examples(tiny_pair, examples, BY_LLM)
    drawn, forced = label_examples(tiny_pair, examples, dataclasses.replace(BY_LLM, n_rollouts=2))
    for number, truth in enumerate(forced):
        mine = drawn.take(drawn.question == number)
        assert int(mine.is_tried.sum()) == 2
        differ = truth.slm_ids != truth.llm_ids
        assert (mine.label[differ & ~mine.is_tried] == UNKNOWN).all() and (mine.label[~differ] == 1).all()
    tried = drawn.is_tried
    assert torch.equal(drawn.label[tried], everything.label[tried])


def test_a_share_becomes_the_tau_of_the_routers_card(tiny_pair):
    quantiles = [i / 10 for i in range(11)]
    card = {"name": "r", "label": "R", "hidden_size": 4, "training": {"confidence_quantiles": quantiles}}
    router = CiterRouter(CiterRouter.build(4), card)
    assert Policy.routed(router, 0.25).threshold == pytest.approx(0.25)
    assert Policy.routed(router).threshold == 0.95  # the published one
    with pytest.raises(SettingError, match="--router-threshold"):
        Policy.routed(RandomRouter(), 0.2)
    with pytest.raises(RouterError, match="no confidence quantiles"):
        Policy.routed(CiterRouter(CiterRouter.build(4), card | {"training": {}}), 0.2)


# --- case 2 of published labels


def test_case_2_is_settled_as_case_3_where_that_is_asked_for(tiny_pair, examples):
    some = [*examples, composed_example(tiny_pair, [2] * 6, 7)]
    policy, decoding = Policy(RandomRouter(), 0.6, max_new_tokens=8), DecodeSettings(0.6, 8)
    plain, _ = label_examples(tiny_pair, some, LabelSettings(policy, 2))
    labels, forced = label_examples(tiny_pair, some, LabelSettings(policy, 2, roll_out_case_2=True))
    seen = set()
    for number, (example, truth) in enumerate(zip(some, forced, strict=True)):
        mine = labels.take(labels.question == number)
        for position in (mine.case == 2).nonzero().flatten().tolist():
            text = [*example.truth_ids[:position], int(truth.slm_ids[position])]
            text += [e.token_id for e in decode(tiny_pair, policy.router, example.prompt_ids + text, decoding)]
            assert int(mine.label[position]) == is_right(tiny_pair, example, text)
            seen.add(int(mine.label[position]))
    assert seen == {0, 1} and (plain.label[plain.case == 2] == 0).all()
    assert torch.equal(labels.label[labels.case != 2], plain.label[plain.case != 2])
    few, _ = label_examples(tiny_pair, some, LabelSettings(policy, 2, n_rollouts=2, roll_out_case_2=True))
    known = (few.label != UNKNOWN) & (few.case != 1)
    assert torch.equal(few.label[known], labels.label[known]) and int(known.sum()) == 2 * len(some)
    with pytest.raises(SettingError, match="in any case"):
        LabelSettings(policy, labels="outcome", roll_out_case_2=True)


# --- ties


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        (Ties(), [1, 1, 1, 0, UNKNOWN, UNKNOWN]),
        (Ties(both_fail="slm"), [1, 1, 1, 0, 1, UNKNOWN]),
        (Ties(both_fail="llm"), [1, 1, 1, 0, 0, UNKNOWN]),
        (Ties(both_right="drop"), [1, UNKNOWN, 1, 0, UNKNOWN, UNKNOWN]),
        (Ties("slm", "drop"), [1, UNKNOWN, 1, 0, 1, UNKNOWN]),
    ],
)
def test_ties_are_read_from_the_outcomes(tiny_pair, examples, ties, expected):
    """Tokens: both agree; both right; the SLM's; the LLM's; neither; not drawn."""
    some, _ = label_examples(tiny_pair, examples[:1], BY_LLM)
    slm, llm = ([-1, 1, 1, 0, 0, -1], [-1, 1, 0, 1, 0, -1])
    labels = dataclasses.replace(
        some.take(torch.arange(6)),
        label=torch.tensor([1, 1, 1, 0, UNKNOWN, UNKNOWN], dtype=torch.int8),
        slm_branch=torch.tensor(slm, dtype=torch.int8),
        llm_branch=torch.tensor(llm, dtype=torch.int8),
    )
    assert ties.settle(labels).label.tolist() == expected
    assert labels.label.tolist() == [1, 1, 1, 0, UNKNOWN, UNKNOWN]  # those on the disk stay
    published, _ = label_examples(tiny_pair, examples, LabelSettings(Policy.slm_alone(max_new_tokens=3)))
    assert torch.equal(ties.settle(published).label, published.label)


# --- files


def label(pair, folder, settings=BY_LLM, part_size=1, rows=ROWS):
    return list(label_dataset(pair, rows, folder, settings, part_size=part_size))


@pytest.fixture(scope="module")
def finished(tiny_pair, tmp_path_factory):
    folder = tmp_path_factory.mktemp("outcomes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts, "check_answer", verdict)
        assert label(tiny_pair, folder) == [1, 2, 3, 4, 5, 6]
    return folder


def test_outcomes_are_in_the_files_and_come_back(tiny_pair, finished):
    document = json.loads((finished / "labels.json").read_text())
    assert (document["schema_version"], document["labels"], document["roll_out_case_2"]) == (3, "outcome", False)
    assert (document["router"], document["threshold"]) == ("always-llm", 1.0)
    header, found, rows = load_labels(finished)
    assert header == LabelHeader.of(tiny_pair, ROWS, BY_LLM, 1)
    alone = [label_examples(tiny_pair, [example_of(*row, tiny_pair)], BY_LLM, n)[0] for n, row in enumerate(ROWS)]
    for name in ("label", "slm_branch", "llm_branch", "case"):
        assert getattr(found, name).tolist() == [x for part in alone for x in getattr(part, name).tolist()], name
    assert found.is_tried.any() and [row["id"] for row in rows] == [f"r{n}" for n in range(6)]


def test_labels_of_two_kinds_are_not_mixed(tiny_pair, finished, tmp_path):
    published = LabelSettings(Policy.slm_alone(max_new_tokens=3))
    label(tiny_pair, tmp_path / "published", published, rows=ROWS[:2])
    with pytest.raises(DatasetError, match=r"labels = published, those in .* with outcome"):
        load_label_folders([finished, tmp_path / "published"])


# --- routers of them


@pytest.mark.parametrize(
    ("kind", "architecture"), sampled([("citer-outcome", "citer-plus"), ("citer-outcome-mlp", "citer")], 2)
)
def test_routers_learn_the_outcomes_as_their_ties_are_read(finished, kind, architecture):
    header, labels, rows = load_labels(finished)
    recipe = RouterRecipe((1e-3,), 32, 2)
    routers = [
        train_and_describe([header], labels, rows, kind, recipe, 0.2, command="", ties=ties)
        for ties in (None, Ties("slm"), Ties("drop", "drop"))
    ]
    assert OBJECTIVES[kind].architecture.kind == routers[0].kind == architecture
    assert [router.card["ties"] for router in routers] == [
        {"both_fail": "drop", "both_right": "slm"}, {"both_fail": "slm", "both_right": "slm"},
        {"both_fail": "drop", "both_right": "drop"},
    ]  # fmt: skip
    tied = labels.is_tried & (labels.slm_branch == labels.llm_branch)
    n_fail, n_right = (int((tied & (labels.slm_branch == x)).sum()) for x in (0, 1))
    n_tokens = [sum(router.card["training"]["n_tokens"].values()) for router in routers]
    assert n_fail and n_right
    assert (n_tokens[1] - n_tokens[0], n_tokens[0] - n_tokens[2]) == (n_fail, n_right)


def test_a_router_of_one_kind_of_labels_refuses_the_other(tiny_pair, finished, tmp_path):
    header, labels, rows = load_labels(finished)
    label(tiny_pair, tmp_path, LabelSettings(Policy.slm_alone(max_new_tokens=3)))
    published = load_labels(tmp_path)
    for kind in ("citer", "citer-plus"):
        with pytest.raises(SettingError, match="train --kind citer-outcome"):
            train_and_describe([header], labels, rows, kind, RouterRecipe(), 0.2, command="")
    with pytest.raises(SettingError, match="label with --labels outcome"):
        train_and_describe([published[0]], *published[1:], "citer-outcome", RouterRecipe(), 0.2, command="")


@pytest.mark.parametrize("kind", sampled(["citer-s-a", "citer-s-b", "co-llm"], 3))
def test_kinds_that_read_cases_learn_the_same_from_either_labels(kind):
    published = synthetic_labels(n_questions=20)
    outcome = dataclasses.replace(published, label=1 - published.label.abs())
    one, other = (
        train_router(labels, RouterRecipe((1e-3,), 32, 1), OBJECTIVES[kind]).network.state_dict()
        for labels in (published, outcome)
    )
    assert OBJECTIVES[kind].labels is None and all(torch.equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize("edit", [lambda t: t.pop("slm_branch"), lambda t: t["llm_branch"].__setitem__(0, -2)])
def test_outcomes_that_are_none_are_named_and_never_trained_on(finished, tmp_path, edit):
    folder = shutil.copytree(finished, tmp_path / "copied")
    path = folder / "part-000002.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)
    with pytest.raises(DatasetError, match=r"part-000002 .*could not be read.*Delete its two files"):
        load_labels(folder)
