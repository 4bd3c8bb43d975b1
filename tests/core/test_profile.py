"""The profile: measured on a tiny pair, read back, and said in words that follow from its numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.engine import Engine
from citer_core.errors import ProfileError, SettingError
from citer_core.measuring.profile import predicted_run_s, profile_pair, reference_context
from citer_core.measuring.profile_numbers import ProfilePlan, measured_crossing, read_profile
from citer_core.measuring.profile_words import headline, provenance, sentences, tables
from citer_core.measuring.step_cost import break_even_share_of_bytes
from citer_core.routing.routers import training_free_routers
from citer_core.ui.profile import SHARES, profile_message
from tests.core.examples import exhausted

STORED = ASSETS / "benchmarks" / "profile.json"
TINY = ProfilePlan((1, 4), (16, 64), n_rounds=2, n_problems=2, n_prompt=8, n_written=12, n_runs=1, seed=3)


@pytest.fixture(scope="module")
def measured(tiny_pair):
    engine = Engine(tiny_pair, training_free_routers())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citer_core.measuring.device_probe.MIB", 2**12)
        return exhausted(profile_pair(engine, TINY, command="a test"))


@pytest.fixture(scope="module")
def stored():
    return read_profile(STORED)


@pytest.fixture
def document():
    """The stored profile as it stands in its file."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def test_measured_profile_is_whole(measured, tiny_pair, tmp_path):
    told, profile = measured
    assert [p.done for p in told] == sorted(p.done for p in told) and told[0].done == 0 and told[-1].done < 1
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile.as_json()), encoding="utf-8")
    assert read_profile(path) == profile
    for model in (profile.slm, profile.llm):
        assert {(p.n_new, p.n_cached) for p in model.passes} == {(1, 16), (1, 64), (4, 16), (4, 64)}
        assert all(p.seconds > 0 for p in model.passes)
    agreement = profile.agreement
    assert agreement.needed_share == pytest.approx(1 - agreement.slm_is_llm) and agreement.n_examples == 4
    assert [row.llm_share for row in profile.check] == [None, 0.0, *ProfilePlan().shares]
    even = profile.break_even
    assert even.time == profile.costs.break_even_share(64)
    info = tiny_pair.info
    assert even.bytes == break_even_share_of_bytes(info.slm, info.llm, 0, 65)
    assert profile.clock == "thread" and torch.get_num_threads() == 1
    assert report_is_readable(profile)


def stored_profiles():
    """Every profile that comes with the project."""
    start = '{\n "schema": "citer-profile"'
    return [path for path in ASSETS.rglob("*.json") if path.read_text(encoding="utf-8").startswith(start)]


def test_a_stored_profile_is_the_same_to_the_byte_when_stored_once_more():
    assert STORED in stored_profiles()
    for path in stored_profiles():
        again = json.dumps(read_profile(path).as_json(), indent=1) + "\n"
        assert again == path.read_text(encoding="utf-8"), path


def report_is_readable(profile):
    return all(sentences(profile)) and headline(profile) and provenance(profile) and len(tables(profile)) == 6


def test_plan_fits_the_pair():
    plan = ProfilePlan().fitting(1024)
    assert plan.contexts == (64, 128, 256, 512, 960) and reference_context(plan.contexts) == 256
    with pytest.raises(SettingError, match="too few"):
        ProfilePlan().fitting(60)


def test_prediction_of_a_run_by_hand(stored):
    """Ten tokens after a prompt of five: ten steps at 10 tokens of context on average, and the prompt once."""
    costs = stored.costs
    alone = 10 * costs.llm_only_s(10) + 4 * costs.llm.per_token_s
    assert predicted_run_s(costs, None, 5, 10) == pytest.approx(alone)
    routed = 10 * costs.routed_s(0.5, 10) + 5 * (costs.slm.per_token_s + costs.llm.per_token_s)
    assert predicted_run_s(costs, 0.5, 5, 10) == pytest.approx(routed)


def checked(stored, ratios, spread=None):
    """The profile with routed runs of these times (of the LLM alone's) by LLM share, and their lowest and highest."""
    alone, first, *_ = stored.check
    rows = [
        replace(first, run=f"routed at {share:.0%}", llm_share=share, measured_of_llm_alone=ratio,
                lowest_of_llm_alone=spread and ratio - spread, highest_of_llm_alone=spread and ratio + spread)
        for share, ratio in ratios.items()
    ]  # fmt: skip
    return replace(stored, check=(alone, *rows))


def test_the_crossing_is_that_of_the_measured_runs(stored):
    """By hand: from 0.8 at 40% to 1.2 at 80% a line reaches 1 at 60%."""
    found = measured_crossing(checked(stored, {0.8: 1.2, 0.0: 0.5, 0.4: 0.8}).check)
    assert (found.saves_at, found.loses_at, found.low, found.high) == (0.4, 0.8, 0.4, 0.8)
    assert found.at == pytest.approx(0.6)
    # A tenth up or down moves the crossing by a tenth of the line's rise.
    found = measured_crossing(checked(stored, {0.0: 0.5, 0.4: 0.8, 0.8: 1.2}, spread=0.1).check)
    assert (found.at, found.low, found.high) == (pytest.approx(0.6), pytest.approx(0.5), pytest.approx(0.7))
    assert measured_crossing(stored.check[:1]) is None
    never, always = (measured_crossing(checked(stored, {0.0: r, 1.0: r}).check) for r in (0.9, 1.1))
    assert (never.saves_at, never.at, always.saves_at, always.loses_at) == (1.0, None, None, 0.0)


def test_message_for_the_page(stored):
    message = profile_message(stored, "recorded")["profile"]
    chart = message["shares"]
    costs, context = stored.costs, stored.break_even.n_context
    assert chart["time"][SHARES.index(0.5)] == pytest.approx(costs.routed_s(0.5, context) / costs.llm_only_s(context))
    # The curves cross 1 where the break-even says.
    assert chart["bytes"][0] == pytest.approx(1 - stored.break_even.bytes)
    assert message["kind"] == "recorded" and stored.date in message["provenance"]
    assert message["headline"] == headline(stored)
    crossing = measured_crossing(stored.check)
    assert chart["crossing"]["at"] == crossing.at and message["numbers"][0]["value"] == f"{crossing.at:.0%}"
    assert {len(row) for table in message["tables"] for row in table["rows"]} <= {2, 3, 6, 9}


def test_stored_profile_is_of_the_bundled_pair(stored):
    card = json.loads((ASSETS / "benchmarks" / "decode.json").read_text(encoding="utf-8"))
    assert stored.pair_revision == card["pair_revision"] and stored.dtype == "float32"
    assert stored.command.startswith("python -m citer_core profile") and stored.hardware


@pytest.mark.parametrize(
    ("path", "value"), [(("hardware",), None), (("llm", "pass_bytes"), 0), (("slm", "fit"), {"fixed_s": None})]
)
def test_a_field_of_nonsense_in_a_profile_is_a_message(tmp_path, document, path, value):
    inside = document
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    (tmp_path / "p.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"p\.json"):
        read_profile(tmp_path / "p.json")


@pytest.mark.parametrize(("flags", "words"), [(["--limit", "0"], "--limit is 0"), (["--threads", "0"], "threads is 0")])
def test_bad_arguments(flags, words, capsys):
    assert main(["profile", *flags]) == 2
    assert words in capsys.readouterr().err
