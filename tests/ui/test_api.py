"""The documented endpoints, as a program calls them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from citer_core.assets import ASSETS
from citer_core.decode_settings import DecodeSettings
from citer_core.replay import replay
from citer_core.routing.probe import ProbedToken
from citer_core.trace import RoutingTrace
from citer_core.types import Candidate
from citer_core.ui.views import CURL_EXAMPLE, PYTHON_EXAMPLE
from tests.traces import recorded
from tests.ui.serving import Served

pytestmark = pytest.mark.ui


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    """A client of the shared server."""
    served.slot.wait(30)
    client = Client(served.url, verbose=False)
    yield client
    client.close()


def test_the_endpoint_gives_a_trace_that_we_can_read(client: Client, served: Served) -> None:
    text = client.predict(
        "What is 6 times 7?", "math", '{"threshold": 0.5, "temperature": 0.4, "top_p": 0.9}', "max-probability",
        api_name="/route_trace",
    )  # fmt: skip
    trace = RoutingTrace.from_json(text)
    assert trace.to_json() == text
    assert trace.finish_reason == "eos"
    assert trace.settings == DecodeSettings(0.5, temperature=0.4, top_p=0.9)
    assert trace.router.name == "max-probability"
    assert trace.completion == served.engine.runs[-1].trace().completion


def test_snapshots_grow_until_the_trace_is_complete(client: Client) -> None:
    job = client.submit(question="A long story.", settings='{"max_new_tokens": 40}', api_name="/route_trace")
    snapshots = [RoutingTrace.from_json(text) for text in job]
    lengths = [snapshot.n_tokens for snapshot in snapshots]
    assert len(snapshots) >= 3 and lengths == sorted(lengths) and lengths[-1] == 40
    assert [snapshot.finish_reason for snapshot in snapshots[:-1]] == [None] * (len(snapshots) - 1)
    assert snapshots[-1].finish_reason == "length"


def test_a_run_is_replayed_by_trace_and_by_name(client: Client) -> None:
    text = client.predict("What is 6 times 7?", "math", '{"threshold": 0.5}', api_name="/route_trace")
    again = json.loads(client.predict(text, 0.95, api_name="/replay"))
    assert again == replay(RoutingTrace.from_json(text), 0.95).to_dict()
    presets = json.loads(client.predict(api_name="/list_presets"))
    assert [entry["preset"] for entry in presets][:2] == ["bakery", "bakery-slm"]
    named = json.loads(client.predict(preset="bakery", threshold=presets[0]["threshold"], api_name="/replay"))
    assert named["first_flip"] is None and named["n_tokens"] == presets[0]["n_tokens"]
    assert named["llm_token_share"] == pytest.approx(presets[0]["llm_token_share"], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Give a trace as JSON text, or as preset one of: bakery"),
        ({"preset": "../index"}, '"../index", is not one of them'),
        ({"trace": {"schema": "citer-trace"}}, "This is an object, not text"),
    ],
)
def test_bad_replays_are_named(client: Client, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(AppError, match=message):
        client.predict(**arguments, api_name="/replay")


@pytest.fixture
def probing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted pair has no models: a probe that answers by itself. The real one is in tests/core/test_probe.py."""

    def probe_trace(pair: object, trace: RoutingTrace) -> list[ProbedToken]:
        return [
            ProbedToken((), (Candidate(e.token_id, e.text, 0.9),), 0.5, 0.5, 0.25, agree=True) for e in trace.events
        ]

    monkeypatch.setattr("citer_core.routing.probe.probe_trace", probe_trace)


def test_a_probe_answers_for_every_token(client: Client, probing: None) -> None:
    text = client.predict(question="1 + 1?", api_name="/route_trace")
    document, probed = json.loads(text), json.loads(client.predict(text, api_name="/probe"))
    assert len(probed) == len(document["events"])
    first = document["events"][0]
    assert probed[0] == {
        "slm_top": [], "llm_top": [[first["token_id"], first["text"], 0.9]], "slm_entropy": 0.5, "llm_entropy": 0.5,
        "kl": 0.25, "agree": True,
    }  # fmt: skip


def test_a_recorded_run_is_answered_with_its_stored_probe(client: Client) -> None:
    trace = RoutingTrace.from_json((ASSETS / "traces" / "capital.json").read_text(encoding="utf-8"))
    probed = json.loads(
        client.predict(preset="capital", api_name="/probe")
    )  # no `probing`: the scripted pair could not answer
    assert [token["slm_top"][0][0] for token in probed] == [event.slm_top[0].token_id for event in trace.events]
    asked = [event.index for event in trace.events if event.source == "llm"]
    assert [probed[i]["llm_top"][0][0] for i in asked] == [trace.events[i].llm_top[0].token_id for i in asked]


def test_the_examples_of_the_page_run(
    client: Client, served: Served, probing: None, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(PYTHON_EXAMPLE.replace("http://127.0.0.1:7860", served.url.rstrip("/")), {})
    assert "tokens that stay the same, exactly:" in capsys.readouterr().out
    if shutil.which("curl") is None:
        return
    example = CURL_EXAMPLE.replace("http://127.0.0.1:7860", served.url.rstrip("/"))
    done = subprocess.run(["bash", "-c", example], capture_output=True, text=True, check=True, timeout=60)
    first = replay(recorded("bakery"), 0.5).first_flip
    assert "event: complete" in done.stdout and f'\\"first_flip\\":{first},' in done.stdout
