"""Training of every kind of router: what is kept, what is reported, and what may not leak."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch
from safetensors.torch import load_file
from sklearn.metrics import log_loss, roc_auc_score

from citer_core.errors import DatasetError, SettingError
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelSettings, prior_logits
from citer_core.labelling.rollouts import Policy
from citer_core.routing.router_card import read_card
from citer_core.routing.routers.citer import CiterRouter
from citer_core.routing.routers.citer_plus import CiterPlusRouter
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.training import router_training
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import (
    RouterRecipe,
    router_logits,
    router_loss,
    split_by_question,
    train_router,
)
from citer_core.types import prefers_llm
from tests.core.examples import ROWS
from tests.core.synthetic_labels import synthetic_labels
from tests.sampling import sampled

FAST = RouterRecipe(learning_rates=(3e-3, 1e-3), batch_size=64, max_epochs=30)
ONCE = dataclasses.replace(FAST, learning_rates=(3e-3,), max_epochs=8)


def offset_of(objective, labels):
    """The priors of the tokens that are learned from, as one group; 0 elsewhere."""
    usable = objective.tokens(labels)
    offset = torch.zeros(len(labels))
    offset[usable] = prior_logits(objective.target(labels)[usable], torch.zeros(len(usable)))
    return offset


# --- what is learned


@pytest.mark.parametrize("kind", sampled(OBJECTIVES, 3))
def test_every_kind_learns_and_the_kept_checkpoint_reproduces_its_loss(kind):
    """The published code calls its last checkpoint the best one."""
    labels, objective = synthetic_labels(n_questions=150 if kind == "query-level" else 60), OBJECTIVES[kind]
    recipe = dataclasses.replace(ONCE, batch_size=16) if kind == "query-level" else ONCE
    trained = train_router(labels, recipe, objective)
    _, validation = split_by_question(labels, recipe.validation_share, recipe.seed)
    learned_from = validation[torch.isin(validation, objective.tokens(labels))]
    offset = offset_of(objective, labels)
    torch.manual_seed(recipe.seed)
    before = router_loss(objective, objective.architecture.build(8), labels, learned_from, offset)
    a, b = trained.report.get("rescaled_by", (1.0, 0.0))  # after its loss was taken; see the tests of Co-LLM
    logits = (router_logits(objective, trained.network, labels, learned_from) - b) / a
    loss = float(objective.loss(logits + offset[learned_from], labels, learned_from))
    # A logit whose scaling is undone is the one that it was to within its last bits.
    assert loss == pytest.approx(trained.report["validation_loss"], abs=1e-6 if (a, b) != (1.0, 0.0) else 1e-7)
    assert loss < 0.8 * before and trained.report["auc"] > 0.9
    assert not trained.network.training


def test_the_best_epoch_is_kept_and_not_the_last():
    """It overfits after its best epoch, so the two differ."""
    labels = synthetic_labels(noise=1.0)
    recipe = dataclasses.replace(FAST, learning_rates=(3e-2,), max_epochs=25, patience=25)
    best = train_router(labels, recipe)
    epoch = best.report["best_epoch"]
    assert epoch < 24
    short = train_router(labels, dataclasses.replace(recipe, max_epochs=epoch + 1))
    longer = train_router(labels, dataclasses.replace(recipe, max_epochs=epoch + 3))
    for other in (short, longer):
        assert other.report["validation_loss"] == best.report["validation_loss"]
        for a, b in zip(other.network.state_dict().values(), best.network.state_dict().values(), strict=True):
            assert torch.equal(a, b)


def test_patience_ends_training_and_the_best_rate_wins(monkeypatch):
    labels = synthetic_labels()
    rates = (1e-7, 3e-3)  # the authors' rate hardly moves the weights
    runs = {rate: train_router(labels, dataclasses.replace(ONCE, learning_rates=(rate,))).report for rate in rates}
    both = train_router(labels, dataclasses.replace(ONCE, learning_rates=rates)).report
    assert both["validation_loss"] == runs[3e-3]["validation_loss"] < runs[1e-7]["validation_loss"]
    assert both["learning_rate"] == 3e-3
    noise = dataclasses.replace(labels, hidden=torch.randn(720, 8, generator=torch.Generator().manual_seed(0)))
    seen = []
    impatient = dataclasses.replace(FAST, learning_rates=(3e-2,), max_epochs=30, patience=2)
    monkeypatch.setattr(router_training, "router_loss", lambda *a: seen.append(router_loss(*a)) or seen[-1])
    report = train_router(noise, impatient).report
    assert len(seen) == report["best_epoch"] + 3 < 30


def test_unknown_labels_and_their_states_are_left_out():
    """Whatever stands at tokens that were not rolled out, the weights are the same."""
    labels = synthetic_labels(n_questions=20)
    hidden = labels.hidden.clone()
    hidden[labels.label < 0] = 1e3
    one, other = (
        train_router(some, ONCE).network.state_dict() for some in (labels, dataclasses.replace(labels, hidden=hidden))
    )
    assert all(torch.equal(one[k], other[k]) for k in one)


def test_citer_plus_uses_what_the_state_does_not_say():
    """Labels that follow the SLM's certainty and nothing else: the state alone is lost."""
    labels = synthetic_labels()
    certain = dataclasses.replace(labels, label=(labels.max_probability > 0.6).to(torch.int8))
    assert train_router(certain, ONCE, OBJECTIVES["citer-plus"]).report["auc"] > 0.97
    assert train_router(certain, ONCE).report["auc"] < 0.65


