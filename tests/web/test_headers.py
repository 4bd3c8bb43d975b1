"""Security headers of every answer, and the policy of the page."""

from __future__ import annotations

import base64
import gzip
import hashlib

import pytest

from citer_core.web.page_policy import PagePolicy
from citer_core.web.security_headers import SecurityHeaders
from citer_core.web.settings import SPACE_FRAMES
from tests.web.asgi import Inner, ask

CSP = "content-security-policy"


def hash_of(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


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
    assert "camera=()" in answer.headers["permissions-policy"] and answer.headers["referrer-policy"] == "same-origin"
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


def test_the_page_names_its_own_scripts_and_no_other() -> None:
    page = (
        b"<script>one()</script><script data-x='1'>\n two();\n</script><script type=module src=./a.js></script>"
        b'<img onerror="three()"><style>p {}</style>'
    )
    inner = Inner(content_type="text/html; charset=utf-8", content=page.replace(b"one()", b"zero()"))
    app = PagePolicy(inner, lambda document: document.replace(b"zero()", b"one()"), ("'self'",))
    answer = ask(app, "/")
    assert answer.body == page and int(answer.headers["content-length"]) == len(page)
    packed = ask(app, "/", headers={"Accept-Encoding": "gzip, br"})
    assert gzip.decompress(packed.body) == page and packed.headers[CSP] == answer.headers[CSP]
    assert packed.headers["content-encoding"] == "gzip" and packed.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) == len(packed.body) and "content-encoding" not in answer.headers
    policy = dict(part.split(" ", 1) for part in answer.headers[CSP].split("; "))
    assert policy["script-src"].split() == [
        "'self'", "'unsafe-eval'", hash_of("one()"), hash_of("\n two();\n"),
    ]  # fmt: skip
    assert policy["default-src"] == "'none'" and policy["base-uri"] == policy["form-action"] == "'self'"
    assert policy["connect-src"] == "'self'" and "object-src" not in policy, "the default forbids it"


def test_what_is_no_page_gets_no_policy_of_one() -> None:
    app = PagePolicy(Inner(), lambda document: document + b"changed", ("'self'",))
    assert CSP not in (answer := ask(app, "/config")).headers and b"changed" not in answer.body
