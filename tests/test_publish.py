"""The chapter on publishing says what is so: its variables are read, its files use them, and a path is checked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from citer_core.config import AppConfig
from citer_core.errors import SettingError
from tests.reverse_proxy import CHAPTER, block

ROOT = Path(__file__).parents[1]
TEXT = CHAPTER.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/demo", "/apps/citer-2", "/~a.b"])
def test_a_path_is_taken(path):
    assert AppConfig.read(environment={"CITER_ROOT_PATH": path}).root_path == path


@pytest.mark.parametrize(
    "path", ["demo", "/demo/", "//demo", "/a b", "https://example.org/demo", "/" + "a" * 65, "/a\n"]
)
def test_what_is_no_path_is_refused_in_words(path):
    with pytest.raises(SettingError, match="such as /demo"):
        AppConfig.read(environment={"CITER_ROOT_PATH": path})


def test_without_one_gradio_decides_and_an_empty_one_is_the_root():
    assert AppConfig.read(environment={}).root_path is None
    assert AppConfig.read(environment={"CITER_ROOT_PATH": ""}).root_path == ""


def test_every_variable_of_the_chapter_is_read():
    pytest.importorskip("citer_core.web.settings")
    readers = "".join(
        (ROOT / "citer_core" / name).read_text(encoding="utf-8") for name in ("config.py", "web/settings.py")
    )
    named = set(re.findall(r"\bCITER_[A-Z_]+\b", TEXT))
    assert {"CITER_PROXY", "CITER_ROOT_PATH", "CITER_ALLOWED_HOSTS"} <= named
    assert [name for name in sorted(named) if f'"{name}"' not in readers] == []


def test_the_service_and_the_proxy_agree():
    (path,) = re.findall(r"CITER_ROOT_PATH=(\S+)", block("ini"))
    (host,) = re.findall(r"CITER_ALLOWED_HOSTS=(\S+)", block("ini"))
    assert f"location {path}/ {{" in block("nginx") and f"server_name {host};" in block("nginx")
    assert "CITER_PROXY=1" in block("ini") and "ip_hash;" in block("nginx-replicas")
    assert "assets/docs/publish.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_memory_that_the_chapter_tells_is_what_was_measured():
    stored = json.loads((ROOT / "assets/benchmarks/soak.json").read_text(encoding="utf-8"))
    for when in ("loaded", "after"):
        assert f"{stored[when]['rss_bytes'] / 1e9:.2f} GB" in TEXT


def test_what_a_space_refuses_of_a_plain_push_goes_by_the_command_of_the_chapter():
    """The hub refuses binary files that git sends, and all above 10 MB."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]
    binary = {file.suffix for file in files if b"\0" in file.read_bytes()[:8000]}
    assert binary == {".safetensors", ".png"} and max(file.stat().st_size for file in files) < 10_000_000
    (command,) = re.findall(r"^ +(hf upload .*)$", TEXT, re.MULTILINE)
    usage = subprocess.run(
        [sys.executable, "-m", "huggingface_hub.cli.hf", "upload", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for flag in re.findall(r"--[a-z-]+", command):
        assert flag in usage, flag
