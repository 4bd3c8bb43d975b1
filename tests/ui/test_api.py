"""The documented endpoint, as a program calls it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from citer_core.trace import RoutingTrace
from tests.ui.conftest import Served

pytestmark = pytest.mark.ui


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    """A client of the shared server."""
    served.slot.wait(30)
    client = Client(served.url, verbose=False)
    yield client
    client.close()


def test_the_endpoint_gives_a_trace_that_we_can_read(client: Client, served: Served) -> None:
    document = client.predict("What is 6 times 7?", "math", 0.5, "max-probability", 64, 1, api_name="/route_trace")
    trace = RoutingTrace.from_dict(document)
    assert trace.finish_reason == "eos"
    assert trace.settings.threshold == 0.5 and trace.router.name == "max-probability"
    assert trace.completion == served.engine.runs[-1].trace().completion


def test_snapshots_grow_until_the_trace_is_complete(client: Client) -> None:
    job = client.submit(question="A long story.", max_new_tokens=40, api_name="/route_trace")
    snapshots = [RoutingTrace.from_dict(document) for document in job]
    lengths = [snapshot.n_tokens for snapshot in snapshots]
    assert len(snapshots) >= 3 and lengths == sorted(lengths) and lengths[-1] == 40
    assert [snapshot.finish_reason for snapshot in snapshots[:-1]] == [None] * (len(snapshots) - 1)
    assert snapshots[-1].finish_reason == "length"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": ""}, "is empty"),
        ({"question": "x" * 100_000}, "100,000 characters"),
        ({"question": "1 + 1?", "threshold": 1.5}, "from 0 to 1"),
        ({"question": "1 + 1?", "threshold": "high"}, "from 0 to 1"),
        ({"question": "1 + 1?", "router": "nobody"}, "no router"),
        ({"question": "1 + 1?", "data_type": "poem"}, "data_type"),
        ({"question": "1 + 1?", "max_new_tokens": 0}, "from 1 to 4096"),
        ({"question": 7}, "text"),
    ],
)
def test_bad_arguments_are_named(client: Client, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(AppError, match=message):
        client.predict(**arguments, api_name="/route_trace")


def test_only_this_endpoint_is_documented(client: Client) -> None:
    endpoints = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert list(endpoints) == ["/route_trace"]
    names = [parameter["parameter_name"] for parameter in endpoints["/route_trace"]["parameters"]]
    assert names == ["question", "data_type", "threshold", "router", "max_new_tokens", "seed", "temperature"]
    assert "tau" in str(endpoints["/route_trace"])
