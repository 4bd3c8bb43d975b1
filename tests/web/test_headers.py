"""Security headers of every answer, and the policy of the page."""

from __future__ import annotations

import gzip

import pytest
from starlette.applications import Starlette

from citer_core.web.page_files import page_route
from citer_core.web.security_headers import SecurityHeaders
from citer_core.web.settings import SPACE_FRAMES
from tests.web.asgi import Inner, ask

CSP = "content-security-policy"


def test_every_answer_has_them_and_no_foreign_page_may_read() -> None:
    inner = Inner(headers=((b"access-control-allow-origin", b"*"), (b"access-control-allow-credentials", b"true")))
    answer = ask(SecurityHeaders(inner, ("'self'",)), "/config")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert (
        answer.headers["cross-origin-opener-policy"] == answer.headers["cross-origin-resource-policy"] == "same-origin"
    )
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers[CSP].startswith("default-src 'none'; ") and "frame-ancestors 'self'" in answer.headers[CSP]
    assert (
        "microphone=()" in answer.headers["permissions-policy"] and answer.headers["referrer-policy"] == "same-origin"
    )
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(("frames", "old"), [(("'none'",), "DENY"), (SPACE_FRAMES, None)])
def test_who_may_frame_it_is_said_once(frames: tuple[str, ...], old: str | None) -> None:
    answer = ask(SecurityHeaders(Inner(), frames), "/")
    assert answer.headers.get("x-frame-options") == old
    assert answer.headers[CSP].endswith("frame-ancestors " + " ".join(frames))


def test_what_is_said_inside_is_kept() -> None:
    inner = Inner(headers=((b"cache-control", b"max-age=1"), (CSP.encode(), b"default-src 'self'")))
    answer = ask(SecurityHeaders(inner, ("'self'",)), "/citer/x.js")
    assert answer.headers["cache-control"] == "max-age=1" and answer.headers[CSP] == "default-src 'self'"


def test_the_page_has_its_policy_and_is_compressed_where_that_is_accepted() -> None:
    body, policy = b"<p>page</p>" * 99, "default-src 'none'; script-src 'sha256-x'"
    app = SecurityHeaders(Starlette(routes=[page_route(body, policy, SPACE_FRAMES)]), SPACE_FRAMES)
    answer, packed = ask(app, "/"), ask(app, "/", headers={"Accept-Encoding": "gzip, br"})
    assert answer.body == gzip.decompress(packed.body) == body and "content-encoding" not in answer.headers
    assert packed.headers["content-encoding"] == "gzip" and int(packed.headers["content-length"]) == len(packed.body)
    for one in (answer, packed):
        assert one.headers[CSP] == f"{policy}; frame-ancestors {' '.join(SPACE_FRAMES)}"
        assert one.headers["vary"] == "Accept-Encoding" and one.headers["cache-control"] == "no-cache"
    assert ask(app, "/", "HEAD").status == 200
