"""The profile: measured on a tiny pair, read back, and said in words that follow from its numbers."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.cost import QWEN2_1_5B
from citer_core.engine import Engine
from citer_core.errors import ProfileError, SettingError
from citer_core.measuring import device_probe
from citer_core.measuring.break_even import break_even_share_of_bytes
from citer_core.measuring.profile import ProfilePlan, predicted_run_s, profile_pair, reference_context
from citer_core.measuring.profile_file import costs_of, read_profile
from citer_core.measuring.profile_words import headline, limits, provenance, sentences, tables
from citer_core.routing.routers import training_free_routers
from citer_core.ui.profile.messages import SHARES, profile_message

STORED = ASSETS / "benchmarks" / "profile.json"
TINY = ProfilePlan((1, 4), (16, 64), n_rounds=2, n_problems=2, n_prompt=8, n_written=12, n_runs=1, seed=3)


@pytest.fixture(scope="module")
def measured(tiny_pair):
    engine = Engine(tiny_pair, training_free_routers())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citer_core.measuring.device_probe.MIB", 2**12)
        patch.setattr("citer_core.measuring.profile.MIB", 2**12)
        steps, told = profile_pair(engine, TINY, command="a test"), []
        while True:
            try:
                told.append(next(steps))
            except StopIteration as stop:
                return stop.value, told


@pytest.fixture
def stored():
    return copy.deepcopy(read_profile(STORED))


def test_measured_profile_is_whole(measured, tiny_pair, tmp_path):
    profile, told = measured
    assert [p.done for p in told] == sorted(p.done for p in told) and told[0].done == 0 and told[-1].done < 1
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile), encoding="utf-8")
    assert read_profile(path) == json.loads(json.dumps(profile))
    for which in ("slm", "llm"):
        assert {(p["n_new"], p["n_cached"]) for p in profile[which]["passes"]} == {(1, 16), (1, 64), (4, 16), (4, 64)}
        assert all(p["seconds"] > 0 for p in profile[which]["passes"])
    agreement = profile["agreement"]
    assert agreement["needed_share"] == pytest.approx(1 - agreement["slm_is_llm"]) and agreement["n_examples"] == 4
    assert [row["llm_share"] for row in profile["check"]] == [None, 0.0, 0.1, 0.3, 1.0]
    even = profile["break_even"]
    assert even["time"] == costs_of(profile).break_even_share(64)
    info = tiny_pair.info
    assert even["bytes"] == break_even_share_of_bytes(info.slm, info.llm, 0, 65)
    assert profile["clock"] == "thread" and torch.get_num_threads() == 1
    assert report_is_readable(profile)


def report_is_readable(profile):
    return all(sentences(profile)) and headline(profile) and provenance(profile) and len(tables(profile)) == 5


def test_plan_fits_the_pair():
    plan = ProfilePlan().fitting(1024)
    assert plan.contexts == (64, 128, 256, 512, 960) and reference_context(plan.contexts) == 256
    with pytest.raises(SettingError, match="too few"):
        ProfilePlan().fitting(60)


def test_prediction_of_a_run_by_hand(stored):
    """Ten tokens after a prompt of five: ten steps at 10 tokens of context on average, and the prompt once."""
    costs = costs_of(stored)
    alone = 10 * costs.llm_only_s(10) + 4 * costs.llm.per_token_s
    assert predicted_run_s(costs, None, 5, 10) == pytest.approx(alone)
    routed = 10 * costs.routed_s(0.5, 10) + 5 * (costs.slm.per_token_s + costs.llm.per_token_s)
    assert predicted_run_s(costs, 0.5, 5, 10) == pytest.approx(routed)


def test_bandwidth_and_peak_are_positive(monkeypatch):
    device = torch.device("cpu")
    assert device_probe.copy_bandwidth(device, 2**16, 2) > 0
    assert device_probe.peak_flops(device, torch.float32, 2, size=32) > 0


def test_headline_follows_the_numbers(stored):
    even = stored["break_even"]
    assert f"less than {even['time']:.0%} of the tokens (bytes: less than {even['bytes']:.0%})" in headline(stored)
    stored["agreement"]["needed_share"] = 0.9
    even["time"] = 0.4
    assert "not worth it" in headline(stored) and "below 40%" in headline(stored) and "90%" in headline(stored)
    assert "too weak" in limits(stored)[0]
    even["time"] = 0
    assert "at any LLM share" in headline(stored)


def test_limits(stored):
    stored["llm"]["bound"], stored["break_even"]["largest_batch"] = "compute", 8
    said = " ".join(limits(stored))
    assert "compute-bound" in said and "8 sequences" in said and "16 do not" in said
    stored["break_even"]["largest_batch"] = 0
    assert "even for one sequence" in " ".join(limits(stored))


def test_message_for_the_page(stored):
    message = profile_message(stored, "recorded")["profile"]
    chart = message["shares"]
    costs, context = costs_of(stored), stored["break_even"]["n_context"]
    assert chart["time"][SHARES.index(0.5)] == pytest.approx(costs.routed_s(0.5, context) / costs.llm_only_s(context))
    # The curves cross 1 where the break-even says.
    assert chart["bytes"][0] == pytest.approx(1 - stored["break_even"]["bytes"])
    assert message["kind"] == "recorded" and stored["date"] in message["provenance"]
    assert message["headline"] == headline(stored)
    assert {len(row) for table in message["tables"] for row in table["rows"]} <= {2, 3, 6, 9}


def test_stored_profile_is_of_the_bundled_pair(stored):
    card = json.loads((ASSETS / "benchmarks" / "decode.json").read_text(encoding="utf-8"))
    assert stored["pair_revision"] == card["pair_revision"] and stored["dtype"] == "float32"
    assert stored["command"].startswith("python -m citer_core profile") and stored["hardware"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "citer-profile", "schema_version": 2}'])
def test_what_is_no_profile(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match="profile"):
        read_profile(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("hardware",), None), (("clock",), "sundial"), (("break_even", "time"), "often"), (("check",), 5),
        (("break_even", "n_context"), 10**30), (("slm", "passes"), [1]), (("llm", "pass_bytes"), 0),
        (("probe", "copy"), []), (("router", "n_params"), -1), (("agreement",), []), (("slm", "bound"), None),
        (("loop_s",), float("nan")), (("slm", "fit"), {"fixed_s": 0, "per_token_s": 0, "per_context_s": 0, "error": 0}),
    ],
)  # fmt: skip
def test_a_field_of_nonsense_in_a_profile_is_a_message(tmp_path, stored, path, value):
    inside = stored
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    (tmp_path / "p.json").write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"p\.json|Make it again"):
        read_profile(tmp_path / "p.json")


def test_damaged_profile(tmp_path, stored):
    stored["slm"]["fit"]["fixed_s"] = None
    path = tmp_path / "p.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ProfileError, match="step costs"):
        read_profile(path)
    del stored["llm"]
    path.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ProfileError, match="lacks llm"):
        read_profile(path)


@pytest.mark.parametrize(("flags", "words"), [(["--limit", "0"], "--limit is 0"), (["--threads", "0"], "threads is 0")])
def test_bad_arguments(flags, words, capsys):
    assert main(["profile", *flags]) == 2
    assert words in capsys.readouterr().err


def test_published_sizes_are_not_confused():
    """A pair of one model with itself saves no bytes."""
    assert break_even_share_of_bytes(QWEN2_1_5B, QWEN2_1_5B, 0, 100) == 0
