"""How a server is published, read from variables."""

from __future__ import annotations

import pytest

from citer_core.config import AppConfig, LlmServer
from citer_core.errors import SettingError
from citer_core.web.settings import SPACE_FRAMES, WebSettings

KEY = "sk-secret-12345"


def test_nothing_is_opened_unless_it_is_set() -> None:
    config = AppConfig.read(environment={})
    assert config.web == WebSettings() and not config.mcp
    assert not config.web.accounts and not config.web.is_proxied and config.web.frame_ancestors == ("'self'",)


def test_each_variable_is_read() -> None:
    web = WebSettings.read(
        {
            "CITER_ALLOWED_HOSTS": "Citer.example.org, 10.0.0.5:7860",
            "CITER_PROXY": "1",
            "CITER_FRAME_ANCESTORS": "'self' https://school.example",
            "CITER_AUTH": "ann:correct-horse,bob:battery:staple",
            "CITER_LOG": "json",
        }
    )
    assert web == WebSettings(
        ("citer.example.org", "10.0.0.5:7860"), True, ("'self'", "https://school.example"),
        (("ann", "correct-horse"), ("bob", "battery:staple")), "json",
    )  # fmt: skip
    assert "horse" not in repr(web)


def test_a_space_is_framed_and_proxied() -> None:
    web = WebSettings.read({"SPACE_ID": "team/citer"})
    assert web.frame_ancestors == SPACE_FRAMES and web.is_proxied
    assert not AppConfig.read(environment={"SPACE_ID": "team/citer"}).mcp


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CITER_ALLOWED_HOSTS", "https://a.example"), ("CITER_ALLOWED_HOSTS", "a/b"), ("CITER_ALLOWED_HOSTS", "*"),
        ("CITER_PROXY", "yes"), ("CITER_FRAME_ANCESTORS", "*"), ("CITER_FRAME_ANCESTORS", "https://a; script-src *"),
        ("CITER_AUTH", "ann"), ("CITER_AUTH", "ann:short"), ("CITER_AUTH", ":secret-password"),
        ("CITER_AUTH", "ann:secret-password,ann:secret-passwore"), ("CITER_AUTH", "ann:secret pass\nword"),
        ("CITER_LOG", "xml"), ("CITER_MCP", "2"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_named_without_its_secret(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name) as caught:
        AppConfig.read(environment={name: value})
    assert "secret" not in str(caught.value)


def test_mcp_and_a_password_do_not_go_together() -> None:
    with pytest.raises(SettingError, match="CITER_MCP=1 and CITER_AUTH"):
        AppConfig.read(environment={"CITER_MCP": "1", "CITER_AUTH": "ann:correct-horse"})


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}\r\nX-Evil: 1", f"{KEY} x", f"{KEY}\u00e9", KEY * 1000])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(SettingError, match="CITER_LLM_API_KEY") as caught:
        LlmServer.read("http://host:8000/v1", None, None, {"CITER_LLM_API_KEY": key})
    assert KEY not in str(caught.value)
    for text in (KEY, f"{KEY}\n"):  # a file's last line feed is no part of the key
        assert LlmServer("http://host:8000/v1", api_key=text).api_key == KEY
