"""A proxy before an object store that holds a request, or an answer, back until a test lets go."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

_OF_ONE_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing: clients are killed in the middle of a request."""


class HeldRequests:
    """Passes all requests on, but for PUTs of keys that match a pattern; a context manager."""

    def __init__(self, port: int) -> None:
        """`port` is that of the server behind."""
        self._behind = port
        self._hold: tuple[re.Pattern[str], str] | None = None
        self.held = threading.Event()
        self.conditional: set[str] = set()
        """The paths of PUTs that must not replace anything."""
        self._let_go = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                proxy._pass_on(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HeldRequests:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def holding(self, key: str, what: Literal["request", "answer"]) -> Iterator[None]:
        """Until the end of the block, PUTs of keys that match are held; `held` is set once there is one."""
        self.held.clear()
        self._let_go.clear()
        self._hold = re.compile(key), what
        try:
            yield
        finally:
            self._hold = None
            self._let_go.set()

    def _pass_on(self, request: BaseHTTPRequestHandler) -> None:
        content = _content(request)
        if request.headers.get("If-None-Match") == "*":
            self.conditional.add(request.path)
        hold = self._hold
        key = request.path.partition("?")[0]
        what = hold[1] if hold and request.command == "PUT" and hold[0].search(key) else None
        if what == "request":
            self._wait()
            request.close_connection = True  # who has sent it is dead
            return
        behind = HTTPConnection("127.0.0.1", self._behind, timeout=60)
        try:
            headers = {name: value for name, value in request.headers.items() if name.casefold() not in _OF_ONE_HOP}
            behind.request(request.command, request.path, content, headers)
            answer = behind.getresponse()
            body = answer.read()
        finally:
            behind.close()
        if what == "answer":
            self._wait()
            request.close_connection = True
            return
        request.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.casefold() not in _OF_ONE_HOP:
                request.send_header(name, value)
        length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(body))
        request.send_header("Content-Length", length or "0")
        request.end_headers()
        request.wfile.write(body)

    def _wait(self) -> None:
        self.held.set()
        self._let_go.wait()


def _content(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding", "").casefold() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    content = bytearray()
    while size := int(request.rfile.readline().partition(b";")[0], 16):
        content += request.rfile.read(size)
        request.rfile.readline()
    while request.rfile.readline().strip():
        pass  # trailers
    return bytes(content)
