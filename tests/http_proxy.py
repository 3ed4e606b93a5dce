"""A proxy on loopback, for tests that watch, hold or change what is sent to a server."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

_OF_ONE_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}
_OF_ANY_REQUEST = {"authorization", "content-type", "host", "range"}


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing: clients are killed in the middle of a request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says; `length` is that of the body which a HEAD does not get."""

    status: int
    headers: Iterable[tuple[str, str]] = ()
    body: bytes = b""
    length: str | None = None


class HttpProxy:
    """Passes all requests on; a subclass does something else in `handle`. A context manager."""

    def __init__(self, behind: int, port: int = 0) -> None:
        """`behind` is the port of the server, `port` that of the proxy, 0 for any."""
        self._behind = behind
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _handle(self) -> None:
                proxy.handle(self, _content(self))

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = do_HEAD = _handle  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self) -> None:
        """Answers requests until the block ends, or the process."""
        self._server.serve_forever()

    def handle(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        """Answers a request."""
        reply(request, self.ask(request, content))

    def ask(
        self,
        request: BaseHTTPRequestHandler,
        content: bytes,
        *,
        command: str | None = None,
        path: str | None = None,
    ) -> Answer:
        """Sends a request to the server, perhaps as another command or for another path, then with few headers."""
        connection = HTTPConnection("127.0.0.1", self._behind, timeout=60)
        try:
            headers = {
                name: value
                for name, value in request.headers.items()
                if (name.casefold() not in _OF_ONE_HOP if path is None else name.casefold() in _OF_ANY_REQUEST)
            }
            connection.request(command or request.command, path or request.path, content, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read(), answer.getheader("Content-Length"))
        finally:
            connection.close()


def reply(request: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Sends an answer to whoever made the request."""
    request.send_response_only(answer.status)
    for name, value in answer.headers:
        if name.casefold() not in _OF_ONE_HOP:
            request.send_header(name, value)
    length = answer.length if request.command == "HEAD" else str(len(answer.body))
    request.send_header("Content-Length", length or "0")
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(answer.body)


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
