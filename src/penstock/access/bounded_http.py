"""A small HTTP server of a process that has other work: few connections, each for a short time."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any, Final

from penstock.config.values.authority import Authority

_TIMEOUT_SECONDS: Final = 10.0
_CONNECTIONS: Final = 64
_NO_DESCRIPTORS_PAUSE: Final = 1.0


class BoundedServer(http.server.ThreadingHTTPServer):
    """Answers in threads of its own: 64 at most, each for ten seconds at most, with TLS if there is a context for it.

    Raises:
        OSError, OverflowError: the address cannot be listened on.
    """

    daemon_threads = True
    request_queue_size = _CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: Any, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        # By the accepted socket, and not by the client's address, which a new connection may have before the old one
        # is forgotten: what carries the bytes (TLS wraps the socket), and since when.
        self._open: dict[socket.socket, tuple[socket.socket, float]] = {}
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def start(self, name: str) -> None:
        """Begins to answer, in a thread of this name."""
        serve = {"poll_interval": 0.1}  # how often connections that last too long are looked for
        threading.Thread(target=self.serve_forever, kwargs=serve, name=name, daemon=True).start()

    def close(self) -> None:
        """Stops answering and gives the port back."""
        self.shutdown()
        self.server_close()

    def get_request(self) -> Any:
        """Accepts a connection; without a descriptor for it, the loop would try again at once and for ever."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_NO_DESCRIPTORS_PAUSE)
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Closes a connection that is one too many."""
        return len(self._open) < _CONNECTIONS

    def process_request(self, request: Any, client_address: Any) -> None:
        """Notes since when the connection is there, and answers in a thread."""
        self._open[request] = request, time.monotonic()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            del self._open[request]
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers in the request's thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._open[request]

    def service_actions(self) -> None:
        """Ends the connections that last too long, however many bytes trickle in; called ten times a second."""
        for connection, since in tuple(self._open.values()):
            if time.monotonic() - since > _TIMEOUT_SECONDS:
                with suppress(OSError):  # its thread has closed it
                    connection.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answers; the handshake is in the request's thread too: a reader that does nothing holds up no other."""
        if self._context is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_TIMEOUT_SECONDS)
        with self._context.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as secured:
            _, since = self._open[request]
            self._open[request] = secured, since
            secured.do_handshake()
            super().finish_request(secured, client_address)

    def handle_error(self, *_: Any) -> None:
        """A reader that went away is no news."""


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """One request; nothing of it is logged."""

    timeout = _TIMEOUT_SECONDS
    server_version = "penstock"
    sys_version = ""

    def do_GET(self) -> None:
        """Called for each request."""
        self.respond()

    def respond(self) -> None:
        """Calls `answer` once; each server has its own."""
        raise NotImplementedError

    def names_this_machine(self) -> bool:
        """Whether the request is for a name of this machine; a web page that rebinds its own name is not."""
        hosts = self.headers.get_all("Host", [])
        requested = Authority.parse(hosts[0]) if len(hosts) == 1 else None
        return requested is not None and requested.is_loopback()

    def answer(self, status: int, content_type: str, body: bytes) -> None:
        """Sends the whole answer, which no browser keeps or guesses the type of."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Writes nothing."""
