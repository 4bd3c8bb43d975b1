"""`LoginFirst`: where the page has a password, only visitors who have logged in are answered, and only theirs is read.

Who asks for the page itself is shown where to log in. Knows no password and no cookie: who built the page says whether
a request is of a visitor who has logged in. Put before `bodies`.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from citer_core.html_page import hash_of, html_page
from citer_core.web.open_routes import OPENING
from citer_core.web.refusal import refuse, route_path
from citer_core.web.security_headers import POLICY

LOG_IN = "Log in first: this server asks for a name and a password."
_SCRIPT = """
document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = document.querySelector("p");
  const body = new URLSearchParams(new FormData(event.target));
  const answer = await fetch("login", { method: "POST", body }).catch(() => null);
  if (answer?.ok) location.reload();
  else if (answer?.status === 429) said.textContent = (await answer.json()).detail;
  else said.textContent = answer ? "This name and password do not belong together." : "The server was not reached.";
});
"""
_STYLE = """<style>
:root { color-scheme: light dark; }
body { display: grid; place-content: center; min-height: 90vh; margin: 0; font: 16px/1.5 system-ui, sans-serif; }
form { display: grid; gap: 12px; width: 18rem; }
label { display: grid; gap: 4px; }
input, button { font: inherit; padding: 8px 12px; }
</style>"""
_FORM = f"""<main><h1>CITER</h1><form method="post" action="login">
<label>Username<input name="username" autocomplete="username" required autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<button>Log in</button><p role="alert"></p></form></main><script>{_SCRIPT}</script>"""
_PAGE = html_page("Log in - CITER", _STYLE, _FORM)
_POLICY = (
    f"default-src 'none'; script-src {hash_of(_SCRIPT)}; style-src 'unsafe-inline'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)


class LoginFirst:
    """Middleware.

    Args:
        app: what is asked by those who have logged in.
        is_known: whether a request comes from a visitor who has logged in.
    """

    def __init__(self, app: ASGIApp, is_known: Callable[[Scope], bool]) -> None:
        self._app, self._is_known = app, is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets through known visitors, and what is open."""
        if not scope[OPENING].is_guarded or self._is_known(scope):
            await self._app(scope, receive, send)
        elif route_path(scope) == "/":
            await HTMLResponse(_PAGE, 401, {POLICY: _POLICY, "Cache-Control": "no-store"})(scope, receive, send)
        else:
            await refuse(scope, receive, send, 401, LOG_IN)
