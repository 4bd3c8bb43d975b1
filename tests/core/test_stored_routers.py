"""Trained routers as files: what comes back, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from citer_core.cost import mlp_router_params
from citer_core.errors import RouterError
from citer_core.evaluation.label_view import label_texts
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.catalog import load_router, load_routers
from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.routing.routers.citer import CiterMLP, CiterRouter
from citer_core.routing.routers.citer_plus import CiterPlusRouter
from tests.sampling import sampled


def features(n=6, hidden_size=32, vocab=50):
    generator = torch.Generator().manual_seed(0)
    return RouterFeatures(
        torch.randn(n, hidden_size, generator=generator), 3 * torch.randn(n, vocab, generator=generator)
    )


def card_of(pair, **changes):
    card = {"name": "citer", "label": "CITER", "hidden_size": pair.hidden_size, "pair_revision": pair.info.revision}
    return card | changes


def a_router(kind, pair, **changes):
    """One whose every weight and batch-norm statistic says something, as after training."""
    torch.manual_seed(3)
    network = stored_kinds()[kind].build(pair.hidden_size)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.2)
    network.train()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean += 0.3
            module.running_var *= 1.7
    return stored_kinds()[kind](network, card_of(pair, name=kind, label=f"A {kind}", **changes))


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def without(path, field):
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != field}))


def in_one_file(card_path, path, **changes):
    """The router of two files in one, as the page saves one."""
    card = json.loads(card_path.read_text()) | changes
    save_file(load_file(card_path.with_suffix(".safetensors")), path, metadata={"card": json.dumps(card)})
    return path


# --- there and back


def test_the_mlp_has_the_published_layers():
    shapes = [
        (type(m).__name__, getattr(m, "in_features", None), getattr(m, "out_features", None)) for m in CiterMLP(8)
    ]
    assert [s for s in shapes if s[0] != "Dropout"] == [
        ("Linear", 8, 16), ("BatchNorm1d", None, None), ("ReLU", None, None), ("Linear", 16, 8), ("Linear", 8, 1),
    ]  # fmt: skip
    assert [m.p for m in CiterMLP(8) if isinstance(m, nn.Dropout)] == [0.1, 0.1]


@pytest.mark.parametrize("kind", stored_kinds())
def test_a_router_survives_its_files(tiny_pair, tmp_path, kind):
    router = a_router(kind, tiny_pair, recommended_threshold=0.83)
    router.save(tmp_path / "new" / "folder")
    again = load_router(tmp_path / "new" / "folder" / f"{kind}.json", tiny_pair)
    assert type(again) is stored_kinds()[kind]
    f = features()
    assert torch.equal(router.confidence(f), again.confidence(f))
    assert ((again.confidence(f) > 0) & (again.confidence(f) < 1)).all() and again.confidence(f).unique().numel() > 1
    assert (again.revision, again.n_params, again.label) == (router.revision, router.n_params, router.label)
    assert (again.name, again.default_threshold) == (kind, 0.83)
    assert {p.suffix for p in (tmp_path / "new" / "folder").iterdir()} == {".json", ".safetensors"}
    a_router(kind, tiny_pair).save(tmp_path)
    assert (tmp_path / f"{kind}.safetensors").read_bytes() == (
        tmp_path / "new" / "folder" / f"{kind}.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("kind", sampled(stored_kinds(), 3))
def test_a_router_in_one_file_is_the_router_of_two(tiny_pair, tmp_path, kind):
    a_router(kind, tiny_pair, recommended_threshold=0.83).save(tmp_path / "two")
    two = load_router(tmp_path / "two" / f"{kind}.json", tiny_pair)
    (tmp_path / "one").mkdir()
    path = in_one_file(tmp_path / "two" / f"{kind}.json", tmp_path / "one" / "own-1.safetensors")
    one = load_router(path, tiny_pair)
    assert torch.equal(one.confidence(features()), two.confidence(features()))
    assert (one.name, one.label, one.revision, one.default_threshold) == ("own-1", two.label, two.revision, 0.83)
    # In a folder it is one of the others; weights without any card, as a stop leaves them, are none.
    shutil.copy(tmp_path / "two" / f"{kind}.safetensors", tmp_path / "one" / "cut-off.safetensors")
    routers, problems = load_routers(tiny_pair, tmp_path / "one")
    assert list(routers) == ["own-1", *training_free_routers()] and problems == []
    # Saved, it is two files as any other.
    one.save(tmp_path / "again")
    assert load_router(tmp_path / "again" / "own-1.json", tiny_pair).revision == one.revision


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("other-pair", "trained for the pair elsewhere"), ("other-weights", "not those that its card names"),
        ("no-card", r"holds no card: give the path of its card \(.json\)"), ("cut-off", "are not loaded"),
        ("card-is-a-list", "is a list of 2, not an object"), ("huge", "larger than"),
    ],
)  # fmt: skip
def test_a_router_in_one_file_is_checked_as_two_are(tiny_pair, tmp_path, monkeypatch, damage, said):
    a_router("citer", tiny_pair).save(tmp_path / "two")
    card = tmp_path / "two" / "citer.json"
    changes = {"pair_revision": "elsewhere"} if damage == "other-pair" else {}
    path = in_one_file(card, tmp_path / "bad.safetensors", **changes)
    tensors = load_file(path)
    if damage == "other-weights":
        tensors["0.weight"][0, 0] += 1
        save_file(tensors, path, metadata={"card": card.read_text()})
    elif damage == "no-card":
        save_file(tensors, path)
    elif damage == "card-is-a-list":
        save_file(tensors, path, metadata={"card": "[1, 2]"})
    elif damage == "huge":
        monkeypatch.setattr("citer_core.routing.router_card.MAX_WEIGHTS_BYTES", 1000)
    elif damage == "cut-off":
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RouterError, match=rf'"bad".*{said}'):
        load_router(path, tiny_pair)


def test_what_a_step_reads_is_counted_and_all_weights_name_the_revision(tiny_pair):
    """Batch norm belongs to the layer before it and the last two layers are one: half of what is in the file."""
    router = a_router("citer", tiny_pair)
    assert router.n_params == 32 * 64 + 64 + 64 + 1 == mlp_router_params(32)
    plus = a_router("citer-plus", tiny_pair)
    assert plus.n_params == (3 + 1) + 2 * 3 + 35 * 70 + 70 + 70 + 1
    read = [name for name, _ in router._fast.named_modules()]
    assert read == ["", "0", "1", "2"], "two products and what bends between them"
    moved = a_router("citer", tiny_pair)
    moved.network[1].running_mean[0] += 1
    assert CiterRouter(moved.network, moved.card).revision != router.revision


def test_a_router_runs_without_dropout_or_gradients_and_in_float32(tiny_pair):
    router, f = a_router("citer", tiny_pair), features()
    assert torch.equal(router.confidence(f), router.confidence(f))
    half = RouterFeatures(f.hidden.bfloat16(), f.logits.bfloat16())
    assert router.confidence(half).dtype == torch.float32 and not router.confidence(half).requires_grad


def test_routers_say_truly_whether_they_read_the_sequence(tiny_pair):
    """What they say that they do not read is not prepared for them."""
    asked = [*training_free_routers().values(), *(a_router(kind, tiny_pair) for kind in stored_kinds())]
    plain, states = features(), torch.randn(6, 32, generator=torch.Generator().manual_seed(1))
    plain = dataclasses.replace(plain, llm_logits=plain.logits.flip(0), llm_entropy=torch.full((6,), 0.5))
    known = dataclasses.replace(
        plain, prompt_hidden=states, sequence_key=torch.arange(6) * 9 + 4, position=torch.arange(6) + 1
    )
    reads = {r.name for r in asked if not torch.equal(r.confidence(plain), r.confidence(known))}
    assert reads == {r.name for r in asked if r.uses_sequence} == {"random", "query-level"}


def test_citer_plus_starts_as_a_monotone_function_of_max_probability():
    """Before training the residual is exactly zero, so the order of tokens is the free baseline's."""
    network = CiterPlusRouter.build(32).eval()
    f = features(200)
    logit = CiterPlusRouter.logit(network, f)
    p = f.max_probability.clamp(1e-6, 1 - 1e-6)
    # The batch norm before its first batch divides by sqrt(1 + 1e-5) and does nothing else.
    torch.testing.assert_close(logit, p.logit() / (1 + 1e-5) ** 0.5, rtol=1e-4, atol=1e-5)
    order = f.max_probability.argsort()
    assert (logit[order].diff() > 0).all()
    for sure in (0.0, 1.0):  # certainty has no log-odds; the score stays a number
        logits = torch.tensor([[40.0, -40.0, -40.0]]) if sure else torch.zeros(1, 3)
        assert CiterPlusRouter.logit(network, RouterFeatures(torch.zeros(1, 32), logits)).isfinite().all()


