"""A proxy before an object store that holds a request, or an answer, back until a test lets go."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.http_proxy import HttpProxy, reply

_UPLOAD: Final = re.compile(r"/upload/storage/v1/b/(?P<bucket>[^/]+)/o$")
"""How Google's JSON API is given a new object."""

_MOVE: Final = re.compile(r"/storage/v1/b/(?P<bucket>[^/]+)/o/[^/]+/(?:move|rewrite)To/(?:b/[^/]+/)?o/(?P<key>[^/]+)$")
_NAME: Final = re.compile(rb'"name":\s*"([^"]+)"')


class HeldRequests(HttpProxy):
    """Passes all requests on, but for writes of keys that match a pattern; a context manager."""

    def __init__(self, behind: int) -> None:
        """`behind` is the port of the server."""
        super().__init__(behind)
        self._hold: tuple[re.Pattern[str], str] | None = None
        self.held = threading.Event()
        self.conditional: set[str] = set()
        """The paths of writes that must not replace anything."""
        self._let_go = threading.Event()

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
        super().__exit__(*_)

    @contextmanager
    def holding(self, key: str, what: Literal["request", "answer"]) -> Iterator[None]:
        """Until the end of the block, writes of keys that match are held; `held` is set once there is one."""
        self.held.clear()
        self._let_go.clear()
        self._hold = re.compile(key), what
        try:
            yield
        finally:
            self._hold = None
            self._let_go.set()

    def handle(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        """Answers a request, or holds it."""
        written = _written(request, content)
        if written and request.headers.get("If-None-Match") == "*":
            self.conditional.add(written)
        hold = self._hold
        what = hold[1] if hold and written and hold[0].search(written) else None
        if what == "request":
            self._wait()
            request.close_connection = True  # who has sent it is dead
            return
        answer = self.ask(request, content)
        if what == "answer":
            self._wait()
            request.close_connection = True
            return
        reply(request, answer)

    def _wait(self) -> None:
        self.held.set()
        self._let_go.wait()


def _written(request: BaseHTTPRequestHandler, content: bytes) -> str | None:
    """Returns `/BUCKET/KEY` of what a request writes; None for another."""
    url = urlsplit(request.path)
    if (upload := _UPLOAD.match(url.path)) is not None:
        query = parse_qs(url.query)
        if query.get("uploadType") == ["resumable"] and request.command == "POST":
            return None  # it only announces the upload
        name = query["name"][0] if "name" in query else found[1].decode() if (found := _NAME.search(content)) else ""
        return f"/{upload['bucket']}/{name}"
    if (move := _MOVE.match(url.path)) is not None:
        return f"/{move['bucket']}/{unquote(move['key'])}"
    return unquote(url.path) if request.command == "PUT" else None
