"""Machines as people have them: a proxy, no home, line ends of another system."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from pathlib import Path

import pytest

from citer_core.config import cache_folder
from citer_core.errors import SettingError
from citer_core.files import rescue
from citer_core.tasks.dataset_cache import resolve_dataset
from citer_core.web.before_gradio import without_proxies

ROOT = Path(__file__).parents[1]


def test_proxies_are_there_again_for_what_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    with without_proxies():
        assert "HTTPS_PROXY" not in os.environ
    assert os.environ["HTTPS_PROXY"] == "http://proxy.example"


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user id without a name."""

    def unknown(uid: int) -> None:
        raise KeyError(f"uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("HOME", "CITER_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_who_has_no_home_has_a_cache_of_his_own(homeless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cache_folder()
    assert folder == homeless / f"citer-{os.getuid()}" and folder.stat().st_mode & 0o777 == 0o700
    kept = rescue("x.json", b"{}")
    assert kept is not None and kept.parent == homeless
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (homeless / "citer-12345").mkdir()
    with pytest.raises(SettingError, match="another user's: set CITER_CACHE"):
        cache_folder()


def test_data_sets_are_kept_where_the_rest_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CITER_CACHE", str(tmp_path))
    place = tmp_path / "datasets" / "gsm8k" / "test.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("{}\n")
    assert resolve_dataset("gsm8k")[0] == place


def test_a_clone_with_line_ends_of_another_system_has_the_bytes_that_its_cards_name(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("config", "core.autocrlf", "true")
    files = [".gitattributes", "assets/models/slm/config.json", "assets/models/slm/model.safetensors"]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    git("add", ".")
    for name in files:
        (tmp_path / name).unlink()
    git("checkout", "--", ".")
    for name in files:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes(), name
