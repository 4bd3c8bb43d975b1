"""The wheel, installed where there is no clone: command line and page work from an empty folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.forked import Forked, anew
from tests.http_visitor import free_port

ROOT = Path(__file__).parents[1]
QUESTION = "Hana earns 11 dollars per hour and works 5 hours a day for 5 days. How many dollars does Hana earn?"

STORED = "--config-settings=--build-option=--compression=stored"  # half the time of a build
# As `program` does it in its own environment, but what it needs of others has been imported.
INSTALLED = anew("citer_core") + "sys.path.insert(0, sys.argv.pop(1))\n"


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of what the project's folder holds, because setuptools writes beside what it reads."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("assets", "citer_core"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "app.py", "pyproject.toml", "requirements.txt", "setup.py"):
        shutil.copy(ROOT / name, source / name)
    pip("wheel", source, "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", out, STORED)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """`citer` in an environment of its own that holds the wheel; what it needs is read from this one's."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder / "bin" / "citer"


@pytest.fixture
def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GRADIO_", "PORT"))}
    return {**kept, "OMP_NUM_THREADS": "1"}


def test_all_assets_are_in_it_and_nothing_else_is_beside_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    there = {path.relative_to(ROOT / "assets").as_posix() for path in (ROOT / "assets").rglob("*") if path.is_file()}
    assert {name.removeprefix("citer_core/data/") for name in names if name.startswith("citer_core/data/")} == there
    assert "citer_core/app.py" in names and "citer_core/ui/server.py" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"citer_core", "citer"}


def test_a_question_in_the_terminal(program, environment, tmp_path):
    """By the installed program, and without what only the page needs."""
    command = [program.with_name("python"), "-X", "importtime", program, "route", "--question", QUESTION]
    command += ["--threshold", "0.7", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"]["predicted_answer"] == "275"
    assert list(tmp_path.iterdir()) == []
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"torch", "citer_core"} <= imported and not {"gradio", "plotly"} & imported


def test_the_page(program, environment, tmp_path):
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        packages = str(*program.parents[1].glob("lib/python*/site-packages"))
        code = INSTALLED + program.read_text(encoding="utf-8")
        arguments = (packages, "app", "--port", str(port))
        process = Forked(code, *arguments, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while "CITER is served on" not in (said := (tmp_path / "log").read_text(encoding="utf-8")):
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.1)
        url = f"http://127.0.0.1:{port}/"
        found = re.findall(r"citer/page-\w+\.js|citer/assets/\w+/app/favicon\.svg", httpx.get(url).text)
        assert {httpx.get(f"{url}{name}").status_code for name in found} == {200} and len({*found}) == 2
        assert "<h1>Evidence</h1>" in httpx.get(f"{url}citer/read/docs/evidence.md").text
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            process.kill()
    assert process.returncode == 130
