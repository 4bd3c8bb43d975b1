"""Names of pairs that a visitor may send: refused before anything is looked up where that is not allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from citer_core.config import AppConfig
from citer_core.errors import CiterError, PairError, SettingError
from citer_core.models.presets import parse_pair
from citer_core.models.sources import FolderSource, GgufSource, HubSource
from citer_core.ui.pair.offers import PairOffers

ODD = [
    "~nosuchuser/x,a/b", "a/b,~nosuchuser", "x" * 300, "a/b," + "x" * 300, "a/" + "y" * 300 + ",a/b",
    "a/b,org/name:" + "x" * 300 + ".gguf", "a\0b,a/b", "a\nb,a/b", "/" * 5000 + ",a/b", "\ud800,a/b", ",", "a/b,", "",
    "a/b,org/name:../../secret.gguf", "a/b,org/name:/etc/x.gguf", "é" * 200 + ",a/b",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_an_odd_name_is_a_calm_error(name):
    with pytest.raises(PairError) as caught:
        parse_pair(name)
    said = str(caught.value)
    assert len(said) < 500 and "xxxxx" * 20 not in said and "\0" not in said
    said.encode()


@pytest.mark.parametrize("mode", ["fixed", "here", "presets"])
@pytest.mark.parametrize("name", [*ODD, "/etc,/root"], ids=range(len(ODD) + 1))
def test_permission_comes_before_the_name(mode, name, monkeypatch):
    def looked(*_):
        raise AssertionError("the disk was looked at")

    for method in ("exists", "is_dir", "is_file", "expanduser"):
        monkeypatch.setattr(Path, method, looked)
    with pytest.raises(SettingError):
        PairOffers(AppConfig(pairs=mode)).check(name, "", None, "embedded")


@pytest.mark.parametrize("name", [None, 5, True, ["embedded"], {"a": 1}, "x" * 501])
def test_what_is_no_name_is_refused_in_every_mode(name):
    for mode in ("fixed", "here", "presets", "any"):
        with pytest.raises(CiterError):
            PairOffers(AppConfig(pairs=mode)).check(name, "", None, "embedded")
        with pytest.raises(CiterError):
            PairOffers(AppConfig(pairs=mode)).check("embedded", name, None, "embedded")


def test_ordinary_names_are_read_as_before(tmp_path):
    choice = parse_pair(f"org/small-1.5B, {tmp_path}")
    assert (choice.slm, choice.llm) == (HubSource("org/small-1.5B"), FolderSource(tmp_path))
    choice = parse_pair("org/name:folder/file-q4.gguf,local.gguf")
    assert (choice.slm, choice.llm) == (GgufSource("folder/file-q4.gguf", "org/name"), GgufSource("local.gguf"))
