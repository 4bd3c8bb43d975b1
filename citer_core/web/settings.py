"""`WebSettings`: how the page is published: names it answers to, who may frame it, passwords, the form of its log.

Reads the mapping of variables that it is given, never the environment itself: `config.AppConfig` does that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from citer_core.errors import SettingError

LogForm = Literal["text", "json"]
# Who shows a Space inside a page of its own: the hub, and the Space's direct address.
SPACE_FRAMES = ("'self'", "https://huggingface.co", "https://*.hf.space")
MAX_NAMES = 64
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(:\d{1,5})?")
_FRAME = re.compile(r"'self'|'none'|https?://(\*\.)?[a-z0-9._-]{1,253}(:\d{1,5})?")
_ACCOUNT = re.compile(r"[!-9;-~]{1,64}:[!-+\--~]{8,128}")


@dataclass(frozen=True, slots=True)
class WebSettings:
    """How a server is published.

    Attributes:
        allowed_hosts: names, each with or without a port, that requests may be addressed to; lower case. Those of this
            machine itself are always allowed. Empty: only this machine's where the page is served on loopback, any
            where it is served to others.
        is_proxied: a proxy that we trust stands in front, so that what it says about the address that the visitor sees
            (`X-Forwarded-Host`, `X-Forwarded-Proto`) is believed.
        frame_ancestors: who may show the page in a frame, as a Content-Security-Policy spells it.
        accounts: (user, password) of everybody who may log in; empty needs no login. Never shown.
        log_form: `text` for people, `json` for one object a line.

    Raises:
        SettingError: a value that cannot be used. No password is ever in the message.
    """

    allowed_hosts: tuple[str, ...] = ()
    is_proxied: bool = False
    frame_ancestors: tuple[str, ...] = ("'self'",)
    accounts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    log_form: LogForm = "text"

    def __post_init__(self) -> None:
        if len(self.allowed_hosts) > MAX_NAMES or not all(map(_HOST.fullmatch, self.allowed_hosts)):
            raise SettingError(
                "CITER_ALLOWED_HOSTS: give up to 64 names with a comma between them, such as "
                "citer.example.org,10.0.0.5:7860; no https:// and no path."
            )
        frames = self.frame_ancestors
        if not 0 < len(frames) <= MAX_NAMES or not all(map(_FRAME.fullmatch, frames)):
            raise SettingError(
                "CITER_FRAME_ANCESTORS: give 'self', 'none' or origins such as https://example.org, with spaces "
                "between them."
            )
        if self.log_form not in get_args(LogForm):
            raise SettingError("CITER_LOG: give text or json.")

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> WebSettings:
        """What the variables say; see assets/docs/security.md for each.

        Raises:
            SettingError: see above.
        """
        on_space = bool(environment.get("SPACE_ID"))
        proxied = environment.get("CITER_PROXY") or ("1" if on_space else "0")
        if proxied not in ("0", "1"):
            raise SettingError("CITER_PROXY: give 1 where a proxy that you trust stands in front, else 0.")
        frames = environment.get("CITER_FRAME_ANCESTORS", "").lower().split()
        return cls(
            allowed_hosts=tuple(
                name.strip() for name in environment.get("CITER_ALLOWED_HOSTS", "").lower().split(",") if name.strip()
            ),
            is_proxied=proxied == "1",
            frame_ancestors=tuple(frames) or (SPACE_FRAMES if on_space else ("'self'",)),
            accounts=_accounts(environment.get("CITER_AUTH", "")),
            log_form=cast(LogForm, environment.get("CITER_LOG") or "text"),
        )


def _accounts(text: str) -> tuple[tuple[str, str], ...]:
    accounts = []
    for entry in text.split(",") if text else []:
        if not _ACCOUNT.fullmatch(entry):
            raise SettingError(
                "CITER_AUTH: give user:password, several with a comma between them; a name of up to 64 and a password "
                "of 8 to 128 visible ASCII characters, without a comma."
            )
        user, _, password = entry.partition(":")
        accounts.append((user, password))
    if len({user for user, _ in accounts}) != len(accounts):
        raise SettingError("CITER_AUTH names a user twice: give each once.")
    return tuple(accounts)
