"""`arena`: the stored contenders without a model, and a router of one's own among them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from citer_core.cli import arena
from citer_core.cli.main import main
from citer_core.evidence import contender
from citer_core.evidence.arena import arenas
from citer_core.evidence.regimes import of_parts
from tests.core.stored_evidence import N, every_part


def test_what_is_stored_is_told_without_a_model(stored, capsys, monkeypatch):
    monkeypatch.setattr(arena, "load_engine", lambda *_: pytest.fail("a model was loaded"))
    assert main(["arena"]) == 0
    out = capsys.readouterr().out
    for one in arenas(next(iter(stored.values()))):
        table = out.split(f"{one.kind}, n = {one.n:,}")[1].split("\n\n")[0]
        for standing in one.standings(0.2):
            assert f"| {standing.label} " in table and f"{standing.gap:.1%}" in table


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bytes", "0.2", "--passes", "0.1"], "give one of them"),
        (["--routers", "entropy"], "go together"),
        (["--bytes", "0"], "a number above 0, up to 1"),
        (["--pair", "qwen2.5-coder-0.5b-1.5b"], "--pair: use this with --routers"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_is_loaded(arguments, words, capsys):
    assert main(["arena", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_router_of_ones_own_stands_among_the_others(engine, tmp_path, capsys, monkeypatch):
    """Its answers are kept: the second time nothing is decoded."""
    stored = of_parts("a-set", every_part())
    mine = replace(stored, pair_revision=engine.pair_info.revision)
    monkeypatch.setattr("citer_core.evidence.regimes.regimes", lambda: iter([mine]))
    monkeypatch.setattr(arena, "load_engine", lambda *_: engine)
    monkeypatch.setattr(contender, "SHARES", (0.1,))  # between points it is mixed with the models alone
    monkeypatch.setattr(contender, "EvidencePlan", partial(contender.EvidencePlan, max_new_tokens=3))
    asked = ["arena", "--routers", "entropy", "--work-dir", str(tmp_path / "work")]
    assert main(asked) == 0
    first = capsys.readouterr().out
    label = f"> {engine.router('entropy').label}, here"
    assert first.count(label) == 2 and f"math, n = {N}" in first and "less Max-probability" in first
    monkeypatch.setattr(type(engine), "run_batch", lambda *_, **__: pytest.fail("decoded again"))
    assert main(asked) == 0
    assert capsys.readouterr().out == first


def test_the_ends_of_the_gap_and_oracles_are_no_contenders(stored, engine, tmp_path):
    for name in ("always-slm", "always-llm", "disagreement"):
        with pytest.raises(contender.SettingError, match="is no contender"):
            contender.measured_among([*stored.values()], engine, [name], tmp_path, print)


def test_a_pair_of_which_nothing_is_stored_is_told_so(stored):
    with pytest.raises(contender.SettingError, match="measure yours with `evaluate`"):
        contender.of_pair([*stored.values()], "another")
