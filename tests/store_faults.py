"""An S3 that refuses as AWS does, in front of a server that never would: the answers are those of AWS's documentation.

As there, a HEAD that is refused has no body, so no reason either.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Lock
from typing import Self

from tests.http_proxy import Answer, HttpProxy, reply
from tests.processes import Server, accepts_connections, free_ports

Fault = Callable[[BaseHTTPRequestHandler], Answer | None]
"""Returns what is answered instead of handing a request on; None for one that is handed on."""

_TOKEN = "X-Amz-Security-Token"
_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/(?P<region>[^/]+)/s3/")
_ALLOWED = timedelta(minutes=15)


class FaultyStore(HttpProxy):
    """One server; a context manager. `fault` may be set at any time, `refused` counts its answers."""

    def __init__(self, behind: int, port: int = 0) -> None:
        super().__init__(behind, port)
        self.fault: Fault | None = None
        self.refused = 0
        self._counting = Lock()

    def handle(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        """Answers a request."""
        refusal = self.fault(request) if self.fault is not None else None
        if refusal is None:
            super().handle(request, content)
            return
        with self._counting:
            self.refused += 1
        reply(request, refusal)


class ExpiringStore(Server):
    """One in a process of its own, since delta-rs stops the threads of this one while it waits for some answers.

    Tokens have expired, but for the one in the file `valid`; without that file all are good. A context manager.
    """

    def __init__(self, behind: int, folder: Path) -> None:
        (port,) = free_ports(1)
        self.valid = folder / "valid-token"
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "tests.store_faults", str(behind), str(port), str(self.valid)]
        root = str(Path(__file__).resolve().parent.parent)
        super().__init__("expiring store", command, folder / "expiring-store.log", {"PYTHONPATH": root})
        self._port = port

    def __enter__(self) -> Self:
        self.start(lambda: accepts_connections(self._port))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def refuse_all_but(self, token: str) -> None:
        """Lets all other tokens expire, at once."""
        beside = self.valid.with_suffix(".new")
        beside.write_text(token)
        beside.rename(self.valid)


def busy_until(end: float) -> Fault:
    """The store has no time for any request before `end`, by the monotonic clock."""

    def refuse(_: BaseHTTPRequestHandler) -> Answer | None:
        return _answer(503, "SlowDown", "Please reduce your request rate.") if time.monotonic() < end else None

    return refuse


def expired_but(valid: Callable[[], str]) -> Fault:
    """Tokens have expired, but for the one that `valid` returns."""

    def refuse(request: BaseHTTPRequestHandler) -> Answer | None:
        if request.headers.get(_TOKEN) == valid():
            return None
        return _answer(400, "ExpiredToken", "The provided token has expired.")

    return refuse


def in_region(region: str) -> Fault:
    """The bucket is in a region; requests that are signed for another are sent there."""

    def refuse(request: BaseHTTPRequestHandler) -> Answer | None:
        scope = _SCOPE.search(request.headers.get("Authorization", ""))
        if scope is not None and scope["region"] == region:
            return None
        message = "The bucket you are attempting to access must be addressed using the specified endpoint."
        return _answer(301, "PermanentRedirect", message, **{"x-amz-bucket-region": region})

    return refuse


def clock_ahead(seconds: float) -> Fault:
    """The store's clock is so far ahead of the clients', or theirs behind; one that heeds its time is served."""

    def refuse(request: BaseHTTPRequestHandler) -> Answer | None:
        now = datetime.now(UTC) + timedelta(seconds=seconds)
        signed = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(now - signed) <= _ALLOWED:
            return None
        message = "The difference between the request time and the current time is too large."
        return _answer(403, "RequestTimeTooSkewed", message, Date=format_datetime(now, usegmt=True))

    return refuse


def _answer(status: int, code: str, message: str, **headers: str) -> Answer:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'.encode()
    return Answer(status, [("Content-Type", "application/xml"), *headers.items()], body, "0")


if __name__ == "__main__":
    known = Path(sys.argv[3])
    store = FaultyStore(int(sys.argv[1]), int(sys.argv[2]))
    store.fault = lambda request: expired_but(known.read_text)(request) if known.exists() else None
    store.serve()