# --- what does not fit


UNFIT = {
    "weights of another size": lambda card, _: edit(card, hidden_size=32),
    "another pair": lambda card, _: edit(card, pair_revision="elsewhere"),
    "weights of another kind": lambda card, _: edit(card, kind="citer-plus"),
    "unknown kind": lambda card, _: edit(card, kind="oracle"),
    "old card": lambda card, _: edit(card, schema_version=0),
    "no label": lambda card, _: without(card, "label"),
    "truncated": lambda _, weights: weights.write_bytes(weights.read_bytes()[:200]),
    "no weights": lambda _, weights: weights.unlink(),
    "bad card": lambda card, _: card.write_text("{"),
    "card is a list": lambda card, _: card.write_text("[1, 2]"),
    "size": lambda *_: None,
}


@pytest.mark.parametrize("damage", UNFIT)
def test_a_router_that_does_not_fit_says_so_and_spares_the_others(tiny_pair, tmp_path, damage):
    CiterRouter(CiterMLP(32), card_of(tiny_pair, name="good")).save(tmp_path)
    size = 16 if "size" in damage else 32
    CiterRouter(CiterMLP(size), card_of(tiny_pair, name="bad", hidden_size=size)).save(tmp_path)
    UNFIT[damage](tmp_path / "bad.json", tmp_path / "bad.safetensors")
    advice = "citer, citer-plus, query-level" if damage == "unknown kind" else "embedded router"
    with pytest.raises(RouterError, match=rf'"bad".*{advice}'):
        load_router(tmp_path / "bad.json", tiny_pair)
    routers, problems = load_routers(tiny_pair, tmp_path)
    assert list(routers) == ["good", *training_free_routers()] and len(problems) == 1


