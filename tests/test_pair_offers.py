"""Which pairs a visitor may choose, and what the picker says about each."""

from __future__ import annotations

import dataclasses

import pytest

from citer_core.config import AppConfig, LlmServer
from citer_core.errors import PairError, SettingError
from citer_core.models import store
from citer_core.models.presets import PRESETS, preset_of
from citer_core.models.sources import CONVERSION
from citer_core.models.spec import model_bytes
from citer_core.models.store import PairNeeds, needs_of
from citer_core.ui.pair import offers as pair_offers
from citer_core.ui.pair.offers import PairOffers, loaded_bytes, room_for
from tests.fakes import LLM, PAIR, SLM

CODER = "qwen2.5-coder-0.5b-1.5b"
GB = 10**9


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The user's own models are not read; `here` holds the sources that are taken to be on this machine."""
    here: set = set()
    monkeypatch.setenv("CITER_CACHE", str(tmp_path))
    found = store.find
    monkeypatch.setattr(store, "_cached_snapshot", lambda repo_id: None)
    monkeypatch.setattr(store, "_cached_file", lambda repo_id, name: None)
    monkeypatch.setattr(store, "find", lambda source: tmp_path if source in here else found(source))
    monkeypatch.setattr(pair_offers, "free_bytes", lambda device: 16 * GB)
    return here


def offers(**config) -> PairOffers:
    return PairOffers(AppConfig(**config))


def test_by_default_only_a_page_of_ones_own_may_download():
    assert AppConfig().pairs_allowed == "presets"
    assert AppConfig(host="0.0.0.0").pairs_allowed == "here"
    assert AppConfig.read([], {"SPACE_ID": "a/b"}).pairs_allowed == "here"
    assert AppConfig.read(["--host", "127.0.0.1"], {"SPACE_ID": "a/b"}).pairs_allowed == "here"
    assert AppConfig.read([], {"CITER_PAIRS": "any"}).pairs_allowed == "any"
    assert AppConfig.read(["--pairs", "fixed"], {"CITER_PAIRS": "any"}).pairs_allowed == "fixed"
    with pytest.raises(SettingError, match="give one of fixed, here, presets, any"):
        AppConfig.read(["--pairs", "all"], {})


def test_a_public_page_only_takes_what_is_here(here):
    public = offers(pairs="here")
    with pytest.raises(SettingError, match=r"files of Qwen2\.5-Coder 0\.5B / 1\.5B are not here"):
        public.check(CODER, "bfloat16", PAIR, "fake")
    row = next(row for row in public.listed(PAIR, "fake")["pairs"] if row["name"] == CODER)
    assert not row["is_allowed"] and row["n_missing"] == 2
    here |= {PRESETS[CODER].slm.source, PRESETS[CODER].llm.source}
    assert public.check(CODER, "bfloat16", PAIR, "fake") == (CODER, "bfloat16", "beside")
    assert not public.may_download


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"pairs": "fixed"}, "CITER_PAIRS=fixed"),
        ({"llm_server": LlmServer("http://host:8000/v1")}, "runs on a server of its own"),
    ],
)
def test_where_the_pair_stays_it_says_why(config, why):
    off = offers(**config)
    assert why in off.why_off and off.listed(PAIR, "fake")["pairs"] == []
    with pytest.raises(SettingError, match=why):
        off.check("embedded", "", None, "")


def test_on_zero_gpu_the_pair_stays(monkeypatch):
    monkeypatch.setattr(pair_offers, "spaces_module", lambda: pair_offers)
    assert "ZeroGPU" in offers().why_off


def test_models_of_ones_own_need_a_setting():
    with pytest.raises(SettingError, match="CITER_PAIRS=any"):
        offers(pairs="presets").check("org/a,org/b", "float32", PAIR, "fake")
    # Of their size nothing is known, so the loaded pair makes way first.
    assert offers(pairs="any").check(" org/a,org/b ", "float32", PAIR, "fake") == ("org/a,org/b", "float32", "after")


