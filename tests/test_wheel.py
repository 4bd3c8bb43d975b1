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
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.forked import Forked, anew
from tests.http_visitor import HttpVisitor, free_port

ROOT = Path(__file__).parents[1]
QUESTION = "Hana earns 11 dollars per hour and works 5 hours a day for 5 days. How many dollars does Hana earn?"

STORED = "{'--build-option': '--compression=stored'}"  # half the time of a build
BUILD = f"import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1], {STORED})"


def run(*command, **how):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of what the project's folder holds, because setuptools writes beside what it reads."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("assets", "citer_core"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "app.py", "pyproject.toml", "requirements.txt", "setup.py"):
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-c", BUILD, out, cwd=source)
    (built,) = out.iterdir()
    return built


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


@pytest.mark.slow
def test_a_question_in_the_terminal(wheel, environment, tmp_path):
    """By the installed program, and without what only the page needs; what it needs is read from this environment."""
    place, folder = tmp_path / "environment", tmp_path / "empty"
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    python, program = place / "bin" / "python", place / "bin" / "citer"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    folder.mkdir()
    asked = ("route", "--question", QUESTION, "--threshold", "0.7", "--json")
    done = run(python, "-X", "importtime", program, *asked, cwd=folder, env=environment)
    assert json.loads(done.stdout)["answer"]["predicted_answer"] == "275"
    assert list(folder.iterdir()) == []
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"torch", "citer_core"} <= imported and not {"gradio", "plotly"} & imported


def test_the_page(wheel, environment, tmp_path):
    """By what the wheel names as its program, in a process that has read everything but this project."""
    packages, port = tmp_path / "packages", free_port()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (installed,) = distributions(path=[str(packages)])
    (program,) = installed.entry_points
    code = anew("citer_core") + "sys.path.insert(0, sys.argv.pop(1))\n"
    code += f"from {program.module} import {program.attr}\nsys.exit({program.attr}())"
    with (tmp_path / "log").open("wb") as log:
        arguments = (str(packages), "app", "--port", str(port))
        process = Forked(code, *arguments, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while "CITER is served on" not in (said := (tmp_path / "log").read_text(encoding="utf-8")):
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.1)
        with HttpVisitor(f"http://127.0.0.1:{port}/") as visitor:
            found = {*re.findall(r"citer/page-\w+\.js|citer/assets/\w+/app/favicon\.svg", visitor.get("").text)}
            assert {visitor.get(name).status_code for name in found} == {200} and len(found) == 2
            assert "<h1>Evidence</h1>" in visitor.get("citer/read/docs/evidence.md").text
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            process.kill()
    assert process.returncode == 130
