"""What keeps the dashboard private: known Host and Origin headers, a token, a strict content policy."""

from __future__ import annotations

import time
from collections import deque
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.config.values.authority import Authority
from penstock.dashboard.serving.access import SESSION_SECONDS, Access, bearer_token

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
COOKIE: Final = "penstock_session"
_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with `no-referrer` browsers send `Origin: null` with the own forms
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LOGIN: Final = "/login"
_ACTIONS: Final = "/actions/"
_STATIC: Final = "/static/"
LONGEST_BODY: Final = 4096
_WRONG_TOKENS: Final = 10  # a minute, from one address
_WRONG_OF_ALL: Final = 1000  # a minute, of everybody together: an attacker can have many addresses
_WRONG_PAUSE: Final = 1.0  # seconds, before the login form says so
_TOO_MANY: Final = "Too many wrong tokens; wait a minute."


class Guard:
    """ASGI middleware around the whole application.

    A Host header that names neither this machine nor an allowed name is refused (421), so that a foreign page cannot
    reach the dashboard through a name that it rebinds to 127.0.0.1. The port is free, because of tunnels. Only GET and
    HEAD exist (405), which change nothing; POST is for logging in and, if they are allowed, for actions, and only from
    the dashboard's own pages (403, by the Origin header). With a token, everything but the style sheets asks for it
    (401). A session or the right token is always accepted: a token that can be guessed is refused at the start, and a
    limit that held for the right one would let anybody lock its owner out. Wrong tokens are counted as they are judged;
    after ten of them within a minute an address is only answered 429. Every answer carries the headers above; pages are
    never cached.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._wrong: deque[tuple[float, str]] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks one request and decorates its answer."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if self._access.secure:
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer: ASGIApp = self._app
        refusal = self._refusal(scope)
        if refusal is not None:
            answer = refusal
        elif self._access.token is not None and scope["path"] == _LOGIN:
            answer = await self._login(scope, receive)
        elif self._access.token is not None and not scope["path"].startswith(_STATIC):
            answer = self._asks_who(scope) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        host = Authority.parse(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._access.admits_host(host):
            return PlainTextResponse("This dashboard does not answer to that name; see --allow-host.\n", 421)
        path = scope["path"]
        if not path.startswith("/"):  # `GET http://another.host/`: a request to a proxy, and this is none
            return PlainTextResponse("This is no proxy; ask for a path.\n", 400)
        if scope["method"] in {"GET", "HEAD"}:
            return None
        takes_post = (path == _LOGIN and self._access.token is not None) or (
            path.startswith(_ACTIONS) and self._access.actions
        )
        if scope["method"] != "POST" or not takes_post:
            return PlainTextResponse("The dashboard only shows; use GET.\n", 405, headers={"Allow": "GET, HEAD"})
        if not _is_own_origin(headers.getlist("origin"), host, self._access.scheme):
            return PlainTextResponse("Only the dashboard's own pages may ask for this.\n", 403)
        return None

    def _asks_who(self, scope: Scope) -> Response | None:
        """Returns what to say to somebody who is not known; None to one who is."""
        headers = Headers(scope=scope)
        if self._access.is_session(_cookie(headers.get("cookie", ""))):
            return None
        if (given := bearer_token(headers)) is not None:
            if self._access.is_token(given):
                return None
            if self._is_one_too_many(scope):
                return PlainTextResponse(f"{_TOO_MANY}\n", 429, headers={"Retry-After": "60"})
        if scope["path"] == "/" or "text/html" in headers.get("accept", ""):
            return RedirectResponse(_LOGIN, 303)
        return PlainTextResponse(
            "Give the token: Authorization: Bearer …\n", 401, headers={"WWW-Authenticate": "Bearer"}
        )

    async def _login(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return _login_page("")
        given = parse_qs((await _body(receive)).decode("utf-8", "replace")).get("token", [""])[0]
        if not self._access.is_token(given.strip()):
            if self._is_one_too_many(scope):
                return _login_page(_TOO_MANY, 429)
            await anyio.sleep(_WRONG_PAUSE)
            return _login_page("That is not the token.", 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            COOKIE,
            self._access.session(),
            max_age=SESSION_SECONDS,
            httponly=True,
            secure=self._access.secure,
            samesite="strict",
        )
        return answer

    def _is_one_too_many(self, scope: Scope) -> bool:
        """Counts a wrong token and returns whether the limit was reached before it; awaits nothing in between."""
        now, address = time.monotonic(), _address(scope)
        while self._wrong and self._wrong[0][0] <= now - 60:
            self._wrong.popleft()
        of_address = sum(1 for _, other in self._wrong if other == address)
        if of_address >= _WRONG_TOKENS or len(self._wrong) >= _WRONG_OF_ALL:
            return True
        self._wrong.append((now, address))
        return False


def _address(scope: Scope) -> str:
    """The network address of who asks, without the port."""
    return str((scope.get("client") or [""])[0])


def _is_own_origin(origins: list[str], host: Authority, scheme: str) -> bool:
    """A browser names the page's origin with each POST; `null`, none and another one are refused."""
    if len(origins) != 1 or not origins[0].startswith(f"{scheme}://"):
        return False
    origin, usual = Authority.parse(origins[0].removeprefix(f"{scheme}://")), 443 if scheme == "https" else 80
    return origin is not None and (origin.host, origin.port or usual) == (host.host, host.port or usual)


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


async def _body(receive: Receive) -> bytes:
    """The request's body, cut off where no token can go on."""
    body = b""
    while len(body) <= LONGEST_BODY:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body[:LONGEST_BODY]


def _login_page(said: str, status: int = 200) -> Response:
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Log in · Penstock</title>'
        '<link rel="stylesheet" href="/static/penstock.css"></head><body><main class="login"><h1>Penstock</h1>'
        f'<p role="alert">{escape(said)}</p><form method="post" action="/login" class="filters"><label>Token '
        '<input type="password" name="token" autocomplete="current-password" required autofocus></label>'
        '<button class="button" type="submit">Log in</button></form></main></body></html>',
        status,
    )