@pytest.mark.parametrize(
    ("pair", "dtype", "error"),
    [
        (None, "", SettingError),
        (["embedded"], "", SettingError),
        ("embedded", 5, SettingError),
        ("x" * 10_000, "", SettingError),
        ("no-such-pair", "", PairError),
        ("embedded", "bfloat16", SettingError),
        (CODER, "int3", SettingError),
    ],
)
def test_a_browser_may_send_anything(pair, dtype, error):
    with pytest.raises(error):
        offers(pairs="any").check(pair, dtype, PAIR, "fake")


def test_the_loaded_pair_is_not_loaded_again():
    loaded = dataclasses.replace(PAIR, name=PRESETS[CODER].title, dtype="bfloat16")
    with pytest.raises(SettingError, match="is loaded already, in bfloat16"):
        offers(pairs="presets").check(CODER, "bfloat16", loaded, CODER)
    assert offers(pairs="presets").check(CODER, "float32", loaded, CODER)[1] == "float32"


@pytest.mark.parametrize(
    ("free", "old", "room"),
    [(1000, 0, "beside"), (999, 0, "none"), (900, 100, "after"), (900, 99, "none"), (None, 0, "beside")],
)
def test_room(free, old, room):
    assert room_for(PairNeeds(0, 0, False, 800, 1000), free, old) == room


def test_too_large_a_pair_says_what_it_needs_and_what_there_is():
    with pytest.raises(SettingError, match=r"needs 1\d\d\.\d GB in bfloat16, and 16\.0 GB would be free"):
        offers(pairs="presets").check("qwen2-1.5b-72b", "bfloat16", None, "")


def test_loaded_bytes_are_the_weights():
    assert loaded_bytes(PAIR) == 4 * (SLM.n_params + LLM.n_params) and loaded_bytes(None) == 0


def test_needs_of_a_pair_that_is_not_here(here):
    preset = PRESETS[CODER]
    nothing_here = needs_of(CODER, "bfloat16")
    assert (nothing_here.n_missing, nothing_here.fetch_bytes) == (2, 491_400_064 + 1_117_320_768)
    weights = model_bytes(preset.slm.spec, "bfloat16") + model_bytes(preset.llm.spec, "bfloat16")
    assert nothing_here.memory_bytes == pytest.approx(1.1 * weights)
    assert nothing_here.converts and nothing_here.peak_bytes == 6 * preset.llm.spec.n_params
    here.add(preset.slm.source)
    assert (needs_of(CODER, "bfloat16").n_missing, needs_of(CODER, "bfloat16").fetch_bytes) == (1, 1_117_320_768)
    assert needs_of(CODER, "float32").memory_bytes > 1.9 * nothing_here.memory_bytes
    assert needs_of("org/a,org/b", "float32") == PairNeeds(2, None, False, None, None)


def test_a_conversion_is_remembered(tmp_path):
    for model in (PRESETS[CODER].slm, PRESETS[CODER].llm):
        folder = tmp_path / "converted" / f"{model.source.short_name}-0123-bfloat16-{CONVERSION}"
        folder.mkdir(parents=True)
        (folder / "citer.json").write_text("{}")
    assert not needs_of(CODER, "bfloat16").converts and needs_of(CODER, "float32").converts


def test_every_row_has_what_the_picker_shows():
    listed = offers(pairs="presets").listed(PAIR, "fake")
    assert [row["name"] for row in listed["pairs"]] == list(PRESETS)
    rows = {row["name"]: row for row in listed["pairs"]}
    assert set(rows["embedded"]["variants"]) == {"float32"}
    assert "citer" in rows["embedded"]["routers"] and rows["embedded"]["is_bundled"]
    assert rows["llama3.1-8b-70b"]["is_gated"] and rows["llama3.1-8b-70b"]["licences"] == ["Llama 3.1 Community"]
    assert rows["qwen2-1.5b-72b"]["variants"]["bfloat16"]["room"] == "none"
    assert rows[CODER]["n_params"] == [630_167_424, 1_777_088_000]


def test_a_trace_names_its_preset():
    assert preset_of("Bundled pair") == "embedded" and preset_of("anything else") is None