# --- what may not leak


def test_no_question_is_in_both_splits_and_the_seed_fixes_all():
    """The published code splits by token, so neighbours of validation tokens are trained on."""
    labels = synthetic_labels()
    train, validation = split_by_question(labels, 0.2, seed=3)
    assert not set(labels.question[train].tolist()) & set(labels.question[validation].tolist())
    assert len(train) + len(validation) == 720 and len(validation) == 12 * 12
    assert not torch.equal(validation, split_by_question(labels, 0.2, seed=4)[1])
    first, second = (train_router(labels, ONCE) for _ in range(2))
    assert first.report == second.report
    one, other = first.network.state_dict(), second.network.state_dict()
    assert all(torch.equal(one[k], other[k]) for k in one)


def test_validation_states_train_nothing():
    """Batch-norm statistics included; one epoch, so that validation has nothing to choose from."""
    labels, recipe = synthetic_labels(), dataclasses.replace(ONCE, max_epochs=1)
    _, validation = split_by_question(labels, recipe.validation_share, recipe.seed)
    hidden = labels.hidden.clone()
    hidden[validation] = -7 * hidden[validation]
    one, other = (train_router(some, recipe) for some in (labels, dataclasses.replace(labels, hidden=hidden)))
    assert one.report["validation_loss"] != other.report["validation_loss"]
    states = one.network.state_dict(), other.network.state_dict()
    assert all(torch.equal(states[0][k], states[1][k]) for k in states[0])


# --- what is reported


@pytest.mark.parametrize("kind", sampled(["citer", "citer-s-a", "co-llm"], 2))
def test_the_report_is_what_scikit_learn_and_a_recount_say(kind):
    labels, objective = synthetic_labels(noise=0.7), OBJECTIVES[kind]
    trained = train_router(labels, ONCE, objective)
    report = trained.report
    _, validation = split_by_question(labels, 0.2, 0)
    used = validation[torch.isin(validation, objective.tokens(labels))]
    target = objective.target(labels)[used]
    logits = router_logits(objective, trained.network, labels, used)
    assert report["auc"] == pytest.approx(roc_auc_score(target, logits))
    assert report["auc_max_probability"] == pytest.approx(roc_auc_score(target, labels.max_probability[used]))
    if kind != "co-llm":
        probability = torch.sigmoid(logits + offset_of(objective, labels)[used]).double()
        assert report["validation_loss"] == pytest.approx(log_loss(target, probability), rel=1e-4)
    assert report["n_questions"] == {"train": 48, "validation": 12}
    n_used = 11 if kind != "co-llm" else 12
    assert report["n_tokens"] == {"train": 48 * n_used, "validation": 12 * n_used}
    assert sum(n for _, _, n in report["reliability"]) == len(used)


def test_shares_at_tau_are_those_that_the_rule_gives_to_the_llm():
    """Counted with the rule itself, over all tokens of the validation questions."""
    labels = synthetic_labels(noise=0.7)
    trained = train_router(labels, ONCE)
    _, validation = split_by_question(labels, 0.2, 0)
    confidence = torch.sigmoid(router_logits(OBJECTIVES["citer"], trained.network, labels, validation)).tolist()
    shares = trained.report["llm_shares_at_tau"]
    assert len(shares) == 101 and (shares[0], shares[-1]) == (0.0, 1.0) and 0.1 < shares[50] < 0.9
    for percent, share in enumerate(shares):
        by_llm = sum(prefers_llm(c, percent / 100) for c in confidence)
        assert share == pytest.approx(by_llm / len(confidence), abs=1e-6)


def test_confidence_quantiles_are_over_all_tokens_of_the_validation_questions():
    """Those that it does not learn from included: a tau has to be paid for at every token."""
    labels = synthetic_labels()
    trained = train_router(labels, ONCE, OBJECTIVES["citer-s-a"])
    _, validation = split_by_question(labels, 0.2, 0)
    confidence = torch.sigmoid(router_logits(OBJECTIVES["citer"], trained.network, labels, validation)).sort().values
    quantiles = trained.report["confidence_quantiles"]
    assert len(quantiles) == 101 and quantiles == sorted(quantiles)
    assert (quantiles[0], quantiles[-1]) == pytest.approx((float(confidence[0]), float(confidence[-1])), abs=1e-6)
    for percent in (10, 20, 50, 90):
        below = float((confidence < quantiles[percent]).double().mean())
        assert below == pytest.approx(percent / 100, abs=1 / len(validation) + 1e-9)


