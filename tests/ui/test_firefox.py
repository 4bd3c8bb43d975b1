"""The page and the static site in Firefox: they draw, move tau, generate and open every view, without a complaint."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citer_core.trace import RoutingTrace
from citer_core.ui.build import build_site
from tests.fakes import FakeEngine
from tests.firefox import ROOT, provide_driver, provide_firefox
from tests.ui.conftest import Served, script
from tests.ui.test_static_site import hosted

pytestmark = [pytest.mark.ui, pytest.mark.firefox]
# Each view with something that it shows when it is drawn.
OF_FILES = {"compare": ".cq-column .cq-t", "evidence": ".ce-plot[data-drawn]", "learn": ".cx-guess"}
OF_PAGE = {**OF_FILES, "labels": ".cl-text .cl-t", "profile": ".citer-profile .cl-plot", "api": ".cx-endpoints"}


@pytest.fixture(scope="module")
def firefox() -> Path:
    found = provide_firefox()
    if found is None:
        pytest.skip("Firefox is not here and could not be installed: install firefox-esr, or set FIREFOX")
    if not provide_driver():
        pytest.skip("puppeteer-core is not here and could not be installed: node and npm ci")
    return found


def visited(firefox: Path, url: str, views: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        ["node", "tests/ui/firefox_visit.mjs"],
        input=json.dumps({"firefox": str(firefox), "url": url, "views": views}),
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any], views: dict[str, str]) -> None:
    trace = RoutingTrace.from_json(json.dumps(found["trace"]))
    assert found["atZero"] == {"writers": ["slm"], "nGuessed": 0}
    assert trace.n_tokens > 0 and trace.settings.threshold == 0 and "Firefox" in trace.record.hardware
    assert found["views"] == dict.fromkeys(views, 0), "pixels by which a view is wider than the window"
    assert found["complaints"] == []


def test_the_static_site(firefox: Path, tmp_path: Path) -> None:
    build_site(tmp_path, {})
    with hosted(tmp_path) as url:
        check(visited(firefox, url, OF_FILES), OF_FILES)


def test_the_page(firefox: Path, make_server: Callable[..., Served]) -> None:
    served = make_server(FakeEngine(script))  # whose models do not come: the bundled pair's runs are the browser's
    check(visited(firefox, served.url, OF_PAGE), OF_PAGE)
    served.may_load.set()
    assert not served.engine.runs
