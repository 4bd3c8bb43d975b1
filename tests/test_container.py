"""The Dockerfile, without a container engine: its files, its settings, its command and its health check."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.http_visitor import free_port

ROOT = Path(__file__).parents[1]
# Gradio asked a proxy for 127.0.0.1, and could not even be imported beside one that it does not speak to.
PROXIES = {"http_proxy": "http://127.0.0.1:9", "ALL_PROXY": "socks5://127.0.0.1:9"}
NEEDS_ROOT = ("apt-get", "useradd")


def instructions() -> list[tuple[str, str]]:
    """(keyword, the rest) of each instruction, continued lines joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (keyword, rest.strip()) for keyword, _, rest in (line.partition(" ") for line in joined.split("\n") if line)
    ]


def rest_of(keyword: str) -> list[str]:
    return [rest for found, rest in instructions() if found == keyword]


def copied() -> list[tuple[Path, str]]:
    """(path in the repository, target) of every COPY."""
    pairs = []
    for rest in rest_of("COPY"):
        *sources, target = rest.split()
        pairs += [(ROOT / source, target) for source in sources]
    return pairs


def ignored(path: Path) -> bool:
    """What .dockerignore says of a path, whose last fitting line counts."""
    verdict = False
    relative = path.relative_to(ROOT).as_posix()
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.lstrip("!").removeprefix("**/")
        parts = [relative, *(str(parent) for parent in Path(relative).parents)]
        names = parts if "**/" not in line else Path(relative).parts
        if any(fnmatch.fnmatchcase(name, pattern) for name in names if name != "."):
            verdict = not line.startswith("!")
    return verdict


def environment() -> dict[str, str]:
    """What ENV sets."""
    return dict(word.split("=", 1) for rest in rest_of("ENV") for word in rest.split())


def command_of(rest: str) -> list[str]:
    """The list in CMD and HEALTHCHECK."""
    words: list[str] = json.loads(rest[rest.index("[") :])
    return words


def test_every_file_that_is_copied_is_there_and_is_sent_and_nothing_else_is():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert len(copied()) >= 5
    for source, _ in copied():
        assert source.exists() and not ignored(source), source
    if tracked:
        sent = {Path(name).parts[0] for name in tracked if not ignored(ROOT / name)}
        assert sent == {source.relative_to(ROOT).parts[0] for source, _ in copied()}
    assert ignored(ROOT / "assets/screenshot.png") and ignored(ROOT / "citer_core/ui/__pycache__/page.pyc")
    assert ignored(ROOT / ".git/config") and ignored(ROOT / "tests/fakes.py")


def test_it_is_pinned_runs_without_rights_and_listens_where_it_says():
    (base,) = [rest for rest in rest_of("ARG") if rest.startswith("BASE=")]
    assert re.fullmatch(r"BASE=python:3\.12\.\d+-slim-[a-z]+", base) and rest_of("FROM") == ["${BASE}"]
    (user,) = rest_of("USER")
    assert user.isdecimal() and int(user) > 0 and f"--uid {user}" in rest_of("RUN")[1]
    assert all("--no-cache-dir" in rest for rest in rest_of("RUN") if "pip install" in rest)
    assert environment()["PORT"] == rest_of("EXPOSE")[0]
    assert environment()["CITER_CACHE"] == rest_of("VOLUME")[0]
    (check,) = rest_of("HEALTHCHECK")
    assert "/healthz" in check and "--start-period" in check
    # The one command that starts the page, here and by hand.
    assert command_of(rest_of("CMD")[0]) == ["python", "app.py"]
    assert "app.py" in (ROOT / "Makefile").read_text(encoding="utf-8").split("app: setup\n")[1].split("\n")[0]
    chapter = (ROOT / "assets/docs/publish.md").read_text(encoding="utf-8")
    assert all(f"`{rest.partition('=')[0]}`" in chapter for rest in rest_of("ARG"))


def in_place(folder: Path) -> Path:
    """A folder with what the image would have in its working directory."""
    app = folder / "app"
    app.mkdir()
    for source, target in copied():
        if target.startswith("/"):
            continue
        place = app / (source.name if target == "./" else target)
        if source.is_file():
            shutil.copy(source, place)
            continue
        for path in sorted(source.rglob("*")):
            if path.is_file() and not ignored(path):
                (place / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place / path.relative_to(source))
    return app


@pytest.mark.slow
def test_what_is_copied_starts_and_the_health_check_says_so(tmp_path):
    """Beside proxies too, through which nothing goes to one's own address."""
    pytest.importorskip("citer_core.web.page_files")
    app, cache, port = in_place(tmp_path), tmp_path / "cache", free_port()
    (compiled,) = [rest for rest in rest_of("RUN") if "compileall" in rest]
    subprocess.run(["sh", "-c", compiled.replace("/opt/citer/bin/python", sys.executable)], cwd=app, check=True)
    before = {path for path in app.rglob("*") if path.is_file()}
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    settings = {**kept, **environment(), "PORT": str(port), "CITER_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    settings["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
    check = command_of(rest_of("HEALTHCHECK")[0])
    assert subprocess.run(check, env=settings, stderr=subprocess.DEVNULL, check=False).returncode != 0
    with (tmp_path / "log").open("wb") as log:
        command = command_of(rest_of("CMD")[0])
        server = subprocess.Popen(command, cwd=app, env=settings | PROXIES, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while "ready to generate" not in (tmp_path / "log").read_text(encoding="utf-8"):
            assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text(encoding="utf-8")
            time.sleep(0.2)
        assert subprocess.run(check, env=settings, check=False).returncode == 0
    finally:
        server.send_signal(getattr(__import__("signal"), rest_of("STOPSIGNAL")[0]))
        server.wait(60)
    assert {path for path in app.rglob("*") if path.is_file()} == before, "it writes into its own folder"


@pytest.mark.slow
def test_the_steps_run_in_order_in_a_place_of_their_own(tmp_path):
    """Those that need root are left out, and pip only looks whether every pin can be had."""
    app = in_place(tmp_path)
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    places = {"/opt/citer": str(tmp_path / "venv"), "/tmp/requirements.txt": str(tmp_path / "requirements.txt")}
    settings = {**os.environ, "PIP_DRY_RUN": "1", "PIP_NO_DEPS": "1", "TORCH_INDEX": ""}
    steps = [rest for rest in rest_of("RUN") if not any(word in rest for word in NEEDS_ROOT)]
    assert len(steps) == len(rest_of("RUN")) - 2 == 2
    for step in steps:
        for there, here in places.items():
            step = step.replace(there, here)
        subprocess.run(["sh", "-c", step], cwd=app, env=settings, check=True)