def test_one_tau_suits_two_formats_whose_priors_differ():
    """Format 0 prefers the SLM at 95%, format 1 at 50%; the state says nothing. In groups, both score alike."""
    g = torch.Generator().manual_seed(6)
    labels = synthetic_labels()
    group = (labels.question >= 30).int()
    share = torch.where(group == 0, 0.95, 0.5)
    hidden = torch.randn(720, 8, generator=g)
    hidden[:, 2] = group.float()  # the state shows the format
    labels = dataclasses.replace(labels, hidden=hidden, label=(torch.rand(720, generator=g) < share).to(torch.int8))
    scores = {}
    for name, groups in (("in groups", group), ("as one", None)):
        trained = train_router(labels, ONCE, group=groups)
        with torch.no_grad():
            confidence = torch.sigmoid(trained.network(hidden))
        scores[name] = float(confidence[group == 0].mean() - confidence[group == 1].mean())
    assert abs(scores["in groups"]) < 0.12 < 0.2 < scores["as one"]


# --- what cannot train


def test_labels_of_one_kind_cannot_train():
    labels = synthetic_labels()
    with pytest.raises(ValueError, match="the same"):
        train_router(dataclasses.replace(labels, label=torch.ones_like(labels.label)), FAST)


@pytest.mark.parametrize("wrong", [{"learning_rates": ()}, {"batch_size": 1}, {"patience": 0}])
def test_recipes_that_train_nothing_are_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        RouterRecipe(**wrong)


# --- the card


def described(pair, labels=None, kind="citer", **options):
    header = LabelHeader.of(pair, ROWS, LabelSettings(Policy.slm_alone()), 1)
    labels = labels or synthetic_labels(n_questions=20)
    rows = [{"question": n, "data_type": "math" if n < 10 else "mc"} for n in range(20)]
    return train_and_describe([header], labels, rows, kind, ONCE, 0.3, command="test", **options)


def test_a_rounded_routers_matrices_take_half_the_room_and_score_nearly_the_same(tiny_pair, tmp_path):
    router = described(tiny_pair)
    rounded = router.rounded()
    for name, saved in (("whole", router), ("half", rounded)):
        saved.save(tmp_path / name)
    whole, half = (load_file(tmp_path / name / "citer.safetensors") for name in ("whole", "half"))
    for name, tensor in half.items():
        assert tensor.dtype == (torch.bfloat16 if tensor.ndim == 2 else torch.float32)
        assert tensor.shape == whole[name].shape
    read = CiterRouter.read(
        read_card(tmp_path / "half" / "citer.json") | {"name": "citer"}, tmp_path / "half" / "citer.safetensors",
        hidden_size=8, pair_revision=tiny_pair.info.revision,
    )  # fmt: skip
    labels = synthetic_labels(n_questions=5)
    features = labels.features(torch.arange(len(labels)))
    assert torch.equal(read.confidence(features), rounded.confidence(features))
    assert (read.confidence(features) - router.confidence(features)).abs().max() < 0.02
    assert read.revision == rounded.revision != router.revision
    assert "rounded" in read.card["matrices"]


def test_the_card_says_what_it_was_trained_on_and_for_which_share(tiny_pair, tmp_path):
    router = described(tiny_pair, kind="citer-plus", name="mine")
    assert router.name == "mine" and router.default_threshold == router.card["recommended_threshold"]
    assert router.default_threshold == pytest.approx(router.threshold_at(0.3), abs=5e-5)
    card = router.card
    assert (card["pair"], card["pair_revision"]) == ("tiny", tiny_pair.info.revision)
    assert (card["prompt_version"], card["labels"][0]["router"]) == (PROMPT_VERSION, "always-slm")
    assert card["label_shares"]["n_tokens"] == 240 and card["label_shares"]["n_unknown"] == 20
    assert card["recommended_for_share"] == 0.3
    router.save(tmp_path)
    read = CiterPlusRouter.read(
        read_card(tmp_path / "mine.json") | {"name": "mine"},
        tmp_path / "mine.safetensors",
        hidden_size=8,
        pair_revision=tiny_pair.info.revision,
    )
    assert (read.revision, read.default_threshold) == (router.revision, router.default_threshold)


def test_too_little_to_learn_from_is_a_message(tiny_pair):
    labels = synthetic_labels(n_questions=20)
    with pytest.raises(DatasetError, match="Label more"):
        described(tiny_pair, dataclasses.replace(labels, label=torch.zeros_like(labels.label)))


def test_a_validation_split_of_one_label_gives_a_card_that_is_json():
    """NaN is no JSON: every other program would refuse the card."""
    labels = synthetic_labels()
    _, validation = split_by_question(labels, FAST.validation_share, FAST.seed)
    one_sided = labels.label.clone()
    one_sided[validation] = 1
    report = train_router(dataclasses.replace(labels, label=one_sided), ONCE).report
    assert report["auc"] is None and report["auc_max_probability"] is None
    json.dumps(report, allow_nan=False)