def broken(router, damage):
    first = next(iter(router.network.parameters()))
    if damage == "NaN":
        first.data.view(-1)[-1] = float("nan")
    elif damage == "infinite":
        first.data.view(-1)[0] = float("inf")
    else:
        for module in router.network.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.running_var -= 1e6  # finite, and the root of it is not
    return router


@pytest.mark.parametrize(
    ("kind", "damage"), sampled(product(stored_kinds(), ["NaN", "infinite", "negative variance"]), 4)
)
def test_a_router_without_numbers_is_refused_when_it_is_loaded(tiny_pair, tmp_path, kind, damage):
    """Its hash and its revision are right: it was saved like that."""
    router = broken(a_router(kind, tiny_pair), damage)
    again = stored_kinds()[kind](router.network, router.card)
    again.save(tmp_path)
    with pytest.raises(RouterError, match="scores that are not numbers"):
        load_router(tmp_path / f"{kind}.json", tiny_pair)


def test_a_stop_between_weights_and_card_leaves_no_card_of_other_weights(tiny_pair, tmp_path, monkeypatch):
    a_router("citer", tiny_pair).save(tmp_path)
    replace = Path.replace

    def die_before_the_card(self, target):
        if target.suffix == ".json":
            raise KeyboardInterrupt
        return replace(self, target)

    other = a_router("citer", tiny_pair)
    other.network[0].weight.data += 1
    monkeypatch.setattr(Path, "replace", die_before_the_card)
    with pytest.raises(KeyboardInterrupt):
        CiterRouter(other.network, other.card).save(tmp_path)
    monkeypatch.undo()
    assert not (tmp_path / "citer.json").exists()
    assert load_routers(tiny_pair, tmp_path)[1] == []


def test_a_save_that_dies_leaves_the_router_before_it(tiny_pair, tmp_path, monkeypatch):
    """A card that is there must be whole: `iterate` goes on from it after a kill."""
    a_router("citer", tiny_pair, note="first").save(tmp_path)
    before = (tmp_path / "citer.json").read_bytes()
    write = Path.write_text

    def die_half_way(self, text, **options):
        write(self, text[: len(text) // 2], **options)
        raise KeyboardInterrupt

    second = a_router("citer", tiny_pair, note="second")
    monkeypatch.setattr(Path, "write_text", die_half_way)
    with pytest.raises(KeyboardInterrupt):
        second.save(tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "citer.json").read_bytes() == before
    second.save(tmp_path)
    assert load_router(tmp_path / "citer.json", tiny_pair).card["note"] == "second"


@pytest.mark.parametrize("kind", list(stored_kinds()))
def test_the_faster_network_gives_the_same_confidences(tiny_pair, kind):
    """Batch norm folded and layers joined, against the network as it was trained."""
    router, some = a_router(kind, tiny_pair), features(64, tiny_pair.hidden_size)
    found = router.confidence(some)
    assert found.std() > 0.02
    torch.testing.assert_close(found, torch.sigmoid(router.logit(router.network, some)), rtol=1e-5, atol=1e-6)


def test_scores_that_are_no_numbers_do_not_become_curves(tiny_pair):
    router = broken(a_router("citer", tiny_pair), "NaN")
    example = example_of({"problem": "1 + 1?", "solution": r"\boxed{2}"}, "math", tiny_pair)
    with pytest.raises(RouterError, match="not numbers for this text"):
        list(label_texts(tiny_pair, [type(router)(router.network, router.card)], [example]))
