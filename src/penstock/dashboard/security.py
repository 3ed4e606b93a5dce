"""What keeps the dashboard private: loopback only, known Host headers, reading only, a strict content policy."""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import ConfigError

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def require_loopback(host: str) -> None:
    """Refuses an address that other machines can reach.

    Raises:
        ConfigError: DASHBOARD_NOT_LOOPBACK, with the host as given.
    """
    if not is_loopback(host):
        raise ConfigError("DASHBOARD_NOT_LOOPBACK", host=host, user_at_machine="user@this-machine")


def is_loopback(host: str) -> bool:
    """Tells whether `host` is this machine's own name or address for itself; nothing is looked up."""
    if host.rstrip(".").casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """Returns the host part of a Host header, without the port, brackets kept off."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


class Guard:
    """ASGI middleware around the whole application.

    A Host header that does not name this machine is refused (421), so that a foreign page cannot
    reach the dashboard through a name that it rebinds to 127.0.0.1. The port is free, because of
    tunnels. Only GET and HEAD exist (405): nothing that a page does can change anything. Every
    answer carries the headers above; pages are never cached.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks one request and decorates its answer."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = _refusal(scope)
        await (refusal or self._app)(scope, receive, send_guarded)


def _refusal(scope: Scope) -> PlainTextResponse | None:
    hosts = Headers(scope=scope).getlist("host")
    if len(hosts) != 1 or not is_loopback(host_of(hosts[0])):
        return PlainTextResponse("This dashboard answers only to 127.0.0.1 and localhost.\n", status_code=421)
    if scope["method"] not in {"GET", "HEAD"}:
        allowed = {"Allow": "GET, HEAD"}
        return PlainTextResponse("The dashboard only shows; use GET.\n", status_code=405, headers=allowed)
    return None
