"""The browser's engine in a real browser: a Web Worker on plain files decodes what node decodes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from citer_core.assets import ASSETS
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from tests.ui.serving import hosted

pytestmark = pytest.mark.ui
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"threshold": 0.93, "max_new_tokens": 40, "temperature": 0, "top_p": 1, "seed": 0}
# Loads, writes a run, moves tau six times and takes what the last position gives.
SCRIPT = """async ([root, request, taus]) => {
  const worker = new Worker(new URL("engine/worker.js", root), { type: "module" });
  const seen = [];
  const until = (found) =>
    new Promise((resolve) => {
      worker.onmessage = ({ data }) => {
        seen.push(data);
        if (data.kind === "failed") throw new Error(data.error);
        if (found(data)) resolve(data);
      };
    });
  const traceOf = (run) => {
    const own = seen.filter((message) => message.run === run);
    const events = own.flatMap((message) => message.tokens);
    return { ...own[0].head, events, finish_reason: own.at(-1).end.finish_reason };
  };
  worker.postMessage({ kind: "load", root, version: "0", hardware: "Chromium" });
  await until(({ kind }) => kind === "ready");
  worker.postMessage({ kind: "start", run: "base", request });
  await until(({ run, end }) => run === "base" && end);
  const start = performance.now();
  const back = { take_back: 0, take_back_below: 1, take_back_absolute: 0 };
  const dials = { ...back, doubt_budget: 0, look_every: 0, final_doubt: 0 };
  for (const threshold of taus)
    worker.postMessage({ kind: "move", run: `tau ${threshold}`, base: "base", dials: { ...dials, threshold } });
  const last = `tau ${taus.at(-1)}`;
  await until(({ run, end }) => run === last && end);
  const ended = performance.now() - start;
  worker.terminate();
  return { base: traceOf("base"), last: traceOf(last), ended };
}"""


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    with hosted(ASSETS) as url:
        yield url


def test_a_worker_in_chromium_writes_what_node_writes(browser: Browser, files: str) -> None:
    problem = bundled_rows("math")[0].problem
    prompt = {"data_type": "math", "question": problem.question, "text": problem.prompt, "version": 1}
    request = {"router": "citer", "settings": SETTINGS, "prompt": prompt}
    page = browser.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    page.goto(f"{files}app/favicon.svg")
    found = page.evaluate(SCRIPT, [files, request, [0.2, 0.5, 0.7, 0.9, 0.99, 1]])
    page.close()
    assert not failures
    orders = [{**request, "settings": {**SETTINGS, "threshold": tau}} for tau in (SETTINGS["threshold"], 1)]
    done = subprocess.run(
        ["node", "tests/viewer/engine_runs.mjs"],
        input=json.dumps({"runs": orders}), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for theirs, name in zip(json.loads(done.stdout)["runs"], ("base", "last"), strict=True):
        trace = RoutingTrace.from_json(json.dumps(found[name]))
        expected = RoutingTrace.from_json(json.dumps(theirs))
        assert trace.key == expected.key and trace.record.hardware == "Chromium"
        assert trace.events[0].slm_confidence == expected.events[0].slm_confidence
        assert [event.llm_tokens_fed for event in trace.events] == [event.llm_tokens_fed for event in expected.events]
    assert found["last"]["settings"]["threshold"] == 1
